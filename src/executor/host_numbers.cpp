#include "executor/host_numbers.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lento {

namespace {

thread_local HostNumbers* current = nullptr;
thread_local HostNumbers::Index rate_node = HostNumber::kPlain;
thread_local HostNumbers::Index step_node = HostNumber::kPlain;

using Kind = HostNumbers::Kind;

double computed(Kind kind, double a, double b) {
  switch (kind) {
    case Kind::add:
      return a + b;
    case Kind::subtract:
      return a - b;
    case Kind::multiply:
      return a * b;
    case Kind::divide:
      return a / b;
    case Kind::power:
      return std::pow(a, b);
    case Kind::root:
      return std::sqrt(a);
    case Kind::given:
    case Kind::constant:
      break;
  }
  return a;
}

HostNumbers::Index node_of(HostNumbers& program, const HostNumber& number) {
  return number.is_plain() ? program.constant(number.value) : number.node;
}

HostNumber apply(Kind kind, const HostNumber& a, const HostNumber& b) {
  const double value = computed(kind, a.value, b.value);
  HostNumbers* const program = current;
  if (program == nullptr || (a.is_plain() && b.is_plain())) return value;
  const HostNumbers::Index left = node_of(*program, a);
  return {value, program->compute(kind, left, node_of(*program, b), value)};
}

}  // namespace

HostNumbers::Index HostNumbers::add(Node node, const Scalar& value) {
  nodes_.push_back(node);
  values_.push_back(value);
  return static_cast<Index>(nodes_.size() - 1);
}

HostNumbers::Index HostNumbers::give(const Scalar& value) { return add({Kind::given, given_++, 0}, value); }

HostNumbers::Index HostNumbers::constant(double value) {
  for (Index i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].kind == Kind::constant && values_[i] == Scalar(value)) return i;
  }
  return add({Kind::constant, 0, 0}, value);
}

HostNumbers::Index HostNumbers::compute(Kind kind, Index a, Index b, double value) {
  const Node node{kind, a, b};
  const auto known = std::ranges::find(nodes_, node);
  return known == nodes_.end() ? add(node, value) : static_cast<Index>(known - nodes_.begin());
}

void HostNumbers::decide(Index greater, Index than, bool outcome) {
  const Decision decision{greater, than, outcome};
  if (std::ranges::find(decisions_, decision) == decisions_.end()) decisions_.push_back(decision);
}

std::optional<HostNumbers::Expected> HostNumbers::take(const Scalar& value) {
  const auto found = std::ranges::find_if(expected_, [&](Expected number) { return values_[number.node] == value; });
  if (found == expected_.end()) return std::nullopt;
  const Expected taken = *found;
  expected_.erase(found);
  return taken;
}

bool HostNumbers::evaluate(std::span<const Scalar> given, std::vector<Scalar>& values) const {
  values.resize(nodes_.size());
  for (Index i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.kind == Kind::given) {
      values[i] = given[node.a];
      if (values[i].kind() != values_[i].kind()) return false;
    } else if (node.kind == Kind::constant) {
      values[i] = values_[i];
    } else {
      values[i] = computed(node.kind, values[node.a].to<double>(), values[node.b].to<double>());
    }
  }
  return std::ranges::all_of(decisions_, [&](const Decision& decision) {
    return (values[decision.greater].to<double>() > values[decision.than].to<double>()) == decision.outcome;
  });
}

bool operator==(const HostNumbers& a, const HostNumbers& b) {
  if (a.nodes_ != b.nodes_ || a.decisions_ != b.decisions_) return false;
  for (HostNumbers::Index i = 0; i < a.nodes_.size(); ++i) {
    if (a.nodes_[i].kind == Kind::constant && a.values_[i] != b.values_[i]) return false;
  }
  return true;
}

HostNumbers* current_host_numbers() { return current; }
void set_current_host_numbers(HostNumbers* numbers) { current = numbers; }

HostNumber::operator Scalar() const {
  if (!is_plain() && current != nullptr) current->expect(node, false);
  return {value};
}

HostNumber operator+(const HostNumber& a, const HostNumber& b) { return apply(Kind::add, a, b); }
HostNumber operator-(const HostNumber& a, const HostNumber& b) { return apply(Kind::subtract, a, b); }
HostNumber operator*(const HostNumber& a, const HostNumber& b) { return apply(Kind::multiply, a, b); }
HostNumber operator/(const HostNumber& a, const HostNumber& b) { return apply(Kind::divide, a, b); }
HostNumber pow(const HostNumber& base, const HostNumber& exponent) { return apply(Kind::power, base, exponent); }
HostNumber sqrt(const HostNumber& x) { return apply(Kind::root, x, x); }

bool operator>(const HostNumber& a, const HostNumber& b) {
  const bool outcome = a.value > b.value;
  if (HostNumbers* const program = current; program != nullptr && !(a.is_plain() && b.is_plain())) {
    const HostNumbers::Index left = node_of(*program, a);
    program->decide(left, node_of(*program, b), outcome);
  }
  return outcome;
}

HostStep::HostStep(HostNumbers::Index rate, HostNumbers::Index step) {
  rate_node = rate;
  step_node = step;
}

HostStep::~HostStep() { rate_node = step_node = HostNumber::kPlain; }

HostNumber HostStep::rate(double value) { return {value, rate_node}; }
HostNumber HostStep::step(std::int64_t value) { return {static_cast<double>(value), step_node}; }

}  // namespace lento
