// What one call of a function records, told apart from everything around it: lento.compile compares two of them
// (frozen_call.h) and runs the second without calling the function.
#pragma once

#include "executor/host_numbers.h"
#include "ir/graph.h"
#include "ir/tape.h"
#include "tensor/draws.h"
#include "tensor/watch.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lento {

/// Where a number of the graph comes from.
struct NumberOrigin {
  enum class Kind : std::uint8_t {
    fixed,         // the function gave it, the same at each call
    draw_seed,     // of what was drawn from a generator
    draw_counter,  // the same
    host,          // a node of HostNumbers
  };
  Kind kind = Kind::fixed;
  std::uint32_t index = 0;
  friend bool operator==(const NumberOrigin&, const NumberOrigin&) = default;
};

/// Where a tensor is after a call: an output of the graph, or a leaf that the function has passed on.
struct Slot {
  bool is_computed = false;
  std::uint32_t index = 0;
  friend bool operator==(const Slot&, const Slot&) = default;
};

/// Where a leaf comes from. The front end says which handle, by numbers of its own.
struct LeafOrigin {
  static constexpr std::int64_t kConstant = -1;  // made by the function of a few bytes of the host
  static constexpr std::int64_t kUnknown = -2;
  std::int64_t handle = kUnknown;
  std::optional<std::string> bytes;  // those, where it can be a constant
};

/// A call that has ended.
struct CallGraph {
  std::uint8_t device = 0;
  Graph graph;                                         // what the wanted tensors are computed by; nothing else
  std::shared_ptr<const std::vector<Source>> sources;  // those of the graph, for runs
  std::vector<NumberOrigin> numbers;                   // of each scalar of the graph
  std::vector<std::uint32_t> reads;                    // the leaf that each input of the graph is
  std::vector<Tensor> leaves;
  std::vector<LeafOrigin> origins;  // of each leaf, once the front end has said so
  std::vector<Slot> wanted;
  std::vector<Draw> draws;
  HostNumbers host;
};

/// Watches the calling thread from its making until stop().
class CallRecorder final : public Watcher {
 public:
  CallRecorder();
  ~CallRecorder();

  void recorded(const RecordedOp& op) override;
  void reading(const TensorState& state) override;

  /// Ends the call; in the thread that made this, and before anything that began later ends.
  void stop();
  /// The call cannot be frozen. The first reason counts.
  void refuse(std::string reason, const Source& line);
  bool is_refused() const { return !reason_.empty(); }
  const std::string& reason() const { return reason_; }
  const Source& line() const { return line_; }
  HostNumbers& host() { return host_; }
  /// A generator that the call may draw from; the default one is known. Setting its state inside cannot be frozen.
  void watch(Generator& generator);

  /// What computes these tensors. After stop(), once.
  CallGraph finish(std::span<const Tensor> wanted);
  /// A tensor was made of data of the host.
  void made_of_host_data(const Tensor& x, const void* data, std::size_t bytes);
  /// Whether the tensor was made during the call, by this thread.
  bool was_made_inside(const Tensor& x) const;
  bool was_made_inside(std::uint64_t id) const;

 private:
  OperandRef operand(const RecordOperand& given, Op op, const Source& source);
  NumberOrigin origin(const Scalar& number, Op op, const Source& source);
  OperandRef leaf(const Tensor& x);
  void find_draws();
  void check_generators();

  std::optional<Tape> tape_;                             // what was recorded; its leaves stand for `leaves_`
  std::unordered_map<std::uint64_t, OperandRef> known_;  // by the ids of tensors, which are never used again
  std::vector<Tensor> leaves_;
  std::unordered_map<std::uint64_t, std::string> host_data_;  // by the ids of tensors that are made of a few bytes
  std::vector<NumberOrigin> numbers_;
  std::optional<RecordedDraws> drawing_;
  std::vector<Draw> draws_;
  std::vector<std::pair<Generator*, Generator::State>> generators_;  // as they were at the beginning
  HostNumbers host_;
  HostNumbers* outer_host_ = nullptr;
  std::optional<std::pair<Scalar, Source>> given_;  // the last of its numbers that a caller gave, and the call
  std::string reason_;
  Source line_;
  std::uint64_t first_id_ = 0;
  std::uint64_t last_id_ = 0;
  bool is_stopped_ = false;
};

/// What the calling thread does cannot be frozen, if it is recording a call; otherwise nothing.
void refuse_recorded_call(std::string_view reason);
/// The recorder of the calling thread's call; null when there is none.
CallRecorder* current_call_recorder();

}  // namespace lento
