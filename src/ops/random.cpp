// Continuous distributions (ops/random.yaml), each a transformation of uniform numbers. Choices and integers are in
// random_choice.cpp.
#include "base/fail.h"
#include "ops/neural_common.h"
#include "ops/random.calls.gen.h"
#include "ops/random_common.h"

#include <cmath>
#include <numbers>

namespace lento::composite {

using namespace neural;
using namespace chance;

namespace {

Tensor standard_normal(const Target& target) { return multiply(erfinv(open_symmetric(target)), std::numbers::sqrt2); }

/// log(u) of a uniform u in (0, 1), negated: exponential, never 0.
Tensor positive_exponential(const Target& target) { return negative(log(open_unit(target))); }

/// A parameter as a tensor of the type that is computed in, broadcast to the target's shape.
Tensor parameter(const Operand& value, const Target& target) {
  const DType dtype = wide_type(target.dtype);
  if (!value.is_tensor()) return prim::full(target.shape, value.scalar(), dtype, target.device);
  return prim::broadcast_to(cast(value.tensor(), dtype), target.shape);
}

}  // namespace

Tensor uniform(const Ints& shape, const Operand& low, const Operand& high, std::optional<DType> dtype,
               std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&low, &high}, kFloating);
  if (high.is_tensor() || low.is_tensor()) return affine(unit(target), subtract(high, low), low, target);
  return affine(unit(target), high.scalar().to<double>() - low.scalar().to<double>(), low, target);
}

Tensor normal(const Ints& shape, const Operand& loc, const Operand& scale, std::optional<DType> dtype,
              std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&loc, &scale}, kFloating | kComplex);
  if (!is_complex(target.dtype)) return affine(standard_normal(target), scale, loc, target);
  Target part = target;
  part.dtype = real_type(target.dtype);
  const Tensor real = standard_normal(part);
  const Tensor imaginary = standard_normal(part);
  return affine(multiply(complex(real, imaginary), std::numbers::sqrt2 / 2), scale, loc, target);
}

Tensor exponential(const Ints& shape, const Operand& scale, std::optional<DType> dtype, std::optional<Device> device,
                   Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&scale}, kFloating);
  return cast(multiply(negative(log1p(negative(unit(target)))), scale), target.dtype);
}

Tensor laplace(const Ints& shape, const Operand& loc, const Operand& scale, std::optional<DType> dtype,
               std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&loc, &scale}, kFloating);
  const Tensor v = open_symmetric(target);
  return affine(negative(multiply(sign(v), log1p(negative(abs(v))))), scale, loc, target);
}

Tensor logistic(const Ints& shape, const Operand& loc, const Operand& scale, std::optional<DType> dtype,
                std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&loc, &scale}, kFloating);
  const Tensor u = open_unit(target);
  return affine(subtract(log(u), log1p(negative(u))), scale, loc, target);
}

Tensor gumbel(const Ints& shape, const Operand& loc, const Operand& scale, std::optional<DType> dtype,
              std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&loc, &scale}, kFloating);
  return affine(negative(log(positive_exponential(target))), scale, loc, target);
}

Tensor cauchy(const Ints& shape, const Operand& loc, const Operand& scale, std::optional<DType> dtype,
              std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&loc, &scale}, kFloating);
  return affine(tan(multiply(open_symmetric(target), std::numbers::pi / 2)), scale, loc, target);
}

Tensor lognormal(const Ints& shape, const Operand& mean, const Operand& sigma, std::optional<DType> dtype,
                 std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&mean, &sigma}, kFloating);
  return cast(exp(add(multiply(standard_normal(target), sigma), mean)), target.dtype);
}

Tensor truncated_normal(const Ints& shape, const Scalar& low, const Scalar& high, const Scalar& loc,
                        const Scalar& scale, std::optional<DType> dtype, std::optional<Device> device,
                        Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {}, kFloating);
  if (!(low.to<double>() < high.to<double>())) fail<ValueError>("low {} must be below high {}", low, high);
  const double first = std::erf(low.to<double>() / std::numbers::sqrt2);
  const double last = std::erf(high.to<double>() / std::numbers::sqrt2);
  const Tensor v = add(multiply(open_unit(target), last - first), first);
  const Tensor inside = minimum(maximum(multiply(erfinv(v), std::numbers::sqrt2), low), high);
  return affine(inside, scale, loc, target);
}

// Marsaglia and Tsang (2000). For alpha below 1 a variable of alpha + 1 is multiplied by u^(1 / alpha).
Tensor gamma(const Ints& shape, const Operand& alpha, const Operand& scale, std::optional<DType> dtype,
             std::optional<Device> device, Generator* generator) {
  constexpr std::int64_t kCandidates = 8;
  const Target target = resolve(shape, dtype, device, generator, {&alpha, &scale}, kFloating);
  const Tensor a = parameter(alpha, target);
  const Tensor small = less(a, 1);
  const Tensor d = subtract(where(small, add(a, 1), a), 1.0 / 3);
  const Tensor c = rsqrt(multiply(d, 9));
  Target many = target;
  many.shape.insert(0, kCandidates);
  const Tensor x = standard_normal(many);
  const Tensor base = add(multiply(x, c), 1);
  const Tensor v = multiply(multiply(base, base), base);
  const Tensor positive = greater(base, 0);
  const Tensor bound =
      add(multiply(multiply(x, x), 0.5), multiply(subtract(add(log(where(positive, v, 1.0)), 1), v), d));
  const Tensor accepted = bitwise_and(positive, less(log(open_unit(many)), bound));
  const Tensor chosen = prim::arg_max(accepted, 0, true);
  const Tensor value = multiply(squeeze_axis(prim::take_along_axis(maximum(v, 0), chosen, 0), 0), d);
  const Tensor boost = where(small, exp(divide(log(open_unit(target)), a)), 1.0);
  return cast(multiply(multiply(value, boost), scale), target.dtype);
}

Tensor uniform_like(const Tensor& x, const Operand& low, const Operand& high, std::optional<DType> dtype,
                    Generator* generator) {
  return random::uniform(x.shape(), low, high, dtype.value_or(x.dtype()), x.device(), generator);
}

Tensor normal_like(const Tensor& x, const Operand& loc, const Operand& scale, std::optional<DType> dtype,
                   Generator* generator) {
  return random::normal(x.shape(), loc, scale, dtype.value_or(x.dtype()), x.device(), generator);
}

}  // namespace lento::composite
