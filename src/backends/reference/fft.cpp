// Discrete Fourier transforms by their definition, y[k] = sum over j of x[j] w^(j k), in double precision. An even
// length is split into two transforms of half the length, which is the same sum in another order; an odd one is summed
// up.
#include "backends/reference/array.h"
#include "backends/reference/convert.h"
#include "base/dispatch.h"
#include "ir/attrs_fft.gen.h"
#include "reference/kernels_fft.gen.h"

#include <cmath>
#include <numbers>
#include <vector>

namespace lento::reference {

namespace {

using Number = std::complex<double>;

/// exp(sign * 2 pi i k / n) for k = 0 … n - 1. The angle is reduced to an eighth of the circle first, so that the axes
/// and diagonals are exact and every entry is right to the last bit or so.
std::vector<Number> roots_of_unity(std::int64_t n, int sign) {
  std::vector<Number> roots;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t eighths = 8 * k / n;   // which eighth of the circle
    std::int64_t rest = 8 * k - eighths * n;  // how far into it, in units of 1 / (8 n) of the circle
    if (eighths % 2 != 0) rest = n - rest;    // odd eighths are measured from their end
    const double angle = std::numbers::pi / 4 * static_cast<double>(rest) / static_cast<double>(n);
    double c = std::cos(angle);
    double s = std::sin(angle);
    if (eighths % 4 == 1 || eighths % 4 == 2) std::swap(c, s);
    if (eighths >= 2 && eighths < 6) c = -c;
    if (eighths >= 4) s = -s;
    roots.emplace_back(c, sign * s);
  }
  return roots;
}

/// y[0 … n) = the transform of x[0], x[step], …, x[(n - 1) step]. `roots` has n * step entries.
void transform(std::int64_t n, const Number* x, std::int64_t step, Number* y, const std::vector<Number>& roots) {
  if (n % 2 == 0) {
    const std::int64_t half = n / 2;
    transform(half, x, 2 * step, y, roots);
    transform(half, x + step, 2 * step, y + half, roots);
    for (std::int64_t k = 0; k < half; ++k) {
      const Number even = y[k];
      const Number odd = math::multiply(y[half + k], roots[static_cast<std::size_t>(k * step)]);
      y[k] = even + odd;
      y[half + k] = even - odd;
    }
    return;
  }
  for (std::int64_t k = 0; k < n; ++k) {
    Number sum = 0;
    for (std::int64_t j = 0; j < n; ++j)
      sum += math::multiply(x[j * step], roots[static_cast<std::size_t>(j * k % n * step)]);
    y[k] = sum;
  }
}

/// Transforms each line of length `size`: `read(o, i, line)` fills it, `write(o, i, line)` takes the result.
template <class Read, class Write>
void for_each_line(const AxisView& view, std::int64_t size, bool inverse, Read read, Write write) {
  const std::vector<Number> roots = roots_of_unity(size, inverse ? 1 : -1);
  std::vector<Number> line(static_cast<std::size_t>(size));
  std::vector<Number> result(static_cast<std::size_t>(size));
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      read(o, i, line.data());
      transform(size, line.data(), 1, result.data(), roots);
      write(o, i, result.data());
    }
  }
}

template <class F>
void dispatch_complex(DType dtype, F f) {
  dtype == DType::complex64 ? f.template operator()<std::complex<float>>()
                            : f.template operator()<std::complex<double>>();
}

}  // namespace

void fft_c2c(const Array& out, const Array& x, const FftC2cAttrs& attrs) {
  const AxisView view(x.shape(), attrs.axis);
  dispatch_complex(x.dtype(), [&]<class T>() {
    const auto read = [&](std::int64_t o, std::int64_t i, Number* line) {
      for (std::int64_t k = 0; k < view.extent; ++k) line[k] = Number(x.as<T>()[view.start(o, i) + k * view.inner]);
    };
    const auto write = [&](std::int64_t o, std::int64_t i, const Number* line) {
      for (std::int64_t k = 0; k < view.extent; ++k) out.as<T>()[view.start(o, i) + k * view.inner] = T(line[k]);
    };
    for_each_line(view, view.extent, attrs.inverse, read, write);
  });
}

void fft_r2c(const Array& out, const Array& x, const FftR2cAttrs& attrs) {
  const AxisView from(x.shape(), attrs.axis);
  const AxisView to(out.shape(), attrs.axis);
  dispatch(x.dtype(), [&]<class T>() {
    const auto read = [&](std::int64_t o, std::int64_t i, Number* line) {
      for (std::int64_t k = 0; k < from.extent; ++k)
        line[k] = convert<Number>(x.as<T>()[from.start(o, i) + k * from.inner]);
    };
    dispatch_complex(out.dtype(), [&]<class C>() {
      const auto write = [&](std::int64_t o, std::int64_t i, const Number* line) {
        for (std::int64_t k = 0; k < to.extent; ++k) out.as<C>()[to.start(o, i) + k * to.inner] = C(line[k]);
      };
      for_each_line(from, from.extent, false, read, write);
    });
  });
}

void fft_c2r(const Array& out, const Array& x, const FftC2rAttrs& attrs) {
  const AxisView from(x.shape(), attrs.axis);
  const AxisView to(out.shape(), attrs.axis);
  const std::int64_t n = attrs.size;
  dispatch_complex(x.dtype(), [&]<class T>() {
    const auto read = [&](std::int64_t o, std::int64_t i, Number* line) {
      for (std::int64_t k = 0; k <= n / 2; ++k) {
        const Number element(x.as<T>()[from.start(o, i) + k * from.inner]);
        const bool own_mirror_image = k == 0 || 2 * k == n;
        line[k] = own_mirror_image ? Number(element.real()) : element;
        if (!own_mirror_image) line[n - k] = std::conj(element);
      }
    };
    const auto write = [&](std::int64_t o, std::int64_t i, const Number* line) {
      using Real = typename T::value_type;
      for (std::int64_t k = 0; k < n; ++k)
        out.as<Real>()[to.start(o, i) + k * to.inner] = static_cast<Real>(line[k].real());
    };
    for_each_line(from, n, true, read, write);
  });
}

}  // namespace lento::reference
