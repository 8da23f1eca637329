// Densities and probabilities (ops/stats_continuous.yaml and ops/stats_discrete.yaml). Each family has one function for
// the logarithm in the type that is computed in; what is public rounds it, or its exponential, once.
#include "base/fail.h"
#include "ops/activations.h"
#include "ops/composite_helpers.h"
#include "ops/stats.calls.gen.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace lento::composite {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kLogTwoPi = std::log(2 * std::numbers::pi);

/// A parameter in the type that is computed in.
Tensor wide(const Operand& parameter, const Tensor& x) {
  return as_tensor(parameter, wide_type(x.dtype()), x.device());
}

/// `x` as a number of scales from the location.
struct Standard {
  Tensor y;
  Tensor log_scale;
};
Standard standardized(const Tensor& x, const Operand& loc, const Operand& scale) {
  const Tensor unit = wide(scale, x);
  return {divide(subtract(widen(x), wide(loc, x)), unit), log(unit)};
}

/// `density(y)` where y can lie, and -inf elsewhere; there it sees `instead`, so that its derivative is a number.
template <class Density>
Tensor within(const Tensor& possible, const Tensor& y, double instead, const Density& density) {
  const Tensor value = where(possible, density(where(possible, y, instead)), -kInfinity);
  return where(isnan(y), y, value);
}

Tensor rounded(const Tensor& value, const Tensor& x) { return converted(value, x.dtype()); }
Tensor rounded_exp(const Tensor& logarithm, const Tensor& x) { return converted(exp(logarithm), x.dtype()); }

bool is_whole_type(const Tensor& k) { return !is_floating(k.dtype()); }
/// Whether k is 0, 1, 2, …
Tensor is_count(const Tensor& k) { return bitwise_and(greater_equal(k, 0), equal(k, floor(k))); }

Tensor log_norm(const Tensor& x, const Operand& loc, const Operand& scale) {
  const auto [y, log_scale] = standardized(x, loc, scale);
  return subtract(multiply(add(multiply(y, y), kLogTwoPi), -0.5), log_scale);
}

Tensor log_uniform(const Tensor& x, const Operand& loc, const Operand& scale) {
  const auto [y, log_scale] = standardized(x, loc, scale);
  const Tensor possible = bitwise_and(greater_equal(y, 0), less_equal(y, 1));
  return within(possible, y, 0, [&](const Tensor& /*inside*/) { return negative(log_scale); });
}

Tensor log_expon(const Tensor& x, const Operand& loc, const Operand& scale) {
  const auto [y, log_scale] = standardized(x, loc, scale);
  return within(greater_equal(y, 0), y, 0, [&](const Tensor& z) { return subtract(negative(z), log_scale); });
}

Tensor log_laplace(const Tensor& x, const Operand& loc, const Operand& scale) {
  const auto [y, log_scale] = standardized(x, loc, scale);
  return subtract(negative(abs(y)), add(log_scale, std::numbers::ln2));
}

Tensor log_logistic(const Tensor& x, const Operand& loc, const Operand& scale) {
  const auto [y, log_scale] = standardized(x, loc, scale);
  return subtract(add(log_of_sigmoid(y), log_of_sigmoid(negative(y))), log_scale);
}

Tensor log_cauchy(const Tensor& x, const Operand& loc, const Operand& scale) {
  const auto [y, log_scale] = standardized(x, loc, scale);
  return subtract(-std::log(std::numbers::pi), add(log1p(multiply(y, y)), log_scale));
}

Tensor log_gamma(const Tensor& x, const Operand& a, const Operand& loc, const Operand& scale) {
  const auto [y, log_scale] = standardized(x, loc, scale);
  const Tensor shape = wide(a, x);
  const Tensor constant = add(lgamma(shape), log_scale);
  const Tensor possible = bitwise_and(greater_equal(y, 0), less(y, kInfinity));
  return within(possible, y, 1, [&](const Tensor& z) {
    return subtract(subtract(special::xlogy(subtract(shape, 1), z), z), constant);
  });
}

Tensor log_beta(const Tensor& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  const auto [y, log_scale] = standardized(x, loc, scale);
  const Tensor left = wide(a, x);
  const Tensor right = wide(b, x);
  const Tensor constant = add(special::betaln(left, right), log_scale);
  const Tensor possible = bitwise_and(greater_equal(y, 0), less_equal(y, 1));
  return within(possible, y, 0.5, [&](const Tensor& z) {
    const Tensor powers = add(special::xlogy(subtract(left, 1), z), special::xlog1py(subtract(right, 1), negative(z)));
    return subtract(powers, constant);
  });
}

Tensor log_t(const Tensor& x, const Operand& df, const Operand& loc, const Operand& scale) {
  const auto [y, log_scale] = standardized(x, loc, scale);
  const Tensor freedom = wide(df, x);
  const Tensor half = multiply(add(freedom, 1), 0.5);
  const Tensor gammas = subtract(lgamma(half), lgamma(multiply(freedom, 0.5)));
  const Tensor constant = subtract(gammas, add(multiply(log(multiply(freedom, std::numbers::pi)), 0.5), log_scale));
  return subtract(constant, multiply(half, log1p(divide(multiply(y, y), freedom))));
}

