// Random counts (ops/random.yaml): Poisson and binomial. A small mean is drawn by inversion of one uniform number, a
// large one by Hörmann's transformed rejection (1993). Both compute in float64: the result is an integer, whatever the
// type of the parameters.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/random_common.h"
#include "ops/random_counts.calls.gen.h"

#include <cmath>

namespace lento::composite {

using namespace random_detail;

namespace {

constexpr double kLargeMean = 10;  // below it Hörmann's constants are not made for
constexpr int kSteps = 37;         // a count of mean 10 is above it once in 2^33 times
constexpr std::int64_t kCandidates = 16;

Target counts_target(const Ints& shape, std::optional<DType> dtype, std::optional<Device> device, Generator* generator,
                     std::initializer_list<const Operand*> parameters) {
  if (dtype && !contains(kReal, *dtype)) fail<DTypeError>("dtype {} cannot hold counts", *dtype);
  Target target = resolve(shape, std::nullopt, device, generator, parameters, kFloating);
  target.dtype = DType::float64;
  return target;
}

/// The first k whose sum of masses from 0 on reaches a uniform number. `first` is the mass of 0, `ratio(k)` that of k
/// to that of k - 1.
template <class Ratio>
Tensor by_inversion(const Tensor& first, const Ratio& ratio, const Target& target) {
  const Tensor u = fine_unit(target);
  Tensor count = prim::full(target.shape, 0.0, DType::float64, target.device);
  Tensor mass = first;
  Tensor sum = first;
  for (int k = 1; k <= kSteps; ++k) {
    count = where(less(sum, u), static_cast<double>(k), count);
    mass = multiply(mass, ratio(k));
    sum = add(sum, mass);
  }
  return count;
}

/// What is above a mass function: the density of `(2 a / (1/2 - |u|) + b) u + center` for u uniform in (-1/2, 1/2),
/// times `height`.
struct Hat {
  Tensor a;
  Tensor b;
  Tensor center;
  Tensor log_height;
};

/// The first candidate below the hat that is not above the mass function too.
template <class LogMass>
Tensor by_rejection(const Hat& hat, const LogMass& log_mass, const Tensor* most, const Target& target) {
  Target many = target;
  many.shape.insert(0, kCandidates);
  const Tensor u = subtract(fine_unit(many), 0.5);
  const Tensor v = fine_unit(many);
  const Tensor edge = subtract(0.5, abs(u));
  const Tensor k = floor(add(multiply(add(divide(multiply(hat.a, 2), edge), hat.b), u), hat.center));
  Tensor inside = greater_equal(k, 0);
  if (most != nullptr) inside = bitwise_and(inside, less_equal(k, *most));
  const Tensor count = where(inside, k, floor(hat.center));
  const Tensor slope = log(add(divide(hat.a, multiply(edge, edge)), hat.b));
  const Tensor below = less_equal(subtract(add(log(v), hat.log_height), slope), log_mass(count));
  const Tensor chosen = prim::arg_max(bitwise_and(inside, below), 0, true);
  return drop_axis(prim::take_along_axis(count, chosen, 0), 0);
}

Tensor small_poisson(const Tensor& rate, const Target& target) {
  return by_inversion(exp(negative(rate)), [&](int k) { return multiply(rate, 1.0 / k); }, target);
}

Tensor large_poisson(const Tensor& rate, const Target& target) {
  const Tensor b = add(multiply(sqrt(rate), 2.53), 0.931);
  const Hat hat{.a = subtract(multiply(b, 0.02483), 0.059),
                .b = b,
                .center = add(rate, 0.43),
                .log_height = log(add(divide(1.1328, subtract(b, 3.4)), 1.1239))};
  const Tensor log_rate = log(rate);
  const auto log_mass = [&](const Tensor& k) {
    return subtract(subtract(multiply(k, log_rate), rate), lgamma(add(k, 1)));
  };
  return by_rejection(hat, log_mass, nullptr, target);
}

Tensor small_binomial(const Tensor& n, const Tensor& p, const Target& target) {
  const Tensor odds = divide(p, subtract(1, p));
  return by_inversion(
      exp(multiply(n, log1p(negative(p)))), [&](int k) { return multiply(multiply(add(n, 1.0 - k), 1.0 / k), odds); },
      target);
}

Tensor large_binomial(const Tensor& n, const Tensor& p, const Target& target) {
  const Tensor mean = multiply(n, p);
  const Tensor deviation = sqrt(multiply(mean, subtract(1, p)));
  const Tensor b = add(multiply(deviation, 2.53), 1.15);
  const Tensor log_odds = subtract(log(p), log1p(negative(p)));
  const auto log_mass = [&](const Tensor& k) {
    return subtract(subtract(multiply(k, log_odds), lgamma(add(k, 1))), lgamma(add(subtract(n, k), 1)));
  };
  const Tensor mode = floor(multiply(add(n, 1), p));
  const Tensor height = multiply(add(divide(5.1, b), 2.83), deviation);
  const Hat hat{.a = add(subtract(multiply(b, 0.0248), 0.0873), multiply(p, 0.01)),
                .b = b,
                .center = add(mean, 0.5),
                .log_height = add(log(height), log_mass(mode))};
  return by_rejection(hat, log_mass, &n, target);
}

/// The counts where the parameters in tensors make sense; where they do not, -1, or nan if the result can be that.
Tensor counts_where(const Tensor& valid, const Tensor& counts, DType result) {
  return converted(where(valid, counts, is_integer(result) ? -1.0 : std::nan("")), result);
}

}  // namespace

Tensor poisson(const Ints& shape, const Operand& lam, std::optional<DType> dtype, std::optional<Device> device,
               Generator* generator) {
  const Target target = counts_target(shape, dtype, device, generator, {&lam});
  const DType result = dtype.value_or(DType::int64);
  const Tensor rate = parameter(lam, target);
  if (!lam.is_tensor()) {
    const double value = lam.scalar().to<double>();
    if (!(value >= 0 && std::isfinite(value)))
      fail<ValueError>("lam must be finite and not negative, got {}", lam.scalar());
    return converted(value < kLargeMean ? small_poisson(rate, target) : large_poisson(rate, target), result);
  }
  const Tensor large = greater_equal(rate, kLargeMean);
  const Tensor few = small_poisson(where(large, 0, rate), target);
  const Tensor many = large_poisson(where(large, rate, kLargeMean), target);
  const Tensor valid = bitwise_and(greater_equal(rate, 0), isfinite(rate));
  return counts_where(valid, where(large, many, few), result);
}

Tensor binomial(const Ints& shape, const Operand& n, const Operand& p, std::optional<DType> dtype,
                std::optional<Device> device, Generator* generator) {
  const Target target = counts_target(shape, dtype, device, generator, {&n, &p});
  const DType result = dtype.value_or(DType::int64);
  if (!n.is_tensor()) {
    const double value = n.scalar().to<double>();
    if (!(value >= 0 && value == std::floor(value)) || !std::isfinite(value)) {
      fail<ValueError>("n must be a whole number that is not negative, got {}", n.scalar());
    }
  }
  if (!p.is_tensor()) {
    const double value = p.scalar().to<double>();
    if (!(value >= 0 && value <= 1)) fail<ValueError>("p must be between 0 and 1, got {}", p.scalar());
  }
  const Tensor trials = parameter(n, target);
  const Tensor success = parameter(p, target);
  // Of the rarer outcome, which the other one follows from.
  const Tensor flipped = greater(success, 0.5);
  const Tensor rare = where(flipped, subtract(1, success), success);
  const auto counted = [&](const Tensor& drawn) { return where(flipped, subtract(trials, drawn), drawn); };
  if (!n.is_tensor() && !p.is_tensor()) {
    const double probability = p.scalar().to<double>();
    const double mean = n.scalar().to<double>() * std::min(probability, 1 - probability);
    const Tensor drawn =
        mean < kLargeMean ? small_binomial(trials, rare, target) : large_binomial(trials, rare, target);
    return converted(counted(drawn), result);
  }
  const Tensor large = greater_equal(multiply(trials, rare), kLargeMean);
  const Tensor few = small_binomial(trials, where(large, 0, rare), target);
  const Tensor many = large_binomial(where(large, trials, 2 * kLargeMean), where(large, rare, 0.5), target);
  const Tensor countable = bitwise_and(greater_equal(trials, 0), equal(trials, floor(trials)));
  const Tensor likely = bitwise_and(greater_equal(success, 0), less_equal(success, 1));
  const Tensor valid = bitwise_and(bitwise_and(countable, isfinite(trials)), likely);
  return counts_where(valid, counted(where(large, many, few)), result);
}

}  // namespace lento::composite
