// What a differentiation remembers: the ops that were recorded on the way from the followed tensors, in order.
#pragma once

#include <lento/differentiation.h>

#include "tensor/watch.h"

#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

namespace lento {

/// An operand as it was: a tensor, or a number with the dtype it was used as.
struct LoggedOperand {
  Tensor tensor;  // undefined for a number
  Scalar number;
  DType dtype = DType::float32;
  bool followed = false;
  bool transposed = false;  // its last two axes are those of a followed tensor, swapped
};

struct LoggedOp {
  Op op{};
  AttrsId attrs{};
  Source source;
  std::vector<LoggedOperand> operands;
  std::vector<Tensor> results;
  std::unique_ptr<const CustomCall::Backward> custom;  // null: the rule of `op`
};

/// What was told, with handles of its own.
LoggedOp copy_of(const RecordedOp& op);

class [[gnu::visibility("hidden")]] Differentiation::Log final : public Watcher {
 public:
  void recorded(const RecordedOp& op) override;
  void called(const CustomCall& call) override;
  void conceal(bool begin, std::span<const Tensor> inputs) override;
  bool follows_value(const TensorState& state) const override { return concealed_ == 0 && followed_.contains(&state); }
  void follow(const Tensor& x);
  bool follows(const Tensor& x) const { return followed_.contains(x.state()); }
  const std::vector<LoggedOp>& ops() const { return ops_; }
  /// Forgets all ops, with the functions they hold.
  void forget();

  using Watcher::stop;
  ~Log() = default;

 private:
  void add(LoggedOp op);
  /// Throws ValueError when what a concealed op reads is followed and no input.
  void check_concealed(const TensorState& state) const;

  std::vector<LoggedOp> ops_;
  int concealed_ = 0;                                  // not listening while above 0
  std::span<const Tensor> concealed_inputs_;           // what may be used meanwhile of all that is followed
  std::vector<Tensor> inputs_;                         // kept, so that no other value gets their address
  std::unordered_set<const TensorState*> followed_;    // of inputs_ and of the results of ops_
  std::unordered_set<const TensorState*> transposed_;  // of those followed
};

}  // namespace lento
