#include "backends/cpu/library_step.h"

#include "ir/attrs.gen.h"
#include "ir/op.gen.h"

#include <optional>

namespace lento::cpu {

namespace {

MatrixStrides matrix_strides(const View& view, const Shape& own, const Ints& batch) {
  Shape whole = batch;
  whole.push_back(own[own.size() - 2]);
  whole.push_back(own[own.size() - 1]);
  const Ints strides = broadcast_strides(view, own, whole);
  MatrixStrides result;
  result.batch = Ints(strides.span().first(batch.size()));
  result.row = strides[batch.size()];
  result.column = strides[batch.size() + 1];
  return result;
}

std::optional<MatmulProblem> matmul_problem(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  const std::span<const OperandRef> operands = graph.operands(node);
  const Meta a = graph.meta_of(operands[0]);
  const Meta b = graph.meta_of(operands[1]);
  if (a.dtype != node.dtype || b.dtype != node.dtype) return std::nullopt;
  const Shape& out = shape_of(node.shape);
  MatmulProblem problem;
  problem.dtype = node.dtype;
  problem.batch = Ints(out.span().first(out.size() - 2));
  problem.m = out[out.size() - 2];
  problem.n = out[out.size() - 1];
  problem.k = a.shape.back();
  problem.a = matrix_strides(step.views[0], a.shape, problem.batch);
  problem.b = matrix_strides(step.views[1], b.shape, problem.batch);
  return problem;
}

std::optional<ConvolutionProblem> convolution_problem(const Graph& graph, const Record& node) {
  const std::span<const OperandRef> operands = graph.operands(node);
  const Meta first = graph.meta_of(operands[0]);
  const Meta second = graph.meta_of(operands[1]);
  if (first.dtype != node.dtype || second.dtype != node.dtype) return std::nullopt;
  const Shape& out = shape_of(node.shape);
  ConvolutionProblem problem;
  problem.dtype = node.dtype;
  const auto take = [&problem](ConvolutionKind kind, const auto& attrs, const Shape& x, const Shape& weight,
                               const Shape& y) {
    problem.kind = kind;
    problem.x = x;
    problem.weight = weight;
    problem.y = y;
    problem.stride = attrs.stride;
    problem.padding_low = attrs.padding_low;
    problem.dilation = attrs.dilation;
    problem.groups = attrs.groups;
  };
  if (node.op == Op::convolution) {
    take(ConvolutionKind::forward, decode_convolution(node.attrs), first.shape, second.shape, out);
  } else if (node.op == Op::convolution_input_grad) {
    take(ConvolutionKind::input_grad, decode_convolution_input_grad(node.attrs), out, second.shape, first.shape);
  } else {
    take(ConvolutionKind::weight_grad, decode_convolution_weight_grad(node.attrs), second.shape, out, first.shape);
  }
  return problem;
}

}  // namespace

std::unique_ptr<const LibraryStep> LibraryStep::make(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  auto made = std::make_unique<LibraryStep>();
  if (node.op == Op::matrix_multiply) {
    const std::optional<MatmulProblem> problem = matmul_problem(graph, step);
    if (problem) made->matmul_ = MatmulPlan::make(*problem);
  } else if (node.op == Op::convolution || node.op == Op::convolution_input_grad ||
             node.op == Op::convolution_weight_grad) {
    const std::optional<ConvolutionProblem> problem = convolution_problem(graph, node);
    if (problem) {
      made->kind_ = problem->kind;
      made->convolution_ = ConvolutionPlan::make(*problem);
    }
  }
  if (made->matmul_ == nullptr && made->convolution_ == nullptr) return nullptr;
  return made;
}

void LibraryStep::run(std::span<void* const> operands, void* out) const {
  if (matmul_ != nullptr) {
    matmul_->run(operands[0], operands[1], out);
    return;
  }
  switch (kind_) {
    case ConvolutionKind::forward:
      convolution_->run(operands[0], operands[1], out);
      break;
    case ConvolutionKind::input_grad:
      convolution_->run(out, operands[1], operands[0]);
      break;
    case ConvolutionKind::weight_grad:
      convolution_->run(operands[1], out, operands[0]);
      break;
  }
}

double LibraryStep::products() const { return matmul_ != nullptr ? matmul_->products() : convolution_->products(); }

}  // namespace lento::cpu
