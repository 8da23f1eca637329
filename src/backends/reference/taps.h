// The pairs of input and output positions that a sliding window connects: the geometry of convolution and pooling in
// one list.
#pragma once

#include <lento/ints.h>

#include <cstdint>
#include <span>
#include <vector>

namespace lento::reference {

/// Element `kernel` of the window at position `output` lies on element `input`; all three are flat positions in their
/// spatial axes.
struct Tap {
  std::int64_t output;
  std::int64_t kernel;
  std::int64_t input;
};

/// All taps that do not lie in the padding, ordered by output and then by kernel: along each axis the input position is
/// output * stride - padding_low + kernel * dilation.
std::vector<Tap> window_taps(std::span<const std::int64_t> output, std::span<const std::int64_t> kernel,
                             std::span<const std::int64_t> input, const Ints& stride, const Ints& padding_low,
                             const Ints& dilation);

/// The spatial axes of (N, C, *S).
inline std::span<const std::int64_t> spatial(const Shape& shape) { return shape.span().subspan(2); }

}  // namespace lento::reference
