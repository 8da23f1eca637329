#include <lento/batching.h>

#include "autograd/backward.h"
#include "autograd/batch_rule.h"
#include "autograd/vmap.calls.gen.h"
#include "base/fail.h"
#include "ops/composite_helpers.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace lento {

/// Keeps what was computed from examples, and repeats it for all of them when somebody asks for a result.
class [[gnu::visibility("hidden")]] Batching::Log final : public Watcher {
 public:
  Log(std::int64_t size, Randomness randomness) : size_(size), randomness_(randomness) {}
  ~Log() = default;

  void recorded(const RecordedOp& op) override {
    const auto depends = [&](const RecordOperand& operand) { return operand.is_tensor() && follows(&operand.state()); };
    const bool draws = batch_rule(op.op) == BatchRule::draw && randomness_ != Randomness::same;
    if (!draws && std::ranges::none_of(op.operands, depends)) return;
    if (draws && randomness_ == Randomness::error) {
      fail<ValueError>(
          "inside vmap random numbers can be the same for all examples or different ones for each; say which: "
          "randomness 'same' or 'different'");
    }
    if (concealed_ > 0) note_captured(op);
    LoggedOp& logged = ops_.emplace_back(copy_of(op));
    for (std::size_t i = 0; i < logged.operands.size(); ++i) {
      logged.operands[i].followed = depends(op.operands[i]);
    }
    for (const Tensor& result : logged.results) all_.emplace(result.state(), Tensor{});
  }

  void conceal(bool begin, std::span<const Tensor> inputs) override {
    if (begin && concealed_++ == 0) {
      spans_.push_back({ops_.size(), ops_.size(), {inputs.begin(), inputs.end()}, std::nullopt, false});
    }
    if (!begin && --concealed_ == 0) spans_.back().end = ops_.size();
  }

  void called(const CustomCall& call) override {
    const auto depends = [&](const Tensor& x) { return follows(x.state()); };
    if (concealed_ > 0) return;
    if (std::ranges::any_of(call.inputs, depends) || std::ranges::any_of(call.outputs, depends)) {
      spans_.back().call = call;
    }
  }

  void reading(const TensorState& state) override {
    if (!follows(&state)) return;
    fail<ValueError>(
        "inside vmap a tensor stands for all examples and has no value that could be read; use where() instead of if, "
        "or read after vmap");
  }

  void enter(const Tensor& example, const Tensor& all) {
    inputs_.push_back(example);
    all_.emplace(example.state(), all);
  }

  Tensor all(const Tensor& y) {
    for (; next_span_ < spans_.size(); ++next_span_) {
      repeat_until(spans_[next_span_].begin);
      repeat(spans_[next_span_]);
    }
    repeat_until(ops_.size());
    return all(y.state(), y);
  }

  std::int64_t size() const { return size_; }
  bool follows(const TensorState* state) const { return all_.contains(state); }

 private:
  /// The value for all examples; one that does not depend on them is repeated.
  Tensor all(const TensorState* state, const Tensor& y) const {
    const auto found = all_.find(state);
    return found != all_.end() ? found->second : for_each_example(y, size_);
  }

  /// Ops that are no part of derivatives, or only through a derivative of their own.
  struct Span {
    std::size_t begin;
    std::size_t end;
    std::vector<Tensor> inputs;
    std::optional<CustomCall> call;
    bool captures;  // it reads what differs between the examples and is not one of its inputs
  };

  /// What a function with a derivative of its own reads beside its inputs is one example's when the derivative is
  /// taken.
  void note_captured(const RecordedOp& op) {
    Span& span = spans_.back();
    for (const RecordOperand& operand : op.operands) {
      if (!operand.is_tensor() || !follows(&operand.state())) continue;
      const auto is_operand = [&](const Tensor& x) { return x.state() == &operand.state(); };
      const bool made_here = std::any_of(ops_.begin() + static_cast<std::ptrdiff_t>(span.begin), ops_.end(),
                                         [&](const LoggedOp& o) { return std::ranges::any_of(o.results, is_operand); });
      span.captures |= !made_here && std::ranges::none_of(span.inputs, is_operand);
    }
  }

  void repeat_until(std::size_t end) {
    for (; repeated_ < end; ++repeated_) repeat(ops_[repeated_]);
  }

  void repeat(const Span& span) {
    if (!span.call) {
      std::vector<Tensor> inputs;
      for (const Tensor& x : span.inputs) inputs.push_back(follows(x.state()) ? all_.at(x.state()) : x);
      const Concealed concealed(inputs);
      repeat_until(span.end);
      return;
    }
    const CustomCall& call = *span.call;
    std::vector<Tensor> inputs;
    std::vector<std::optional<std::int64_t>> axes;
    for (const Tensor& x : call.inputs) {
      axes.push_back(follows(x.state()) ? std::optional<std::int64_t>(0) : std::nullopt);
      inputs.push_back(axes.back() ? all_.at(x.state()) : x);
    }
    // Those that are the same for all examples, without the derivative that the first call gave them.
    std::vector<Tensor> same;
    for (const Tensor& output : call.outputs)
      same.push_back(follows(output.state()) ? Tensor{} : stop_gradient(output));
    const auto forward = [&](const std::vector<Tensor>&) {
      repeat_until(span.end);
      std::vector<Tensor> outputs;
      for (std::size_t i = 0; i < same.size(); ++i) {
        const Tensor& output = same[i].defined() ? same[i] : call.outputs[i];
        outputs.push_back(all(output.state(), output));
      }
      return outputs;
    };
    const std::vector<Tensor> outputs =
        custom_gradient(forward, BatchedBackward{*call.backward, span.captures, axes, randomness_}, inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) all_[call.outputs[i].state()] = outputs[i];
  }

