// Numbers that the host gives anew at each frozen call (clause F3): rates and step counts of optimizers, and what
// lento::host_number asks for. What is computed from them on the way to an op is kept as a small program, so that a
// call computes it again without calling the code that did so first.
#pragma once

#include <lento/scalar.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lento {

/// The program: numbers that are given, in the order in which they are asked for, and what is computed from them.
class HostNumbers {
 public:
  enum class Kind : std::uint8_t { given, constant, add, subtract, multiply, divide, power, root };
  using Index = std::uint32_t;

  /// The next number that the host gives; now it is `value`.
  Index give(const Scalar& value);
  Index constant(double value);
  /// Equal computations are one node.
  Index compute(Kind kind, Index a, Index b, double value);
  /// What was decided by a comparison: a call for which it comes out otherwise has another graph.
  void decide(Index greater, Index than, bool outcome);
  const Scalar& value(Index node) const { return values_[node]; }
  std::uint32_t given() const { return given_; }

  /// A number is about to be an operand of the next op that has one of this value.
  struct Expected {
    Index node;
    bool by_caller;  // whose call may have operands of the same value that are other numbers
  };
  void expect(Index node, bool by_caller) { expected_.push_back({node, by_caller}); }
  /// What an operand of this value is, if such a number was expected.
  std::optional<Expected> take(const Scalar& value);
  /// True when some number did not become an operand as it was: it was changed on the way, and nobody could know.
  bool misses_some() const { return !expected_.empty(); }

  /// The values of all nodes for other given numbers; false when something is decided otherwise, or one of them is of
  /// another kind, such as an integer where a float was.
  bool evaluate(std::span<const Scalar> given, std::vector<Scalar>& values) const;
  /// The same program; what was given does not matter.
  friend bool operator==(const HostNumbers& a, const HostNumbers& b);

 private:
  struct Node {
    Kind kind;
    Index a;
    Index b;
    friend bool operator==(const Node&, const Node&) = default;
  };
  struct Decision {
    Index greater;
    Index than;
    bool outcome;
    friend bool operator==(const Decision&, const Decision&) = default;
  };

  Index add(Node node, const Scalar& value);

  std::vector<Node> nodes_;
  std::vector<Scalar> values_;
  std::vector<Decision> decisions_;
  std::vector<Expected> expected_;
  std::uint32_t given_ = 0;
};

/// The program of the call that the calling thread is recording; null when there is none.
HostNumbers* current_host_numbers();
void set_current_host_numbers(HostNumbers* numbers);

/// A number on its way to an op. Outside of a recording it is a double and nothing else.
struct HostNumber {
  static constexpr HostNumbers::Index kPlain = ~0U;

  HostNumber(double number, HostNumbers::Index of = kPlain) : value(number), node(of) {}

  double value;
  HostNumbers::Index node;

  bool is_plain() const { return node == kPlain; }
  /// As the operand of the op that is called with it.
  operator Scalar() const;
};

HostNumber operator+(const HostNumber& a, const HostNumber& b);
HostNumber operator-(const HostNumber& a, const HostNumber& b);
HostNumber operator*(const HostNumber& a, const HostNumber& b);
HostNumber operator/(const HostNumber& a, const HostNumber& b);
bool operator>(const HostNumber& a, const HostNumber& b);
HostNumber pow(const HostNumber& base, const HostNumber& exponent);
HostNumber sqrt(const HostNumber& x);

/// While it lives, the step of an optimizer that is recorded takes its rate and its number from these nodes.
class HostStep {
 public:
  HostStep(HostNumbers::Index rate, HostNumbers::Index step);
  ~HostStep();
  HostStep(const HostStep&) = delete;
  HostStep& operator=(const HostStep&) = delete;

  static HostNumber rate(double value);
  static HostNumber step(std::int64_t value);
};

}  // namespace lento
