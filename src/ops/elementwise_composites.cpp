// Elementwise composites that are more than one expression (ops/elementwise_composites.yaml).
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/elementwise_composites.calls.gen.h"

#include <limits>
#include <numbers>

namespace lento::composite {

namespace {

/// The larger or smaller of two; the other one where one is nan.
Tensor extreme_ignoring_nan(const Operand& x1, const Operand& x2, bool largest) {
  const Tensor a = as_tensor_beside(x1, x2);
  const Tensor b = as_tensor_like(x2, a);
  Tensor chosen = largest ? maximum(a, b) : minimum(a, b);
  if (!is_floating(chosen.dtype())) return chosen;
  return where(isnan(a), b, where(isnan(b), a, chosen));
}

double largest_of(DType dtype) {
  switch (real_type(dtype)) {
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return 0x1.fep127;
    case DType::float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

Tensor finite_parts(const Tensor& x, const Scalar& nan, const std::optional<Scalar>& posinf,
                    const std::optional<Scalar>& neginf) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double limit = largest_of(x.dtype());
  const Tensor without_nan = where(isnan(x), nan, x);
  const Tensor bounded = where(equal(x, infinity), posinf.value_or(limit), without_nan);
  return where(equal(x, -infinity), neginf.value_or(-limit), bounded);
}

}  // namespace

Tensor clip(const Tensor& x, const std::optional<Operand>& min, const std::optional<Operand>& max) {
  Tensor result = x;
  if (min) result = maximum(result, *min);
  if (max) result = minimum(result, *max);
  return result;
}

ModfResult modf(const Tensor& x) {
  const Tensor whole = trunc(x);
  // inf - inf would be nan; the fraction of an infinite number is a zero with its sign.
  const Tensor fraction = copysign(where(isinf(x), 0, subtract(x, whole)), x);
  return {where(isnan(x), x, fraction), whole};
}

DivmodResult divmod(const Operand& x1, const Operand& x2) { return {floor_divide(x1, x2), remainder(x1, x2)}; }

Tensor isreal(const Tensor& x) {
  if (is_complex(x.dtype())) return equal(imag(x), 0);
  return number_tensor(true, DType::bool_, x.device(), x.shape());
}

Tensor fmax(const Operand& x1, const Operand& x2) { return extreme_ignoring_nan(x1, x2, true); }

Tensor fmin(const Operand& x1, const Operand& x2) { return extreme_ignoring_nan(x1, x2, false); }

Tensor float_power(const Operand& x1, const Operand& x2) {
  const auto complex = [](const Operand& x) {
    return x.is_tensor() ? is_complex(x.tensor().dtype()) : x.scalar().is_complex();
  };
  const DType dtype = complex(x1) || complex(x2) ? DType::complex128 : DType::float64;
  const Device device = x1.is_tensor() ? x1.tensor().device() : x2.is_tensor() ? x2.tensor().device() : Device();
  return lento::pow(as_tensor(x1, dtype, device), as_tensor(x2, dtype, device));
}

Tensor nan_to_num(const Tensor& x, const Scalar& nan, const std::optional<Scalar>& posinf,
                  const std::optional<Scalar>& neginf) {
  if (is_complex(x.dtype()))
    return complex(finite_parts(real(x), nan, posinf, neginf), finite_parts(imag(x), nan, posinf, neginf));
  return is_floating(x.dtype()) ? finite_parts(x, nan, posinf, neginf) : x;
}

Tensor angle(const Tensor& given) {
  if (is_complex(given.dtype())) return atan2(imag(given), real(given));
  const Tensor x = to_float(given);
  return where(isnan(x), x, where(less(x, 0), std::numbers::pi, number_tensor(0, x.dtype(), x.device())));
}

Tensor divide_rounded(const Operand& x1, const Operand& x2, std::string_view rounding_mode) {
  if (rounding_mode == "none") return divide(x1, x2);
  if (rounding_mode == "floor") return floor_divide(x1, x2);
  const Tensor a = as_tensor_beside(x1, x2);
  const Tensor b = as_tensor_like(x2, a);
  if (!is_integer(promote(a.dtype(), b.dtype()))) return trunc(divide(a, b));
  // Rounding down and towards zero differ by one where the signs differ and something is left over.
  const Tensor down = floor_divide(a, b);
  const Tensor inexact = not_equal(remainder(a, b), 0);
  const Tensor negative_result = not_equal(less(a, 0), less(b, 0));
  return add(down, converted(bitwise_and(inexact, negative_result), down.dtype()));
}

Tensor pow(const Operand& x1, const Operand& x2) {
  if (!x1.is_tensor() || x2.is_tensor() || x2.scalar().is_complex()) return prim::general_pow(x1, x2);
  const Tensor& x = x1.tensor();
  const double exponent = x2.scalar().to<double>();
  if (exponent == 1) return x;
  if (exponent == 2) return multiply(x, x);
  if (exponent == 3) return multiply(multiply(x, x), x);
  if (exponent == 4) {
    const Tensor square = multiply(x, x);
    return multiply(square, square);
  }
  if (exponent == -1 && !is_integer(x.dtype())) return divide(1, x);
  if (exponent == 0.5 && is_floating(x.dtype())) {
    // pow and sqrt differ for -inf (inf against nan) and -0 (0 against -0).
    const double infinity = std::numeric_limits<double>::infinity();
    return where(equal(x, -infinity), infinity, add(sqrt(x), 0.0));
  }
  return prim::general_pow(x1, x2);
}

}  // namespace lento::composite
