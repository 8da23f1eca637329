#include "backends/cpu/libraries/linalg.h"

#include "backend/node_call.h"
#include "backends/cpu/arena.h"
#include "backends/cpu/libraries/blas_by_type.h"
#include "backends/cpu/libraries/library_calls.h"
#include "backends/cpu/libraries/linalg_blocked.h"
#include "backends/cpu/threads.h"
#include "backends/reference/blas_memory.h"
#include "backends/reference/dispatch.h"
#include "base/dispatch.h"
#include "base/fail.h"
#include "ir/attrs_linalg.gen.h"
#include "ir/infer.h"
#include "ir/op.h"
#include "ir/op_linalg.gen.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstring>
#include <deque>
#include <new>

namespace lento::cpu {

namespace {

constexpr double kGrainNanoseconds = 20'000;

/// Operations of a factorisation by n³ (its largest extent), about.
double operations_by_cube(Op op) {
  switch (op) {
    case op::cholesky_factor:
      return 0.5;
    case op::lu_factor:
    case op::linear_solve:
    case op::triangular_solve:
      return 1;
    case op::qr_factor:
      return 3;
    case op::eigh_factor:
      return 10;
    default:
      return 25;
  }
}

template <class T>
bool all_finite(const T* elements, std::int64_t count) {
  return std::all_of(elements, elements + count,
                     [](T element) { return std::isfinite(std::real(element)) && std::isfinite(std::imag(element)); });
}

/// Calls f with the element types that LAPACK has.
template <class F>
void dispatch_lapack(DType dtype, F f) {
  dispatch(dtype, [&]<class T>() {
    if constexpr (sizeof(T) >= 4 && !std::integral<T>) f.template operator()<T>();
  });
}

class LinalgCall final : public PreparedCall {
 public:
  LinalgCall(Op op, AttrsId attrs, std::vector<Meta> operands)
      : op_(op), attrs_(attrs), operands_(std::move(operands)), results_(info(op).result_count) {
    infer_node(op, operands_, attrs, results_);
    const Shape& first = operands_[0].shape;
    batch_axes_ = first.size() - 2;
    batch_ = element_count(first.span().first(batch_axes_));
    const auto n = static_cast<double>(std::max(first[batch_axes_], first[batch_axes_ + 1]));
    const bool has_blocks = op == op::cholesky_factor || op == op::lu_factor || op == op::linear_solve;
    blocked_ = has_blocks && first[batch_axes_] == first[batch_axes_ + 1] && first[batch_axes_] >= kBlockedFrom;
    nanoseconds_each_ = 1000 + n * n * 10 + n * n * n * operations_by_cube(op) * 0.1;
  }

  double nanoseconds() const override { return static_cast<double>(batch_) * nanoseconds_each_; }

  void run(const CallArguments& arguments) const override {
    if (batch_ == 0) return;
    const NodeContext context(op_);
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
      if (failed) run_reference(operands, results, 0, batch_);
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
    if (op_ == op::triangular_solve) return solve_triangular(operands, results, begin, end);
    if (!blocked_) return run_reference(operands, results, begin, end);
    for (std::int64_t at = begin; at < end; ++at) {
      // What is at fault, or all nan, is the reference's affair.
      if (!run_blocked(operands, results, static_cast<std::size_t>(at))) run_reference(operands, results, at, at + 1);
    }
  }