  void repeat(const LoggedOp& op) {
    std::vector<BatchedOperand> operands;
    for (const LoggedOperand& operand : op.operands) {
      operands.push_back({operand, operand.followed ? all_.at(operand.tensor.state()) : Tensor{}});
    }
    const std::vector<Tensor> results = repeat_batched(op, operands, size_);
    for (std::size_t i = 0; i < results.size(); ++i) all_[op.results[i].state()] = results[i];
  }

  std::int64_t size_;
  Randomness randomness_;
  std::vector<LoggedOp> ops_;
  std::vector<Span> spans_;
  int concealed_ = 0;
  std::size_t repeated_ = 0;  // ops that have been repeated
  std::size_t next_span_ = 0;
  std::vector<Tensor> inputs_;  // kept, so that no other value gets their address
  std::unordered_map<const TensorState*, Tensor> all_;
};

namespace {

/// What a function of one example gives for all, along the first axis.
std::vector<Tensor> over_examples(const TensorFunction& function, const std::vector<Tensor>& inputs,
                                  const std::vector<std::optional<std::int64_t>>& axes, Randomness randomness) {
  std::optional<Batching> batching;
  std::vector<Tensor> entered = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!axes[i]) continue;
    if (!batching) batching.emplace(inputs[i].shape()[static_cast<std::size_t>(*axes[i])], randomness);
    entered[i] = batching->enter(inputs[i], *axes[i]);
  }
  const std::vector<Tensor> outputs = function(entered);
  batching->end();
  std::vector<Tensor> all;
  for (const Tensor& output : outputs) all.push_back(batching->leave(output, 0));
  return all;
}

}  // namespace

std::vector<Tensor> BatchedBackward::operator()(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                                                const std::vector<Tensor>& cotangents) const {
  if (captures) {
    fail<ValueError>(
        "inside vmap, a function with custom_gradient or checkpoint uses a tensor that differs between the "
        "examples and is not one of its arguments, so its derivative would be that of the first; pass it as an "
        "argument");
  }
  std::vector<Tensor> arguments = inputs;
  arguments.insert(arguments.end(), outputs.begin(), outputs.end());
  arguments.insert(arguments.end(), cotangents.begin(), cotangents.end());
  std::vector<std::optional<std::int64_t>> all_axes = axes;
  all_axes.resize(arguments.size(), 0);
  std::vector<bool> given;
  const auto one = [&](const std::vector<Tensor>& x) {
    const auto first = x.begin();
    const auto second = first + static_cast<std::ptrdiff_t>(inputs.size());
    const auto third = second + static_cast<std::ptrdiff_t>(outputs.size());
    std::vector<Tensor> defined;
    for (Tensor& cotangent : backward({first, second}, {second, third}, {third, x.end()})) {
      given.push_back(cotangent.defined());
      if (cotangent.defined()) defined.push_back(std::move(cotangent));
    }
    return defined;
  };
  const std::vector<Tensor> defined = over_examples(one, arguments, all_axes, randomness);
  if (given.size() != axes.size()) {
    fail<ValueError>("custom_gradient: the derivative gave {} cotangents for {} inputs", given.size(), axes.size());
  }
  std::vector<Tensor> result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      result.emplace_back();
      continue;
    }
    const Tensor& all = defined[next++];
    result.push_back(axes[i] ? all : composite::sum_over(all, Ints{0}));
  }
  return result;
}

Batching::Batching(std::int64_t size, Randomness randomness, std::source_location site) {
  const CallScope scope("vmap", site);
  if (size < 1) fail<ValueError>("there must be at least one example, not {}", size);
  log_ = std::make_unique<Log>(size, randomness);
}

Batching::~Batching() {
  // As a Differentiation: one that is dropped in another thread before its end stays in its own thread's list.
  if (!log_->may_go()) {
    [[maybe_unused]] const Log* kept = log_.release();
  }
}

Tensor Batching::enter(const Tensor& x, std::int64_t axis, std::source_location site) {
  const CallScope scope("vmap", site);
  const std::int64_t at = composite::axis_of(x, axis);
  if (x.shape()[static_cast<std::size_t>(at)] != log_->size()) {
    fail<ShapeError>("{} examples along axis {} of shape {}, others have {}", x.shape()[static_cast<std::size_t>(at)],
                     axis, x.shape(), log_->size());
  }
  const Tensor all = composite::move_axis(x, at, 0);
  const Tensor example = composite::picked(all, 0, 0);
  log_->enter(example, all);
  return example;
}

void Batching::end() { log_->stop(); }

bool Batching::depends(const Tensor& y) const { return log_->follows(&state_of(y)); }

Tensor Batching::leave(const Tensor& y, std::optional<std::int64_t> axis, std::source_location site) {
  if (!axis) {
    if (depends(y)) {
      const CallScope scope("vmap", site);
      fail<ValueError>("a result of shape {} differs between the examples, so it needs an axis, not none", y.shape());
    }
    return y;
  }
  const Tensor all = log_->all(y);  // without a CallScope: what is repeated has lines of its own
  const CallScope scope("vmap", site);
  const std::int64_t at = composite::axis_of(all, *axis);
  return at == 0 ? all : composite::move_axis(all, 0, at);
}

}  // namespace lento
