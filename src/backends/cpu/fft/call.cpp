// Fourier transforms as prepared calls.
#include "backends/cpu/fft/fft.h"
#include "backends/cpu/prepared_call.h"

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
  return std::make_unique<FftCall>(FftProblem::of(graph, graph.nodes[step.nodes[0]]));
}

}  // namespace lento::cpu