  void run_reference(std::span<std::byte* const> operands, std::span<std::byte* const> results, std::int64_t begin,
                     std::int64_t end) const {
    const OneThread one;
    const reference::BlasCall call;
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

  void solve_triangular(std::span<std::byte* const> operands, std::span<std::byte* const> results, std::int64_t begin,
                        std::int64_t end) const {
    const OneThread one;
    const reference::BlasCall call;
    const TriangularSolveAttrs attrs = decode_triangular_solve(attrs_);
    const std::int64_t n = results_[0].shape[batch_axes_], k = results_[0].shape[batch_axes_ + 1];
    if (n == 0 || k == 0) return;
    const std::size_t a_bytes = matrix_bytes(operands_[0]), b_bytes = matrix_bytes(operands_[1]);
    dispatch_lapack(results_[0].dtype, [&]<class T>() {
      for (auto at = static_cast<std::size_t>(begin); at < static_cast<std::size_t>(end); ++at) {
        std::byte* const y = results[0] + at * b_bytes;
        std::memcpy(y, operands[1] + at * b_bytes, b_bytes);
        Blas<T>::trsm(CblasLeft, attrs.upper ? CblasUpper : CblasLower, attrs.transpose ? CblasTrans : CblasNoTrans,
                      attrs.unit_diagonal ? CblasUnit : CblasNonUnit, n, k,
                      reinterpret_cast<const T*>(operands[0] + at * a_bytes), n, reinterpret_cast<T*>(y), k);
      }
    });
  }

  /// Factorises one large matrix; false when it has nan or inf, or cannot be factorised.
  bool run_blocked(std::span<std::byte* const> operands, std::span<std::byte* const> results, std::size_t at) const {
    const std::int64_t n = operands_[0].shape[batch_axes_];
    const std::size_t bytes = matrix_bytes(operands_[0]);
    bool done = false;
    dispatch_lapack(operands_[0].dtype, [&]<class T>() {
      const T* x = reinterpret_cast<const T*>(operands[0] + at * bytes);
      if (op_ == op::cholesky_factor) {
        T* factor = reinterpret_cast<T*>(results[0] + at * bytes);
        for (std::int64_t i = 0; i < n; ++i) {
          std::copy(x + i * n, x + i * n + i + 1, factor + i * n);
          std::fill(factor + i * n + i + 1, factor + (i + 1) * n, T(0));
        }
        done = all_finite(factor, n * n) && cholesky_blocked(n, factor) == 0;
        // The updates wrote above the diagonal too.
        for (std::int64_t i = 0; i < n; ++i) std::fill(factor + i * n + i + 1, factor + (i + 1) * n, T(0));
        return;
      }
      if (!all_finite(x, n * n)) return;
      if (op_ == op::lu_factor) {
        T* factors = reinterpret_cast<T*>(results[0] + at * bytes);
        std::copy_n(x, n * n, factors);
        lu_blocked(n, factors, reinterpret_cast<std::int32_t*>(results[1]) + static_cast<std::int64_t>(at) * n);
        done = true;
        return;
      }
      const std::int64_t k = operands_[1].shape[batch_axes_ + 1];
      const std::size_t right_bytes = matrix_bytes(operands_[1]);
      const Scratch factors(bytes), pivots(static_cast<std::size_t>(n) * sizeof(std::int32_t));
      std::copy_n(x, n * n, factors.as<T>());
      if (lu_blocked(n, factors.as<T>(), pivots.as<std::int32_t>()) != 0) return;
      std::byte* const solution = results[0] + at * right_bytes;
      std::memcpy(solution, operands[1] + at * right_bytes, right_bytes);
      if (k != 0) solve_by_lu(n, k, factors.as<T>(), pivots.as<std::int32_t>(), reinterpret_cast<T*>(solution));
      done = true;
    });
    return done;
  }

  Op op_;
  AttrsId attrs_;
  std::vector<Meta> operands_;
  std::vector<Meta> results_;
  std::size_t batch_axes_ = 0;
  std::int64_t batch_ = 1;
  bool blocked_ = false;
  double nanoseconds_each_ = 0;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_linalg_call(Op op, AttrsId attrs, std::vector<Meta> operands) {
  return std::make_unique<LinalgCall>(op, attrs, std::move(operands));
}

std::unique_ptr<const PreparedCall> make_linalg_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  std::vector<Meta> operands;
  for (const OperandRef operand : graph.operands(node)) operands.push_back(graph.meta_of(operand));
  return make_linalg_call(node.op, node.attrs, std::move(operands));
}

}  // namespace lento::cpu
