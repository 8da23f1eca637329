// The pairs of input and output positions that a sliding window connects.
#include "backends/reference/taps.h"

namespace lento::reference {

namespace {

/// The position in a row-major grid of the element with this running number.
Ints position_of(std::int64_t number, std::span<const std::int64_t> shape) {
  Ints position(shape.size(), 0);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    position[axis] = number % shape[axis];
    number /= shape[axis];
  }
  return position;
}

}  // namespace

std::vector<Tap> window_taps(std::span<const std::int64_t> output, std::span<const std::int64_t> kernel,
                             std::span<const std::int64_t> input, const Ints& stride, const Ints& padding_low,
                             const Ints& dilation) {
  std::vector<Tap> taps;
  for (std::int64_t o = 0; o < element_count(output); ++o) {
    const Ints at_output = position_of(o, output);
    for (std::int64_t k = 0; k < element_count(kernel); ++k) {
      const Ints at_kernel = position_of(k, kernel);
      std::int64_t flat = 0;
      bool inside = true;
      for (std::size_t axis = 0; axis < input.size(); ++axis) {
        const std::int64_t at = at_output[axis] * stride[axis] - padding_low[axis] + at_kernel[axis] * dilation[axis];
        inside = inside && at >= 0 && at < input[axis];
        flat = flat * input[axis] + at;
      }
      if (inside) taps.push_back({o, k, flat});
    }
  }
  return taps;
}

}  // namespace lento::reference
