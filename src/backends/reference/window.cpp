// Sliding windows: the largest element and the sum.
#include "backends/reference/array.h"
#include "backends/reference/sum_of_products.h"
#include "backends/reference/taps.h"
#include "base/dispatch.h"
#include "ir/attrs_window.gen.h"
#include "reference/kernels_window.gen.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace lento::reference {

namespace {

/// What stands for the maximum of nothing.
template <class T>
T lowest() {
  if constexpr (Half<T>) return T(-std::numeric_limits<double>::infinity());
  if constexpr (std::floating_point<T>) return -std::numeric_limits<T>::infinity();
  if constexpr (std::integral<T>) return std::numeric_limits<T>::lowest();
  __builtin_unreachable();
}

/// Whether `a` replaces `b` as the largest so far: the first nan does, and then nothing does.
template <class T>
bool is_new_maximum(T a, T b) {
  if (is_nan(b)) return false;
  return is_nan(a) || widen(a) > widen(b);
}

}  // namespace

void max_window(const Array& values, const Array& indices, const Array& x, const MaxWindowAttrs& attrs) {
  const std::vector<Tap> taps = window_taps(spatial(values.shape()), attrs.kernel, spatial(x.shape()), attrs.stride,
                                            attrs.padding_low, attrs.dilation);
  const std::int64_t planes = x.extent(0) * x.extent(1);
  const std::int64_t in_size = element_count(spatial(x.shape()));
  const std::int64_t out_size = element_count(spatial(values.shape()));
  dispatch(x.dtype(), [&]<class T>() {
    if constexpr (!Complex<T>) {
      std::fill_n(values.as<T>(), planes * out_size, lowest<T>());
      std::fill_n(indices.as<std::int64_t>(), planes * out_size, std::int64_t{-1});
      for (std::int64_t plane = 0; plane < planes; ++plane) {
        const T* from = x.as<T>() + plane * in_size;
        T* best = values.as<T>() + plane * out_size;
        std::int64_t* at = indices.as<std::int64_t>() + plane * out_size;
        for (const Tap& tap : taps) {
          if (at[tap.output] >= 0 && !is_new_maximum(from[tap.input], best[tap.output])) continue;
          best[tap.output] = from[tap.input];
          at[tap.output] = tap.input;
        }
      }
    }
  });
}

void sum_window(const Array& out, const Array& x, const SumWindowAttrs& attrs) {
  const std::vector<Tap> taps = window_taps(spatial(out.shape()), attrs.kernel, spatial(x.shape()), attrs.stride,
                                            attrs.padding_low, attrs.dilation);
  const std::int64_t planes = x.extent(0) * x.extent(1);
  const std::int64_t in_size = element_count(spatial(x.shape()));
  const std::int64_t out_size = element_count(spatial(out.shape()));
  dispatch(x.dtype(), [&]<class T>() {
    if constexpr (!std::same_as<T, bool>) {
      std::vector<SumType<T>> sums(static_cast<std::size_t>(out_size));
      for (std::int64_t plane = 0; plane < planes; ++plane) {
        std::fill(sums.begin(), sums.end(), SumType<T>{});
        const T* from = x.as<T>() + plane * in_size;
        for (const Tap& tap : taps) {
          SumType<T>& sum = sums[static_cast<std::size_t>(tap.output)];
          sum = Add{}(sum, static_cast<SumType<T>>(from[tap.input]));
        }
        for (std::int64_t i = 0; i < out_size; ++i) {
          out.as<T>()[plane * out_size + i] = static_cast<T>(sums[static_cast<std::size_t>(i)]);
        }
      }
    }
  });
}

}  // namespace lento::reference
