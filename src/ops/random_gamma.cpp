// Gamma numbers and what is made of them (ops/random.yaml).
#include <lento/differentiation.h>

#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/random_common.h"
#include "ops/random_gamma.calls.gen.h"

#include <cmath>
#include <limits>

namespace lento::composite {

using namespace random_detail;

namespace {

/// A gamma number is `value * exp(log_boost)`. For a small alpha that underflows, but its logarithm does not.
struct StandardGamma {
  Tensor value;
  Tensor log_boost;

  Tensor logarithm() const { return add(log(value), log_boost); }
};

/// How a gamma number z with shape parameter s from 1 on changes with s at a fixed probability: minus the derivative of
/// P(Z <= z) by s, over the density at z. That is the integral of (t / z)^(s - 1) exp(z - t) (log t - digamma(s)) over
/// all t above z, or its negative over all below, by the trapezoidal rule for t = z exp(± y), y = width exp(v -
/// exp(-v)). It is right to 1e-4, for z out to the quantiles of 1e-6.
Tensor gamma_slope(const Tensor& shape, const Tensor& value) {
  constexpr int kPoints = 28;
  constexpr double kFirst = -2.4;
  constexpr double kStep = 0.2;
  const Tensor s = converted(shape, DType::float64);
  const Tensor z = maximum(converted(value, DType::float64), std::numeric_limits<double>::min());
  const Tensor offset = subtract(log(z), digamma(s));
  const Tensor side = stop_gradient(where(greater(z, s), 1.0, lento::full_like(z, -1.0)));
  const Tensor apart = abs(subtract(s, z));
  const Tensor width = stop_gradient(divide(2, add(apart, sqrt(add(multiply(apart, apart), multiply(z, 2))))));
  Tensor sum;
  for (int i = 0; i < kPoints; ++i) {
    const double v = kFirst + kStep * i;
    const double r = std::exp(v - std::exp(-v));
    const Tensor y = multiply(multiply(side, width), r);
    const Tensor density = exp(subtract(multiply(s, y), multiply(z, expm1(y))));
    const Tensor term = multiply(multiply(density, add(offset, y)), kStep * r * (1 + std::exp(-v)));
    sum = i == 0 ? term : add(sum, term);
  }
  return converted(multiply(multiply(multiply(side, width), z), sum), value.dtype());
}

/// Marsaglia and Tsang (2000). For alpha below 1 a variable of alpha + 1 is multiplied by u^(1 / alpha).
StandardGamma standard_gamma(const Tensor& a, const Target& target) {
  constexpr std::int64_t kCandidates = 8;
  const Tensor small = less(a, 1);
  Target many = target;
  many.shape.insert(0, kCandidates);
  const Tensor x = standard_normal(many);
  const Tensor log_u = log(open_unit(many));
  const auto draw = [&](const std::vector<Tensor>& inputs) {
    const Tensor d = subtract(inputs[0], 1.0 / 3);
    const Tensor base = add(multiply(x, rsqrt(multiply(d, 9))), 1);
    const Tensor v = multiply(multiply(base, base), base);
    const Tensor positive = greater(base, 0);
    const Tensor bound =
        add(multiply(multiply(x, x), 0.5), multiply(subtract(add(log(where(positive, v, 1.0)), 1), v), d));
    const Tensor chosen = prim::arg_max(bitwise_and(positive, less(log_u, bound)), 0, true);
    return std::vector{multiply(drop_axis(prim::take_along_axis(maximum(v, 0), chosen, 0), 0), d)};
  };
  // Not that of the formula, which does not know that another candidate may be accepted.
  const auto slope = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                        const std::vector<Tensor>& cotangents) {
    return std::vector{multiply(cotangents[0], gamma_slope(inputs[0], outputs[0]))};
  };
  const Tensor value = custom_gradient(draw, slope, {where(small, add(a, 1), a)})[0];
  return {value, where(small, divide(log(open_unit(target)), a), 0.0)};
}

}  // namespace

Tensor gamma(const Ints& shape, const Operand& alpha, const Operand& scale, std::optional<DType> dtype,
             std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&alpha, &scale}, kFloating);
  check_not_negative("alpha", alpha);
  check_not_negative("scale", scale);
  const auto [value, log_boost] = standard_gamma(parameter(alpha, target), target);
  return converted(multiply(multiply(value, exp(log_boost)), scale), target.dtype);
}

// x / (x + y) of two gamma numbers, by the logarithms of both, so that neither underflows.
Tensor beta(const Ints& shape, const Operand& a, const Operand& b, std::optional<DType> dtype,
            std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype, device, generator, {&a, &b}, kFloating);
  check_not_negative("a", a);
  check_not_negative("b", b);
  const Tensor x = standard_gamma(parameter(a, target), target).logarithm();
  const Tensor y = standard_gamma(parameter(b, target), target).logarithm();
  return converted(sigmoid(subtract(x, y)), target.dtype);
}

Tensor dirichlet(const Tensor& alpha, const Ints& shape, Generator* generator) {
  if (alpha.shape().empty()) fail<ShapeError>("alpha must have at least one axis");
  Shape draws(shape);
  draws.append(alpha.shape());
  const Operand weights(alpha);
  const Target target = resolve(draws, alpha.dtype(), alpha.device(), generator, {&weights}, kFloating);
  const Tensor logarithms = standard_gamma(parameter(weights, target), target).logarithm();
  return converted(nn::softmax(logarithms, -1), alpha.dtype());
}

}  // namespace lento::composite
