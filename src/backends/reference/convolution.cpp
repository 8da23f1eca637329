// Convolution and its two gradients: the same triples (output, kernel, input), summed into each of the three in turn.
#include "backends/reference/array.h"
#include "backends/reference/sum_of_products.h"
#include "backends/reference/taps.h"
#include "base/dispatch.h"
#include "ir/attrs_contraction.gen.h"
#include "reference/kernels_contraction.gen.h"

#include <algorithm>
#include <vector>

namespace lento::reference {

namespace {

/// Which planes are multiplied: output channel o of group g reads the input channels of its group.
struct Channels {
  std::int64_t batch;
  std::int64_t out;        // output channels in all
  std::int64_t group_out;  // output channels a group
  std::int64_t group_in;   // input channels a group, as many as the weight has
  std::int64_t in;         // input channels in all

  Channels(std::int64_t batch_, std::int64_t out_, std::int64_t in_, std::int64_t groups)
      : batch(batch_), out(out_), group_out(out_ / groups), group_in(in_ / groups), in(in_) {}

  std::int64_t input_channel(std::int64_t o, std::int64_t c) const { return o / group_out * group_in + c; }
};

template <class T>
void store(T* to, const std::vector<SumType<T>>& sums) {
  std::transform(sums.begin(), sums.end(), to, [](SumType<T> sum) { return static_cast<T>(sum); });
}

}  // namespace

void convolution(const Array& out, const Array& x, const Array& weight, const ConvolutionAttrs& attrs) {
  const Channels channels(x.extent(0), out.extent(1), x.extent(1), attrs.groups);
  const std::int64_t out_size = element_count(spatial(out.shape()));
  const std::int64_t in_size = element_count(spatial(x.shape()));
  const std::int64_t kernel_size = element_count(spatial(weight.shape()));
  const std::vector<Tap> taps = window_taps(spatial(out.shape()), spatial(weight.shape()), spatial(x.shape()),
                                            attrs.stride, attrs.padding_low, attrs.dilation);
  dispatch(out.dtype(), [&]<class T>() {
    if constexpr (!std::same_as<T, bool>) {
      std::vector<SumType<T>> sums(static_cast<std::size_t>(out_size));
      for (std::int64_t n = 0; n < channels.batch; ++n) {
        for (std::int64_t o = 0; o < channels.out; ++o) {
          std::fill(sums.begin(), sums.end(), SumType<T>{});
          for (std::int64_t c = 0; c < channels.group_in; ++c) {
            const T* from = x.as<T>() + (n * channels.in + channels.input_channel(o, c)) * in_size;
            const T* kernel = weight.as<T>() + (o * channels.group_in + c) * kernel_size;
            for (const Tap& tap : taps)
              add_product(sums[static_cast<std::size_t>(tap.output)], from[tap.input], kernel[tap.kernel]);
          }
          store(out.as<T>() + (n * channels.out + o) * out_size, sums);
        }
      }
    }
  });
}

void convolution_input_grad(const Array& out, const Array& grad_output, const Array& weight,
                            const ConvolutionInputGradAttrs& attrs) {
  const Channels channels(out.extent(0), grad_output.extent(1), out.extent(1), attrs.groups);
  const std::int64_t grad_size = element_count(spatial(grad_output.shape()));
  const std::int64_t in_size = element_count(spatial(out.shape()));
  const std::int64_t kernel_size = element_count(spatial(weight.shape()));
  const std::vector<Tap> taps = window_taps(spatial(grad_output.shape()), spatial(weight.shape()), spatial(out.shape()),
                                            attrs.stride, attrs.padding_low, attrs.dilation);
  dispatch(out.dtype(), [&]<class T>() {
    if constexpr (!std::same_as<T, bool>) {
      // Sums of all input channels of one image, since the output channels of a group add to the same ones.
      std::vector<SumType<T>> sums(static_cast<std::size_t>(channels.in * in_size));
      for (std::int64_t n = 0; n < channels.batch; ++n) {
        std::fill(sums.begin(), sums.end(), SumType<T>{});
        for (std::int64_t o = 0; o < channels.out; ++o) {
          const T* grad = grad_output.as<T>() + (n * channels.out + o) * grad_size;
          for (std::int64_t c = 0; c < channels.group_in; ++c) {
            const T* kernel = weight.as<T>() + (o * channels.group_in + c) * kernel_size;
            SumType<T>* to = sums.data() + channels.input_channel(o, c) * in_size;
            for (const Tap& tap : taps) add_product(to[tap.input], grad[tap.output], kernel[tap.kernel]);
          }
        }
        store(out.as<T>() + n * channels.in * in_size, sums);
      }
    }
  });
}

void convolution_weight_grad(const Array& out, const Array& grad_output, const Array& x,
                             const ConvolutionWeightGradAttrs& attrs) {
  const Channels channels(x.extent(0), grad_output.extent(1), x.extent(1), attrs.groups);
  const std::int64_t grad_size = element_count(spatial(grad_output.shape()));
  const std::int64_t in_size = element_count(spatial(x.shape()));
  const std::int64_t kernel_size = element_count(spatial(out.shape()));
  const std::vector<Tap> taps = window_taps(spatial(grad_output.shape()), spatial(out.shape()), spatial(x.shape()),
                                            attrs.stride, attrs.padding_low, attrs.dilation);
  dispatch(out.dtype(), [&]<class T>() {
    if constexpr (!std::same_as<T, bool>) {
      std::vector<SumType<T>> sums(static_cast<std::size_t>(kernel_size));
      for (std::int64_t o = 0; o < channels.out; ++o) {
        for (std::int64_t c = 0; c < channels.group_in; ++c) {
          std::fill(sums.begin(), sums.end(), SumType<T>{});
          for (std::int64_t n = 0; n < channels.batch; ++n) {
            const T* grad = grad_output.as<T>() + (n * channels.out + o) * grad_size;
            const T* from = x.as<T>() + (n * channels.in + channels.input_channel(o, c)) * in_size;
            for (const Tap& tap : taps)
              add_product(sums[static_cast<std::size_t>(tap.kernel)], grad[tap.output], from[tap.input]);
          }
          store(out.as<T>() + (o * channels.group_in + c) * kernel_size, sums);
        }
      }
    }
  });
}

}  // namespace lento::reference