Tensor log_bernoulli(const Tensor& k, const Operand& p) {
  const Tensor outcome = widen(k);
  const Tensor chance = wide(p, k);
  const Tensor possible = bitwise_or(equal(outcome, 0), equal(outcome, 1));
  return within(possible, outcome, 0, [&](const Tensor& one) {
    return add(special::xlogy(one, chance), special::xlog1py(subtract(1, one), negative(chance)));
  });
}

Tensor log_binom(const Tensor& k, const Operand& n, const Operand& p) {
  const Tensor count = widen(k);
  const Tensor trials = wide(n, k);
  const Tensor chance = wide(p, k);
  const Tensor possible = bitwise_and(is_count(count), less_equal(count, trials));
  return within(possible, count, 0, [&](const Tensor& some) {
    const Tensor rest = subtract(trials, some);
    const Tensor ways = subtract(lgamma(add(trials, 1)), add(lgamma(add(some, 1)), lgamma(add(rest, 1))));
    return add(ways, add(special::xlogy(some, chance), special::xlog1py(rest, negative(chance))));
  });
}

Tensor log_poisson(const Tensor& k, const Operand& mu) {
  const Tensor mean = wide(mu, k);
  return within(is_count(widen(k)), widen(k), 0, [&](const Tensor& count) {
    return subtract(subtract(special::xlogy(count, mean), mean), lgamma(add(count, 1)));
  });
}

// The largest over the classes: that of k where there is one, as nothing else is above -inf.
Tensor log_categorical(const Tensor& k, const Tensor& logits) {
  if (!is_whole_type(k)) fail<DTypeError>("k must be integers, got {}", k.dtype());
  if (logits.shape().empty()) fail<ShapeError>("logits must have at least one axis");
  const Tensor classes = lento::arange(0, logits.shape().back(), 1, DType::int64, logits.device());
  const Tensor logs = nn::log_softmax(widen(logits), -1);
  const Tensor chosen = equal(with_axis(converted(k, DType::int64), -1), classes);
  return prim::reduce_max(where(chosen, logs, -kInfinity), Ints{static_cast<std::int64_t>(chosen.shape().size()) - 1},
                          false);
}

Tensor log_multivariate_normal(const Tensor& x, const Tensor& mean, const Tensor& cov) {
  const std::size_t rank = cov.shape().size();
  const std::int64_t size = x.shape().empty() ? 0 : x.shape().back();
  if (rank < 2 || cov.shape()[rank - 1] != size || cov.shape()[rank - 2] != size) {
    fail<ShapeError>("cov must be {0} by {0} for vectors of shape {1}, got shape {2}", size, x.shape(), cov.shape());
  }
  const Tensor difference = subtract(widen(x), widen(mean));
  const Tensor matrix = widen(cov);
  const Tensor factor = linalg::cholesky(multiply(add(matrix, swap_last(matrix)), 0.5));
  const Tensor log_root = lento::sum(log(lento::diagonal(factor, 0, -2, -1)), Ints{-1});
  const Tensor constant = add(log_root, 0.5 * static_cast<double>(size) * kLogTwoPi);
  Tensor squares;
  if (rank == 2) {  // one system for all vectors
    const std::int64_t count = difference.size() / std::max<std::int64_t>(size, 1);
    const Tensor columns = swap_last(reshaped(difference, Shape{count, size}));
    const Tensor solved = linalg::triangular_solve(factor, columns, false);
    Shape each = difference.shape();
    each.pop_back();
    squares = reshaped(lento::sum(multiply(solved, solved), Ints{0}), each);
  } else {
    const Tensor solved = linalg::triangular_solve(factor, with_axis(difference, -1), false);
    squares = lento::sum(multiply(solved, solved), Ints{-2, -1});
  }
  return subtract(multiply(squares, -0.5), constant);
}

Tensor log_dirichlet(const Tensor& x, const Tensor& alpha) {
  if (x.shape().empty()) fail<ShapeError>("x must have at least one axis");
  const Tensor weights = widen(alpha);
  const Tensor powers = lento::sum(special::xlogy(subtract(weights, 1), widen(x)), Ints{-1});
  const Tensor constant = subtract(lgamma(lento::sum(weights, Ints{-1})), lento::sum(lgamma(weights), Ints{-1}));
  return add(powers, constant);
}

}  // namespace

Tensor norm_logpdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded(log_norm(x, loc, scale), x);
}

Tensor norm_pdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded_exp(log_norm(x, loc, scale), x);
}

Tensor norm_cdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded(special::ndtr(standardized(x, loc, scale).y), x);
}

Tensor norm_logcdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded(special::log_ndtr(standardized(x, loc, scale).y), x);
}

Tensor norm_ppf(const Tensor& q, const Operand& loc, const Operand& scale) {
  return rounded(add(multiply(special::ndtri(widen(q)), wide(scale, q)), wide(loc, q)), q);
}

