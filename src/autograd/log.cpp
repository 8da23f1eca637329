#include "autograd/log.h"

#include "base/fail.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/op_index_map.gen.h"

#include <algorithm>
#include <utility>

namespace lento {

namespace {

bool differentiable(DType dtype) { return is_inexact(dtype); }

/// Swaps the last two axes, and leaves the others.
bool transposes(const LoggedOp& op) {
  if (op.custom != nullptr || op.op != op::permute_dims) return false;
  const Ints axes = decode_permute_dims(op.attrs).axes;
  const std::size_t rank = axes.size();
  if (rank < 2) return false;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t from = i + 2 < rank ? i : 2 * rank - 3 - i;
    if (axes[i] != static_cast<std::int64_t>(from)) return false;
  }
  return true;
}

}  // namespace

LoggedOp copy_of(const RecordedOp& op) {
  LoggedOp logged;
  logged.op = op.op;
  logged.attrs = op.attrs;
  logged.source = op.source;
  logged.operands.reserve(op.operands.size());
  for (const RecordOperand& operand : op.operands) {
    if (operand.is_tensor()) {
      TensorState& state = operand.state();
      state.refs.fetch_add(1, std::memory_order_relaxed);
      logged.operands.push_back({Tensor::adopt(&state), {}, state.dtype});
    } else {
      logged.operands.push_back({{}, operand.value(), operand.dtype()});
    }
  }
  logged.results.assign(op.results.begin(), op.results.end());
  return logged;
}

void Differentiation::Log::recorded(const RecordedOp& op) {
  const auto is_followed = [&](const RecordOperand& operand) {
    return operand.is_tensor() && followed_.contains(&operand.state());
  };
  if (std::ranges::none_of(op.operands, is_followed)) return;
  if (concealed_ > 0) {
    for (const RecordOperand& operand : op.operands) {
      if (operand.is_tensor()) check_concealed(operand.state());
    }
    return;
  }
  LoggedOp logged = copy_of(op);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    logged.operands[i].followed = is_followed(op.operands[i]);
    logged.operands[i].transposed = op.operands[i].is_tensor() && transposed_.contains(&op.operands[i].state());
  }
  if (transposes(logged)) transposed_.insert(logged.results[0].state());
  add(std::move(logged));
}

void Differentiation::Log::conceal(bool begin, std::span<const Tensor> inputs) {
  if (begin && concealed_++ == 0) concealed_inputs_ = inputs;
  if (!begin && --concealed_ == 0) concealed_inputs_ = {};
}

void Differentiation::Log::check_concealed(const TensorState& state) const {
  const auto is_it = [&](const Tensor& x) { return x.state() == &state; };
  if (!followed_.contains(&state) || std::ranges::any_of(concealed_inputs_, is_it)) return;
  fail<ValueError>(
      "a function with custom_gradient or checkpoint uses a tensor that is being differentiated and is not one of its "
      "arguments, so its derivative would be lost; pass it as an argument, or use stop_gradient");
}

void Differentiation::Log::called(const CustomCall& call) {
  if (concealed_ > 0) {
    for (const Tensor& x : call.inputs) check_concealed(*x.state());
    return;
  }
  if (std::ranges::none_of(call.inputs, [&](const Tensor& x) { return follows(x); })) return;
  LoggedOp logged;
  logged.source = call.source;
  logged.results = call.outputs;
  // A copy of its own, so that a garbage collector can tell whose the functions inside are.
  logged.custom = std::make_unique<const CustomCall::Backward>(*call.backward);
  for (const Tensor& x : call.inputs) logged.operands.push_back({x, {}, x.dtype(), follows(x)});
  add(std::move(logged));
}

void Differentiation::Log::add(LoggedOp op) {
  bool any = false;
  for (const Tensor& result : op.results) {
    if (!differentiable(result.dtype())) continue;
    followed_.insert(result.state());
    any = true;
  }
  if (any) ops_.push_back(std::move(op));
}

void Differentiation::Log::forget() {
  // Letting a function go may run anything.
  const std::vector<LoggedOp> ops = std::exchange(ops_, {});
  const std::vector<Tensor> inputs = std::exchange(inputs_, {});
  followed_.clear();
  transposed_.clear();
}

void Differentiation::Log::follow(const Tensor& x) {
  inputs_.push_back(x);
  followed_.insert(x.state());
}

}  // namespace lento
