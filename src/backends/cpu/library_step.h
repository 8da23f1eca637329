// Library steps: calls that have something better than the reference backend's kernel, planned when a program is made.
#pragma once

#include "backends/cpu/conv.h"
#include "backends/cpu/matmul.h"
#include "compiler/schedule.h"

#include <memory>
#include <span>

namespace lento::cpu {

class LibraryStep {
 public:
  /// Null when the call is left to the reference backend.
  static std::unique_ptr<const LibraryStep> make(const Graph& graph, const Step& step);

  /// Operands as the step has them: views of matrix products, contiguous tensors of convolutions.
  void run(std::span<void* const> operands, void* out) const;
  /// Multiplications, for estimates.
  double products() const;

 private:
  std::unique_ptr<const MatmulPlan> matmul_;
  std::unique_ptr<const ConvolutionPlan> convolution_;
  ConvolutionKind kind_ = ConvolutionKind::forward;
};

}  // namespace lento::cpu