Tensor uniform_logpdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded(log_uniform(x, loc, scale), x);
}

Tensor uniform_pdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded_exp(log_uniform(x, loc, scale), x);
}

Tensor uniform_cdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  const Tensor y = standardized(x, loc, scale).y;
  return rounded(where(less(y, 0), 0.0, where(greater(y, 1), 1.0, y)), x);
}

Tensor expon_logpdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded(log_expon(x, loc, scale), x);
}

Tensor expon_pdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded_exp(log_expon(x, loc, scale), x);
}

Tensor expon_cdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  const Tensor y = standardized(x, loc, scale).y;
  return rounded(negative(expm1(negative(where(less(y, 0), 0, y)))), x);
}

Tensor laplace_logpdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded(log_laplace(x, loc, scale), x);
}

Tensor laplace_pdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded_exp(log_laplace(x, loc, scale), x);
}

// Each branch sees only what it is good for. Not the absolute value, which has the derivative 0 at 0.
Tensor laplace_cdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  const Tensor y = standardized(x, loc, scale).y;
  const Tensor below = less(y, 0);
  const Tensor left = multiply(exp(where(below, y, 0)), 0.5);
  const Tensor right = subtract(1, multiply(exp(negative(where(below, 0, y))), 0.5));
  return rounded(where(below, left, right), x);
}

Tensor logistic_logpdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded(log_logistic(x, loc, scale), x);
}

Tensor logistic_pdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded_exp(log_logistic(x, loc, scale), x);
}

Tensor logistic_cdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded(lento::sigmoid(standardized(x, loc, scale).y), x);
}

Tensor cauchy_logpdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded(log_cauchy(x, loc, scale), x);
}

Tensor cauchy_pdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  return rounded_exp(log_cauchy(x, loc, scale), x);
}

Tensor cauchy_cdf(const Tensor& x, const Operand& loc, const Operand& scale) {
  const Tensor angle = atan(standardized(x, loc, scale).y);
  return rounded(add(multiply(angle, std::numbers::inv_pi), 0.5), x);
}

Tensor gamma_logpdf(const Tensor& x, const Operand& a, const Operand& loc, const Operand& scale) {
  return rounded(log_gamma(x, a, loc, scale), x);
}

Tensor gamma_pdf(const Tensor& x, const Operand& a, const Operand& loc, const Operand& scale) {
  return rounded_exp(log_gamma(x, a, loc, scale), x);
}

Tensor beta_logpdf(const Tensor& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return rounded(log_beta(x, a, b, loc, scale), x);
}

Tensor beta_pdf(const Tensor& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return rounded_exp(log_beta(x, a, b, loc, scale), x);
}

Tensor t_logpdf(const Tensor& x, const Operand& df, const Operand& loc, const Operand& scale) {
  return rounded(log_t(x, df, loc, scale), x);
}

Tensor t_pdf(const Tensor& x, const Operand& df, const Operand& loc, const Operand& scale) {
  return rounded_exp(log_t(x, df, loc, scale), x);
}

Tensor bernoulli_logpmf(const Tensor& k, const Operand& p) { return rounded(log_bernoulli(k, p), k); }

Tensor bernoulli_pmf(const Tensor& k, const Operand& p) { return rounded_exp(log_bernoulli(k, p), k); }

Tensor bernoulli_cdf(const Tensor& k, const Operand& p) {
  const Tensor outcome = widen(k);
  return rounded(where(less(outcome, 0), 0.0, where(less(outcome, 1), subtract(1, wide(p, k)), 1.0)), k);
}

Tensor binom_logpmf(const Tensor& k, const Operand& n, const Operand& p) { return rounded(log_binom(k, n, p), k); }

Tensor binom_pmf(const Tensor& k, const Operand& n, const Operand& p) { return rounded_exp(log_binom(k, n, p), k); }

Tensor poisson_logpmf(const Tensor& k, const Operand& mu) { return rounded(log_poisson(k, mu), k); }

Tensor poisson_pmf(const Tensor& k, const Operand& mu) { return rounded_exp(log_poisson(k, mu), k); }

Tensor categorical_logpmf(const Tensor& k, const Tensor& logits) { return rounded(log_categorical(k, logits), logits); }

Tensor categorical_pmf(const Tensor& k, const Tensor& logits) {
  return rounded_exp(log_categorical(k, logits), logits);
}

Tensor multivariate_normal_logpdf(const Tensor& x, const Tensor& mean, const Tensor& cov) {
  return rounded(log_multivariate_normal(x, mean, cov), x);
}

Tensor multivariate_normal_pdf(const Tensor& x, const Tensor& mean, const Tensor& cov) {
  return rounded_exp(log_multivariate_normal(x, mean, cov), x);
}

Tensor dirichlet_logpdf(const Tensor& x, const Tensor& alpha) { return rounded(log_dirichlet(x, alpha), x); }

Tensor dirichlet_pdf(const Tensor& x, const Tensor& alpha) { return rounded_exp(log_dirichlet(x, alpha), x); }

}  // namespace lento::composite
