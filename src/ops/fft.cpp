// Fourier transforms (ops/fft.yaml): lengths, padding and norms around the unnormalised primitives along one axis.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/fft.calls.gen.h"

#include <algorithm>
#include <cmath>

namespace lento::composite {

namespace {

/// Cut or padded with zeros behind the end to `length` along an axis.
Tensor with_length(const Tensor& x, std::int64_t axis, std::int64_t length) {
  if (length < 1)
    fail<ValueError>("a transform needs at least one element, got length {} along axis {} of {}", length, axis,
                     type_of(x));
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  if (length <= extent) return sliced(x, axis, 0, length);
  const Ints low(x.shape().size(), 0);
  Ints high = low;
  high[static_cast<std::size_t>(axis)] = length - extent;
  return prim::pad_constant(x, 0, low, high);
}

/// What a transform over `count` elements is multiplied with: "backward" divides the inverse one, "forward" the forward
/// one.
double factor_of(std::string_view norm, std::int64_t count, bool inverse) {
  const auto elements = static_cast<double>(count);
  if (norm == "ortho") return 1 / std::sqrt(elements);
  return (norm == "backward") == inverse ? 1 / elements : 1;
}

Tensor scaled(const Tensor& x, double factor) { return factor == 1 ? x : multiply(x, factor); }

/// Real input as the primitives want it.
Tensor as_real(const Tensor& x) { return converted(x, x.dtype() == DType::float64 ? DType::float64 : DType::float32); }

Tensor as_complex(const Tensor& x) { return converted(x, complex_type(x.dtype())); }

std::int64_t length_along(const Tensor& x, std::int64_t axis) { return x.shape()[static_cast<std::size_t>(axis)]; }

/// The axes and lengths of a transform over several axes.
struct Axes {
  Ints axes, lengths;

