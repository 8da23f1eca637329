// Fourier transforms as prepared calls.
#include "backends/cpu/fft/fft.h"
#include "backends/cpu/prepared_call.h"
#include "ir/attrs_fft.gen.h"
#include "ir/op_fft.gen.h"

namespace lento::cpu {

namespace {

class FftCall final : public PreparedCall {
 public:
  explicit FftCall(const FftProblem& problem) : prepared_(PreparedFft::make(problem)), size_(problem.size) {}

  void run(const CallArguments& arguments) const override {
    prepared_->run(arguments.operands[0], arguments.results[0]);
  }
  double nanoseconds() const override { return prepared_->nanoseconds(); }
  std::size_t bytes() const override { return static_cast<std::size_t>(size_) * kTableBytesPerElement; }

 private:
  // Of a length with a large prime factor: roots of unity and a filter, of up to four times the length.
  static constexpr std::size_t kTableBytesPerElement = 64;

  std::unique_ptr<const PreparedFft> prepared_;
  std::int64_t size_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_fft_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
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
  return std::make_unique<FftCall>(problem);
}

}  // namespace lento::cpu
