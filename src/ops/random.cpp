// Continuous distributions (ops/random.yaml), each a transformation of uniform numbers. What is made of gamma numbers
// is in random_gamma.cpp, counts in random_counts.cpp, choices and integers in random_choice.cpp.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/random.calls.gen.h"
#include "ops/random_common.h"

#include <cmath>
#include <numbers>

namespace lento::composite {

using namespace random_detail;

namespace {

/// log(u) of a uniform u in (0, 1), negated: exponential, never 0.
Tensor positive_exponential(const Target& target) { return negative(log(open_unit(target))); }

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
  check_not_negative("scale", scale);
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
  check_not_negative("scale", scale);
  return converted(multiply(negative(log1p(negative(unit(target)))), scale), target.dtype);
}

Tensor laplace(const Ints& shape, const Operand& loc, const Operand& scale, std::optional<DType> dtype,
               std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&loc, &scale}, kFloating);
  check_not_negative("scale", scale);
  const Tensor v = open_symmetric(target);
  return affine(negative(multiply(sign(v), log1p(negative(abs(v))))), scale, loc, target);
}

Tensor logistic(const Ints& shape, const Operand& loc, const Operand& scale, std::optional<DType> dtype,
                std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&loc, &scale}, kFloating);
  check_not_negative("scale", scale);
  const Tensor u = open_unit(target);
  return affine(subtract(log(u), log1p(negative(u))), scale, loc, target);
}

Tensor gumbel(const Ints& shape, const Operand& loc, const Operand& scale, std::optional<DType> dtype,
              std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&loc, &scale}, kFloating);
  check_not_negative("scale", scale);
  return affine(negative(log(positive_exponential(target))), scale, loc, target);
}

Tensor cauchy(const Ints& shape, const Operand& loc, const Operand& scale, std::optional<DType> dtype,
              std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&loc, &scale}, kFloating);
  check_not_negative("scale", scale);
  return affine(tan(multiply(open_symmetric(target), std::numbers::pi / 2)), scale, loc, target);
}

Tensor lognormal(const Ints& shape, const Operand& mean, const Operand& sigma, std::optional<DType> dtype,
                 std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&mean, &sigma}, kFloating);
  check_not_negative("sigma", sigma);
  return converted(exp(add(multiply(standard_normal(target), sigma), mean)), target.dtype);
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

Tensor multivariate_normal(const Tensor& mean, const Tensor& cov, const Ints& shape, Generator* generator) {
  const std::size_t rank = cov.shape().size();
  if (mean.shape().empty()) fail<ShapeError>("mean must have at least one axis");
  const std::int64_t size = mean.shape().back();
  if (rank < 2 || cov.shape()[rank - 1] != size || cov.shape()[rank - 2] != size) {
    fail<ShapeError>("cov must be {0} by {0} for a mean of shape {1}, got shape {2}", size, mean.shape(), cov.shape());
  }
  Shape rows_of_cov = cov.shape();
  rows_of_cov.pop_back();
  const Shape each = broadcast(rows_of_cov, mean.shape());
  Shape draws(shape);
  draws.append(each);
  const Tensor factor = swap_last(linalg::cholesky(widen(cov)));
  const Target target = resolve(draws, factor.dtype(), mean.device(), generator, {}, kFloating);
  const Tensor rows = standard_normal(target);
  // One matrix for all draws is one product of matrices.
  const Tensor spread = rank == 2 && draws.size() > 1 ? lento::matmul(rows, factor)
                                                      : drop_axis(lento::matmul(with_axis(rows, -2), factor), -2);
  return converted(add(spread, widen(mean)), mean.dtype());
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
