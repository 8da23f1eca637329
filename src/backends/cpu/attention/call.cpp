// Attention and its gradient as prepared calls.
#include "backends/cpu/attention/attention.h"
#include "backends/cpu/prepared_call.h"
#include "ir/attrs_contraction.gen.h"
#include "ir/op_contraction.gen.h"

#include <utility>

namespace lento::cpu {

namespace {

constexpr double kNanosecondsPerMultiplication = 0.02;

/// The operands of a call by number.
class Operands {
 public:
  Operands(const Graph& graph, const Step& step)
      : graph_(graph), step_(step), operands_(graph.operands(graph.nodes[step.nodes[0]])) {}

  std::size_t count() const { return operands_.size(); }
  Meta meta(std::size_t i) const { return graph_.meta_of(operands_[i]); }
  std::int64_t from_end(std::size_t i, std::size_t axis) const {
    const Shape shape = meta(i).shape;
    return shape[shape.size() - axis];
  }

  /// The operand as it is read while walking over (batch..., heads, rows, columns).
  AttentionOperand operand(std::size_t i, const Ints& batch, std::int64_t heads, std::int64_t rows,
                           std::int64_t columns) const {
    Shape whole = batch;
    whole.append(Ints{heads, rows, columns});
    const Ints strides = broadcast_strides(step_.call().views[i], meta(i).shape, whole);
    return {meta(i).dtype, Ints(strides.span().first(batch.size())), strides[batch.size()], strides[batch.size() + 1],
            strides[batch.size() + 2]};
  }

 private:
  const Graph& graph_;
  const Step& step_;
  std::span<const OperandRef> operands_;
};

/// `mask` is the number of the operand that is one, if it is there.
AttentionProblem problem_of(const Operands& operands, const Shape& result, bool causal, std::size_t mask) {
  AttentionProblem problem;
  problem.batch = Ints(result.span().first(result.size() - 3));
  problem.heads = operands.from_end(0, 3);
  problem.key_heads = operands.from_end(1, 3);
  problem.queries = operands.from_end(0, 2);
  problem.keys = operands.from_end(1, 2);
  problem.features = operands.from_end(0, 1);
  problem.values = operands.from_end(2, 1);
  problem.causal = causal;
  const Ints& batch = problem.batch;
  problem.query = operands.operand(0, batch, problem.heads, problem.queries, problem.features);
  problem.key = operands.operand(1, batch, problem.key_heads, problem.keys, problem.features);
  problem.value = operands.operand(2, batch, problem.key_heads, problem.keys, problem.values);
  if (operands.count() > mask)
    problem.mask = operands.operand(mask, batch, problem.heads, problem.queries, problem.keys);
  return problem;
}

const void* mask_of(const CallArguments& arguments, std::size_t mask) {
  return arguments.operands.size() > mask ? arguments.operands[mask] : nullptr;
}

class AttentionCall final : public PreparedCall {
 public:
  static constexpr std::size_t kScale = 3;
  static constexpr std::size_t kMask = 4;

  explicit AttentionCall(AttentionProblem problem) : problem_(std::move(problem)) {}

  void run(const CallArguments& arguments) const override {
    run_attention(problem_, {.query = arguments.operands[0],
                             .key = arguments.operands[1],
                             .value = arguments.operands[2],
                             .mask = mask_of(arguments, kMask),
                             .scale = arguments.numbers[kScale]->value.to<double>(),
                             .output = arguments.results[0],
                             .log_sum_exp = arguments.results[1]});
  }
  double nanoseconds() const override { return problem_.multiplications(1, 1) * kNanosecondsPerMultiplication; }

 private:
  AttentionProblem problem_;
};

class AttentionGradCall final : public PreparedCall {
 public:
  static constexpr std::size_t kScale = 6;
  static constexpr std::size_t kMask = 7;

  explicit AttentionGradCall(AttentionProblem problem) : problem_(std::move(problem)) {}

  void run(const CallArguments& arguments) const override {
    run_attention_grad(problem_, {.query = arguments.operands[0],
                                  .key = arguments.operands[1],
                                  .value = arguments.operands[2],
                                  .grad_output = arguments.operands[3],
                                  .log_sum_exp = arguments.operands[4],
                                  .shift = arguments.operands[5],
                                  .mask = mask_of(arguments, kMask),
                                  .scale = arguments.numbers[kScale]->value.to<double>(),
                                  .query_grad = arguments.results[0],
                                  .key_grad = arguments.results[1],
                                  .value_grad = arguments.results[2]});
  }
  double nanoseconds() const override { return problem_.multiplications(3, 2) * kNanosecondsPerMultiplication; }

 private:
  AttentionProblem problem_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_attention_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  const Shape& result = shape_of(node.shape);
  const Operands operands(graph, step);
  if (node.op == op::attention) {
    AttentionProblem problem = problem_of(operands, result, decode_attention(node.attrs).causal, AttentionCall::kMask);
    return problem.fits() ? std::make_unique<AttentionCall>(std::move(problem)) : nullptr;
  }
  AttentionProblem problem =
      problem_of(operands, result, decode_attention_grad(node.attrs).causal, AttentionGradCall::kMask);
  const auto rows = [&](std::size_t i, std::int64_t columns) {
    return operands.operand(i, problem.batch, problem.heads, problem.queries, columns);
  };
  problem.grad_output = rows(3, problem.values);
  problem.log_sum_exp = rows(4, 1);
  problem.shift = rows(5, 1);
  return problem.fits() ? std::make_unique<AttentionGradCall>(std::move(problem)) : nullptr;
}

}  // namespace lento::cpu
