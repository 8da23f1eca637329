#include "backends/cpu/linalg.h"

#include "backends/cpu/arena.h"
#include "backends/cpu/library_calls.h"
#include "backends/cpu/threads.h"
#include "backends/reference/dispatch.h"
#include "base/dispatch.h"
#include "base/fail.h"
#include "ir/attrs.gen.h"
#include "ir/infer.gen.h"
#include "ir/op.gen.h"
#include "ir/op.h"
#include "reference/kernels.gen.h"

#include <cblas.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <deque>
#include <new>

namespace lento::cpu {

namespace {

constexpr double kGrainNanoseconds = 20'000;

/// Operations of a factorisation by n³ (its largest extent), about.
double operations_by_cube(Op op) {
  switch (op) {
    case Op::cholesky_factor:
      return 0.5;
    case Op::lu_factor:
    case Op::linear_solve:
    case Op::triangular_solve:
      return 1;
    case Op::qr_factor:
      return 3;
    case Op::eigh_factor:
      return 10;
    default:
      return 25;
  }
}

/// y for a @ y == b, in place of b (n × k).
template <class T>
void solve_triangular(const TriangularSolveAttrs& attrs, std::int64_t n, std::int64_t k, const T* a, T* b) {
  const auto call = [&](auto function, auto one) {
    function(CblasRowMajor, CblasLeft, attrs.upper ? CblasUpper : CblasLower,
             attrs.transpose ? CblasTrans : CblasNoTrans, attrs.unit_diagonal ? CblasUnit : CblasNonUnit,
             static_cast<blasint>(n), static_cast<blasint>(k), one, a, static_cast<blasint>(n), b,
             static_cast<blasint>(k));
  };
  const T one(1);
  if constexpr (std::same_as<T, float>) call(cblas_strsm, one);
  if constexpr (std::same_as<T, double>) call(cblas_dtrsm, one);
  if constexpr (std::same_as<T, std::complex<float>>) call(cblas_ctrsm, &one);
  if constexpr (std::same_as<T, std::complex<double>>) call(cblas_ztrsm, &one);
}

class LinalgStep final : public LibraryStep {
 public:
  LinalgStep(Op op, AttrsId attrs, std::vector<Meta> operands)
      : op_(op), attrs_(attrs), operands_(std::move(operands)), results_(info(op).result_count) {
    infer_node(op, operands_, attrs, results_);
    const Shape& first = operands_[0].shape;
    batch_axes_ = first.size() - 2;
    batch_ = element_count(first.span().first(batch_axes_));
    const auto n = static_cast<double>(std::max(first[batch_axes_], first[batch_axes_ + 1]));
    nanoseconds_each_ = 1000 + n * n * 10 + n * n * n * operations_by_cube(op) * 0.1;
  }

  double nanoseconds() const override { return static_cast<double>(batch_) * nanoseconds_each_; }

  void run(const CallArguments& arguments) const override {
    if (batch_ == 0) return;
    const reference::KernelContext context(op_);
    // What nobody asked for is computed all the same.
    std::deque<Scratch> unused;
    std::vector<std::byte*> results;
    for (std::size_t r = 0; r < results_.size(); ++r) {
      void* data = arguments.results[r];
      if (data == nullptr)
        data = unused.emplace_back(matrix_bytes(results_[r]) * static_cast<std::size_t>(batch_)).data();
      results.push_back(static_cast<std::byte*>(data));
    }
    std::vector<std::byte*> operands;
    for (void* data : arguments.operands) operands.push_back(static_cast<std::byte*>(data));
    try {
      const auto grain = static_cast<std::int64_t>(kGrainNanoseconds / nanoseconds_each_) + 1;
      bool failed = false;
      try {
        parallel_for(batch_, grain,
                     [&](std::int64_t begin, std::int64_t end) { run_matrices(operands, results, begin, end); });
      } catch (const LinAlgError&) {
        failed = true;
      }
      // Again, one after the other: the message names the first matrix that is at fault.
      if (failed) run_matrices(operands, results, 0, batch_);
    } catch (const std::bad_alloc&) {
      fail<MemoryError>("out of memory");
    }
  }

 private:
  Shape shape_of_some(const Meta& meta, std::int64_t count) const {
    Shape shape{count};
    for (std::size_t axis = batch_axes_; axis < meta.shape.size(); ++axis) shape.push_back(meta.shape[axis]);
    return shape;
  }
  std::size_t matrix_bytes(const Meta& meta) const {
    return static_cast<std::size_t>(element_count(meta.shape.span().subspan(batch_axes_))) * size_of(meta.dtype);
  }

  void run_matrices(std::span<std::byte* const> operands, std::span<std::byte* const> results, std::int64_t begin,
                    std::int64_t end) const {
    const OneThread one;
    if (op_ == Op::triangular_solve) return solve_some(operands[0], operands[1], results[0], begin, end);
    std::deque<Shape> shapes;  // which arrays refer to
    const auto array = [&](const Meta& meta, std::byte* data) {
      const Shape& shape = shapes.emplace_back(shape_of_some(meta, end - begin));
      return reference::Array(data + static_cast<std::size_t>(begin) * matrix_bytes(meta), meta.dtype, shape);
    };
    std::vector<reference::Array> outs;
    for (std::size_t r = 0; r < results_.size(); ++r) outs.push_back(array(results_[r], results[r]));
    std::vector<reference::Argument> arguments;
    for (std::size_t i = 0; i < operands_.size(); ++i) arguments.emplace_back(array(operands_[i], operands[i]));
    reference::run(op_, outs, arguments, attrs_);
  }

  void solve_some(const std::byte* a, const std::byte* b, std::byte* y, std::int64_t begin, std::int64_t end) const {
    const TriangularSolveAttrs attrs = decode_triangular_solve(attrs_);
    const std::int64_t n = results_[0].shape[batch_axes_], k = results_[0].shape[batch_axes_ + 1];
    if (n == 0 || k == 0) return;
    const std::size_t a_bytes = matrix_bytes(operands_[0]), b_bytes = matrix_bytes(operands_[1]);
    dispatch(results_[0].dtype, [&]<class T>() {
      for (auto at = static_cast<std::size_t>(begin); at < static_cast<std::size_t>(end); ++at) {
        std::memcpy(y + at * b_bytes, b + at * b_bytes, b_bytes);
        solve_triangular(attrs, n, k, reinterpret_cast<const T*>(a + at * a_bytes),
                         reinterpret_cast<T*>(y + at * b_bytes));
      }
    });
  }

  Op op_;
  AttrsId attrs_;
  std::vector<Meta> operands_;
  std::vector<Meta> results_;
  std::size_t batch_axes_ = 0;
  std::int64_t batch_ = 1;
  double nanoseconds_each_ = 0;
};

}  // namespace

std::unique_ptr<const LibraryStep> make_linalg_step(Op op, AttrsId attrs, std::vector<Meta> operands) {
  return std::make_unique<LinalgStep>(op, attrs, std::move(operands));
}

std::unique_ptr<const LibraryStep> make_linalg_step(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  std::vector<Meta> operands;
  for (const OperandRef operand : graph.operands(node)) operands.push_back(graph.meta_of(operand));
  return make_linalg_step(node.op, node.attrs, std::move(operands));
}

}  // namespace lento::cpu
