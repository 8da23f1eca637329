#include "backend/library_problems.h"

#include "ir/attrs_contraction.gen.h"
#include "ir/attrs_fft.gen.h"
#include "ir/op_contraction.gen.h"
#include "ir/op_fft.gen.h"

#include <algorithm>

namespace lento {

// ---- Matrix products.

MatmulProblem MatmulProblem::of(DType dtype, const Shape& a, const Shape& b) {
  MatmulProblem problem;
  problem.dtype = dtype;
  const std::size_t rank = std::max(a.size(), b.size()) - 2;
  problem.m = a[a.size() - 2];
  problem.k = a[a.size() - 1];
  problem.n = b[b.size() - 1];
  problem.batch.resize(rank, 1);
  const auto place = [&](const Shape& shape, MatrixStrides& strides) {
    const std::size_t own = shape.size() - 2;
    strides.column = 1;
    strides.row = shape[own + 1];
    strides.batch.resize(rank, 0);
    std::int64_t stride = shape[own] * shape[own + 1];
    for (std::size_t axis = own; axis-- > 0;) {
      const std::size_t at = rank - own + axis;
      if (shape[axis] != 1) {
        strides.batch[at] = stride;
        problem.batch[at] = shape[axis];
      }
      stride *= shape[axis];
    }
  };
  place(a, problem.a);
  place(b, problem.b);
  return problem;
}

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

void join_batch_axes(MatmulProblem& problem) {
  Ints extents, a, b;
  for (std::size_t axis = 0; axis < problem.batch.size(); ++axis) {
    const std::int64_t extent = problem.batch[axis];
    if (extent == 1) continue;
    const std::int64_t a_stride = problem.a.batch[axis];
    const std::int64_t b_stride = problem.b.batch[axis];
    if (!extents.empty() && a.back() == a_stride * extent && b.back() == b_stride * extent) {
      extents.back() *= extent;
      a.back() = a_stride;
      b.back() = b_stride;
    } else {
      extents.push_back(extent);
      a.push_back(a_stride);
      b.push_back(b_stride);
    }
  }
  problem.batch = extents;
  problem.a.batch = a;
  problem.b.batch = b;
}

/// One b for all matrices of a, which lie below each other: a single product with more rows.
void fold_batch_into_rows(MatmulProblem& problem) {
  if (problem.batch.size() != 1 || problem.b.batch[0] != 0) return;
  if (problem.m == 1) {
    problem.a.row = problem.a.batch[0];
  } else if (problem.a.batch[0] != problem.m * problem.a.row) {
    return;
  }
  problem.m *= problem.batch[0];
  problem.batch.clear();
  problem.a.batch.clear();
  problem.b.batch.clear();
}

}  // namespace

std::optional<MatmulProblem> MatmulProblem::of(const Graph& graph, const Record& node, std::span<const View> views) {
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
  problem.a = matrix_strides(views[0], a.shape, problem.batch);
  problem.b = matrix_strides(views[1], b.shape, problem.batch);
  return problem;
}

void MatmulProblem::merge_batch() {
  join_batch_axes(*this);
  fold_batch_into_rows(*this);
}

// ---- Convolutions.

std::optional<ConvolutionProblem> ConvolutionProblem::of(const Graph& graph, const Record& node) {
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
  if (node.op == op::convolution) {
    take(ConvolutionKind::forward, decode_convolution(node.attrs), first.shape, second.shape, out);
  } else if (node.op == op::convolution_input_grad) {
    take(ConvolutionKind::input_grad, decode_convolution_input_grad(node.attrs), out, second.shape, first.shape);
  } else {
    take(ConvolutionKind::weight_grad, decode_convolution_weight_grad(node.attrs), second.shape, out, first.shape);
  }
  return problem;
}

// ---- Fourier transforms.

FftProblem FftProblem::of(const Graph& graph, const Record& node) {
  const Meta x = graph.meta_of(graph.operands(node)[0]);
  FftProblem problem;
  problem.dtype = x.dtype;
  std::size_t axis = 0;
  if (node.op == op::fft_c2c) {
    const FftC2cAttrs attrs = decode_fft_c2c(node.attrs);
    axis = static_cast<std::size_t>(attrs.axis);
    problem.inverse = attrs.inverse;
    problem.size = x.shape[axis];
  } else if (node.op == op::fft_r2c) {
    axis = static_cast<std::size_t>(decode_fft_r2c(node.attrs).axis);
    problem.kind = FftKind::real_to_complex;
    problem.size = x.shape[axis];
  } else {
    const FftC2rAttrs attrs = decode_fft_c2r(node.attrs);
    axis = static_cast<std::size_t>(attrs.axis);
    problem.kind = FftKind::complex_to_real;
    problem.size = attrs.size;
  }
  problem.outer = element_count(x.shape.span().first(axis));
  problem.inner = element_count(x.shape.span().subspan(axis + 1));
  return problem;
}

}  // namespace lento