  std::int64_t count() const { return element_count(lengths); }
};

Axes axes_for(const Tensor& x, const std::optional<Ints>& s, const std::optional<Ints>& axes) {
  Axes result;
  if (axes) {
    result.axes = ordered_axes_of(x, *axes);
  } else {
    const std::int64_t count = s ? static_cast<std::int64_t>(s->size()) : x.rank();
    if (count > x.rank()) fail<ValueError>("{} lengths for {}, which has {} axes", count, type_of(x), x.rank());
    for (std::int64_t i = x.rank() - count; i < x.rank(); ++i) result.axes.push_back(i);
  }
  if (s && s->size() != result.axes.size()) fail<ValueError>("{} lengths for {} axes", s->size(), result.axes.size());
  for (std::size_t i = 0; i < result.axes.size(); ++i) {
    const std::int64_t whole = length_along(x, result.axes[i]);
    result.lengths.push_back(s && (*s)[i] != -1 ? (*s)[i] : whole);
  }
  return result;
}

Tensor transformed(Tensor x, const Axes& over, bool inverse) {
  for (std::size_t i = over.axes.size(); i-- > 0;) {
    x = prim::fft_c2c(with_length(x, over.axes[i], over.lengths[i]), over.axes[i], inverse);
  }
  return x;
}

/// All axes but the last.
Axes but_last(Axes over) {
  over.axes.pop_back();
  over.lengths.pop_back();
  return over;
}

void require_axes(const Axes& over, const Tensor& x) {
  if (over.axes.empty()) fail<ValueError>("at least one axis of {} must be transformed", type_of(x));
}

Tensor one_axis(const Tensor& x, std::optional<std::int64_t> n, std::int64_t axis, std::string_view norm,
                bool inverse) {
  const std::int64_t at = axis_of(x, axis);
  const std::int64_t length = n.value_or(length_along(x, at));
  return scaled(prim::fft_c2c(with_length(as_complex(x), at, length), at, inverse), factor_of(norm, length, inverse));
}

Tensor real_to_half(const Tensor& x, std::optional<std::int64_t> n, std::int64_t axis,
                    double (*factor)(std::string_view, std::int64_t), std::string_view norm) {
  const std::int64_t at = axis_of(x, axis);
  const std::int64_t length = n.value_or(length_along(x, at));
  return scaled(prim::fft_r2c(with_length(as_real(x), at, length), at), factor(norm, length));
}

Tensor half_to_real(const Tensor& x, std::optional<std::int64_t> n, std::int64_t axis,
                    double (*factor)(std::string_view, std::int64_t), std::string_view norm) {
  const std::int64_t at = axis_of(x, axis);
  const std::int64_t length = n.value_or(2 * (length_along(x, at) - 1));
  if (length < 1)
    fail<ValueError>("a transform needs at least one element, got length {} along axis {} of {}", length, axis,
                     type_of(x));
  const Tensor half = with_length(as_complex(x), at, length / 2 + 1);
  return scaled(prim::fft_c2r(half, at, length), factor(norm, length));
}

double forward_factor(std::string_view norm, std::int64_t count) { return factor_of(norm, count, false); }
double inverse_factor(std::string_view norm, std::int64_t count) { return factor_of(norm, count, true); }

Tensor frequencies(std::int64_t n, bool half, double d, std::optional<DType> dtype, std::optional<Device> device) {
  if (n < 1) fail<ValueError>("the length must be at least 1, got {}", n);
  if (d == 0) fail<ValueError>("the sample distance cannot be zero");
  const DType result = dtype.value_or(kDefaultFloat);
  if (!is_floating(result)) fail<DTypeError>("frequencies have a floating dtype, not {}", result);
  const Tensor position = counting(half ? n / 2 + 1 : n, device ? *device : Device());
  // In the full list the second half is negative.
  const Tensor frequency =
      half ? position : where(greater_equal(position, (n + 1) / 2), subtract(position, n), position);
  return converted(divide(converted(frequency, DType::float64), static_cast<double>(n) * d), result);
}

Tensor shifted(const Tensor& x, const std::optional<Ints>& axes, bool inverse) {
  const Ints along_axes = axes_of(x, axes);
  Ints shifts;
  for (const std::int64_t axis : along_axes) {
    const std::int64_t extent = length_along(x, axis);
    shifts.push_back(inverse ? -(extent / 2) : extent / 2);
  }
  return along_axes.empty() ? x : lento::roll(x, shifts, along_axes);
}

}  // namespace

Tensor fft(const Tensor& x, std::optional<std::int64_t> n, std::int64_t axis, std::string_view norm) {
  return one_axis(x, n, axis, norm, false);
}

Tensor ifft(const Tensor& x, std::optional<std::int64_t> n, std::int64_t axis, std::string_view norm) {
  return one_axis(x, n, axis, norm, true);
}

Tensor rfft(const Tensor& x, std::optional<std::int64_t> n, std::int64_t axis, std::string_view norm) {
  return real_to_half(x, n, axis, forward_factor, norm);
}

Tensor irfft(const Tensor& x, std::optional<std::int64_t> n, std::int64_t axis, std::string_view norm) {
  return half_to_real(x, n, axis, inverse_factor, norm);
}

// The transform of a Hermitian signal is the inverse transform of its conjugate, with the other direction's norm.
Tensor hfft(const Tensor& x, std::optional<std::int64_t> n, std::int64_t axis, std::string_view norm) {
  return half_to_real(conj(as_complex(x)), n, axis, forward_factor, norm);
}

Tensor ihfft(const Tensor& x, std::optional<std::int64_t> n, std::int64_t axis, std::string_view norm) {
  return conj(real_to_half(x, n, axis, inverse_factor, norm));
}

Tensor fftn(const Tensor& x, const std::optional<Ints>& s, const std::optional<Ints>& axes, std::string_view norm) {
  const Axes over = axes_for(x, s, axes);
  return scaled(transformed(as_complex(x), over, false), factor_of(norm, over.count(), false));
}

Tensor ifftn(const Tensor& x, const std::optional<Ints>& s, const std::optional<Ints>& axes, std::string_view norm) {
  const Axes over = axes_for(x, s, axes);
  return scaled(transformed(as_complex(x), over, true), factor_of(norm, over.count(), true));
}

Tensor rfftn(const Tensor& x, const std::optional<Ints>& s, const std::optional<Ints>& axes, std::string_view norm) {
  const Axes over = axes_for(x, s, axes);
  require_axes(over, x);
  const std::int64_t last = over.axes.back();
  const Tensor half = prim::fft_r2c(with_length(as_real(x), last, over.lengths.back()), last);
  return scaled(transformed(half, but_last(over), false), factor_of(norm, over.count(), false));
}

Tensor irfftn(const Tensor& x, const std::optional<Ints>& s, const std::optional<Ints>& axes, std::string_view norm) {
  Axes over = axes_for(x, s, axes);
  require_axes(over, x);
  const std::int64_t last = over.axes.back();
  if (!s || s->back() == -1) over.lengths.back() = 2 * (length_along(x, last) - 1);
  const std::int64_t length = over.lengths.back();
  if (length < 1)
    fail<ValueError>("a transform needs at least one element, got length {} along axis {} of {}", length, last,
                     type_of(x));
  const Tensor half = with_length(transformed(as_complex(x), but_last(over), true), last, length / 2 + 1);
  return scaled(prim::fft_c2r(half, last, length), factor_of(norm, over.count(), true));
}

Tensor fftfreq(std::int64_t n, double d, std::optional<DType> dtype, std::optional<Device> device) {
  return frequencies(n, false, d, dtype, device);
}

Tensor rfftfreq(std::int64_t n, double d, std::optional<DType> dtype, std::optional<Device> device) {
  return frequencies(n, true, d, dtype, device);
}

Tensor fftshift(const Tensor& x, const std::optional<Ints>& axes) { return shifted(x, axes, false); }

Tensor ifftshift(const Tensor& x, const std::optional<Ints>& axes) { return shifted(x, axes, true); }

}  // namespace lento::composite
