#include "backends/cpu/prepared_call.h"

#include "backend/library_problems.h"
#include "backends/cpu/libraries/conv.h"
#include "backends/cpu/libraries/matmul.h"
#include "backends/cpu/native/reduce.h"
#include "ir/op_contraction.gen.h"
#include "ir/op_fft.gen.h"
#include "ir/op_gather.gen.h"
#include "ir/op_index_map.gen.h"
#include "ir/op_linalg.gen.h"
#include "ir/op_reduction.gen.h"
#include "ir/op_scan.gen.h"
#include "ir/op_scatter.gen.h"
#include "ir/op_sort.gen.h"

#include <optional>

namespace lento::cpu {

namespace {

constexpr double kNanosecondsPerProduct = 0.02;

class MatmulCall final : public PreparedCall {
 public:
  explicit MatmulCall(std::unique_ptr<const PreparedMatmul> prepared) : prepared_(std::move(prepared)) {}

  void run(const CallArguments& arguments) const override {
    prepared_->run(arguments.operands[0], arguments.operands[1], arguments.results[0]);
  }
  double nanoseconds() const override { return prepared_->products() * kNanosecondsPerProduct; }

 private:
  std::unique_ptr<const PreparedMatmul> prepared_;
};

class ConvolutionCall final : public PreparedCall {
 public:
  ConvolutionCall(std::unique_ptr<const PreparedConvolution> prepared, ConvolutionKind kind)
      : prepared_(std::move(prepared)), kind_(kind) {}

  void run(const CallArguments& arguments) const override {
    void* const first = arguments.operands[0];
    void* const second = arguments.operands[1];
    void* const out = arguments.results[0];
    const bool weight_lasts = !arguments.inputs.empty() && arguments.inputs[1] != 0;
    switch (kind_) {
      case ConvolutionKind::forward:
        prepared_->run(first, second, out, weight_lasts);
        break;
      case ConvolutionKind::input_grad:
        prepared_->run(out, second, first, weight_lasts);
        break;
      case ConvolutionKind::weight_grad:
        prepared_->run(second, out, first);
        break;
    }
  }
  double nanoseconds() const override { return prepared_->products() * kNanosecondsPerProduct; }

 private:
  std::unique_ptr<const PreparedConvolution> prepared_;
  ConvolutionKind kind_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_matmul_call(const Graph& graph, const Step& step) {
  const std::optional<MatmulProblem> problem = MatmulProblem::of(graph, graph.nodes[step.nodes[0]], step.call().views);
  std::unique_ptr<const PreparedMatmul> prepared = problem ? PreparedMatmul::make(*problem) : nullptr;
  return prepared == nullptr ? nullptr : std::make_unique<MatmulCall>(std::move(prepared));
}

std::unique_ptr<const PreparedCall> make_convolution_call(const Graph& graph, const Step& step) {
  const std::optional<ConvolutionProblem> problem = ConvolutionProblem::of(graph, graph.nodes[step.nodes[0]]);
  std::unique_ptr<const PreparedConvolution> prepared = problem ? PreparedConvolution::make(*problem) : nullptr;
  return prepared == nullptr ? nullptr : std::make_unique<ConvolutionCall>(std::move(prepared), problem->kind);
}

std::unique_ptr<const PreparedCall> make_prepared_call(const Graph& graph, const Step& step) {
  switch (graph.nodes[step.nodes[0]].op) {
    case op::matrix_multiply:
      return make_matmul_call(graph, step);
    case op::convolution:
    case op::convolution_input_grad:
    case op::convolution_weight_grad:
      return make_convolution_call(graph, step);
    case op::rnn_states:
    case op::rnn_states_grad:
    case op::gru_states:
    case op::gru_states_grad:
    case op::lstm_states:
    case op::lstm_states_grad:
      return make_recurrence_call(graph, step);
    case op::attention:
    case op::attention_grad:
      return make_attention_call(graph, step);
    case op::fft_c2c:
    case op::fft_r2c:
    case op::fft_c2r:
      return make_fft_call(graph, step);
    case op::cholesky_factor:
    case op::qr_factor:
    case op::svd_factor:
    case op::eigh_factor:
    case op::eig_factor:
    case op::lu_factor:
    case op::linear_solve:
    case op::triangular_solve:
      return make_linalg_call(graph, step);
    case op::take_axis:
    case op::take_along_axis:
    case op::gather_nd:
      return make_gather_call(graph, step);
    case op::scatter_axis:
    case op::scatter_nd:
      return make_scatter_call(graph, step);
    case op::concatenate:
      return make_concatenate_call(graph, step);
    case op::pad_constant:
      return make_pad_call(graph, step);
    case op::strided_update:
      return make_update_call(graph, step);
    case op::reduce_sum:
      return make_reduce_call(graph, step);
    case op::scan_sum:
    case op::scan_prod:
    case op::scan_max:
    case op::scan_min:
      return make_scan_call(graph, step);
    case op::sort_values:
    case op::sort_indices:
      return make_sort_call(graph, step);
    case op::top_k:
      return make_top_k_call(graph, step);
    case op::search_sorted:
    case op::flat_nonzero:
      return make_search_call(graph, step);
    default:
      return nullptr;
  }
}

}  // namespace lento::cpu
