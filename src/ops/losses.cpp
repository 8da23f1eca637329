// Losses of one element at a time and of pairs of vectors (ops/losses.yaml). Those with classes are in
// class_losses.cpp.
#include "base/fail.h"
#include "ops/activations.h"
#include "ops/composite_helpers.h"
#include "ops/loss_reduction.h"
#include "ops/losses.calls.gen.h"

#include <cmath>
#include <numbers>

namespace lento::composite {

namespace {

/// x² / 2 of what is `inside`: the square of what is not may be infinite, and its derivative times 0 no number.
Tensor half_square(const Tensor& inside, const Tensor& x) {
  const Tensor near = where(inside, x, 0);
  return multiply(multiply(near, near), 0.5);
}

/// log(p), but not below -100, from where on it is constant.
Tensor bounded_log(const Tensor& p) {
  const Tensor below = less(log(p), -100.0);
  return where(below, -100.0, log(where(below, 1, p)));
}

Tensor weighted(const Tensor& loss, const std::optional<Tensor>& weight) {
  return weight ? multiply(loss, converted(*weight, loss.dtype())) : loss;
}

Tensor bce_with_logits(const Tensor& x, const Tensor& target, const std::optional<Tensor>& pos_weight) {
  // (1 - t) x - w log(sigmoid(x)) with w = 1 + (pos_weight - 1) t; log(sigmoid(x)) = min(x, 0) - log1p(exp(-|x|)).
  const Tensor logs = log_of_sigmoid(x);
  const Tensor linear = multiply(subtract(1, target), x);
  if (!pos_weight) return subtract(linear, logs);
  const Tensor factor = add(multiply(subtract(converted(*pos_weight, x.dtype()), 1), target), 1);
  return subtract(linear, multiply(logs, factor));
}

/// The two have one shape: broadcasting (8, 1) with (8,) would compare all with all. The message says what to write.
void check_same_shape(const Tensor& x, const Tensor& target, std::string_view first = "the input",
                      std::string_view second = "the target", std::string_view name = "target") {
  if (x.shape() == target.shape()) return;
  const auto ends_alike = [&] {
    const std::size_t lead = x.shape().size() - target.shape().size();
    for (std::size_t axis = 0; axis < target.shape().size(); ++axis) {
      if (target.shape()[axis] != 1 && target.shape()[axis] != x.shape()[lead + axis]) return false;
    }
    return true;
  };
  std::string advice;
  if (x.size() == target.size()) {
    advice = fmt::format("; write reshape({}, {}) if it has the same elements", name, x.shape());
  } else if (target.shape().size() <= x.shape().size() && ends_alike()) {
    advice = fmt::format("; write broadcast_to({}, {}) if it is to be repeated", name, x.shape());
  }
  fail<ShapeError>("{} has shape {}, but {} has shape {}{}", second, target.shape(), first, x.shape(), advice);
}

/// x - target in the wide type.
Tensor difference(const Tensor& x, const Tensor& target) {
  check_same_shape(x, target);
  return subtract(widen(x), widen(target));
}

/// `var` in the wide type. One variance for the whole last axis of `x` has 1 there, or comes without that axis.
Tensor variance_for(const Tensor& x, const Tensor& var) {
  if (var.shape() == x.shape()) return widen(var);
  if (!x.shape().empty()) {
    Shape kept = x.shape();
    kept.back() = 1;
    if (var.shape() == kept) return widen(var);
    kept.pop_back();
    if (var.shape() == kept) return with_axis(widen(var), -1);
  }
  fail<ShapeError>("var has shape {}, but the input has shape {}; it has the same, or 1 or nothing for the last axis",
                   var.shape(), x.shape());
}

}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target, std::string_view reduction) {
  const Tensor d = difference(x, target);
  return reduce_loss(multiply(d, d), parse_reduction(reduction), x.dtype());
}

Tensor l1_loss(const Tensor& x, const Tensor& target, std::string_view reduction) {
  return reduce_loss(abs(difference(x, target)), parse_reduction(reduction), x.dtype());
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, std::string_view reduction, const Scalar& beta) {
  const double b = beta.to<double>();
  if (!(b >= 0)) fail<ValueError>("beta must not be negative, got {}", beta);
  const Tensor apart = difference(x, target);
  const Tensor d = abs(apart);
  if (b == 0) return reduce_loss(d, parse_reduction(reduction), x.dtype());
  const Tensor inside = less(d, b);
  const Tensor near = divide(half_square(inside, apart), b);
  return reduce_loss(where(inside, near, subtract(d, 0.5 * b)), parse_reduction(reduction), x.dtype());
}

Tensor huber_loss(const Tensor& x, const Tensor& target, std::string_view reduction, const Scalar& delta) {
  const double limit = delta.to<double>();
  if (!(limit > 0)) fail<ValueError>("delta must be positive, got {}", delta);
  const Tensor apart = difference(x, target);
  const Tensor d = abs(apart);
  const Tensor inside = less_equal(d, limit);
  const Tensor far = multiply(subtract(d, 0.5 * limit), limit);
  return reduce_loss(where(inside, half_square(inside, apart), far), parse_reduction(reduction), x.dtype());
}

Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight,
                            std::string_view reduction) {
  check_same_shape(x, target);
  const Tensor p = widen(x);
  const Tensor t = widen(target);
  const Tensor yes = multiply(t, bounded_log(p));
  // log1p(-p) is below -100 at 1 alone; p itself would lose its last bits in 1 - p.
  const Tensor certain = equal(p, 1);
  const Tensor no = multiply(subtract(1, t), where(certain, -100.0, log1p(negative(where(certain, 0, p)))));
  return reduce_loss(weighted(negative(add(yes, no)), weight), parse_reduction(reduction), x.dtype());
}

Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight,
                                        std::string_view reduction, const std::optional<Tensor>& pos_weight) {
  check_same_shape(x, target);
  const Tensor loss = bce_with_logits(widen(x), widen(target), pos_weight);
  return reduce_loss(weighted(loss, weight), parse_reduction(reduction), x.dtype());
}

Tensor kl_div(const Tensor& x, const Tensor& target, std::string_view reduction, bool log_target) {
  check_same_shape(x, target);
  const Tensor logs = widen(x);
  const Tensor t = widen(target);
  const Tensor loss = log_target ? multiply(exp(t), subtract(t, logs))
                                 : subtract(where(equal(t, 0), 0, multiply(t, log(t))), multiply(t, logs));
  if (reduction != "batchmean") return reduce_loss(loss, parse_reduction(reduction), x.dtype());
  if (x.shape().empty()) fail<ShapeError>("reduction 'batchmean' needs a batch axis");
  const Tensor total = reduce_loss(loss, Reduction::sum, loss.dtype());
  return converted(divide(total, static_cast<double>(x.shape()[0])), x.dtype());
}

Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, const Scalar& margin,
                             std::string_view reduction) {
  constexpr double kEpsilon = 1e-12;  // keeps the cosine of a zero vector finite
  const std::size_t rank = x1.shape().size();
  if (x2.shape().size() != rank || target.shape().size() + 1 != rank) {
    fail<ShapeError>(
        "expected inputs (batch, features) with targets (batch,), or (features,) with one target; got {}, {} and {}",
        x1.shape(), x2.shape(), target.shape());
  }
  check_same_shape(x1, x2, "x1", "x2", "x2");
  const Shape batch(x1.shape().begin(), x1.shape().end() - 1);
  if (target.shape() != batch) {
    fail<ShapeError>("the target has shape {}, but x1 of shape {} needs {}", target.shape(), x1.shape(), batch);
  }
  const std::int64_t last = checked_axis(-1, rank);
  const auto dot = [&](const Tensor& a, const Tensor& b) {
    return prim::reduce_sum(multiply(a, b), Ints{last}, false);
  };
  const Tensor a = widen(x1);
  const Tensor b = widen(x2);
  const Tensor norms = sqrt(multiply(add(dot(a, a), kEpsilon), add(dot(b, b), kEpsilon)));
  const Tensor cosine = divide(dot(a, b), norms);
  const Tensor apart = where(equal(target, -1), maximum(subtract(cosine, margin), 0), 0.0);
  const Tensor loss = where(equal(target, 1), subtract(1, cosine), apart);
  return reduce_loss(loss, parse_reduction(reduction), x1.dtype());
}

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, const Scalar& margin, std::string_view reduction) {
  check_same_shape(x, target);
  const Tensor wide = widen(x);
  const Tensor loss = where(equal(target, 1), wide, maximum(subtract(margin, wide), 0));
  return reduce_loss(loss, parse_reduction(reduction), x.dtype());
}

Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, const Scalar& margin,
                           std::string_view reduction) {
  check_same_shape(x1, x2, "x1", "x2", "x2");
  check_same_shape(x1, target, "x1");
  const Tensor d = subtract(widen(x2), widen(x1));
  const Tensor loss = maximum(add(multiply(converted(target, d.dtype()), d), margin), 0);
  return reduce_loss(loss, parse_reduction(reduction), x1.dtype());
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, const Scalar& margin,
                           const Scalar& p, const Scalar& eps, bool swap, std::string_view reduction) {
  check_same_shape(anchor, positive, "the anchor", "positive", "positive");
  check_same_shape(anchor, negative, "the anchor", "negative", "negative");
  const Tensor a = widen(anchor);
  const Tensor near = widen(positive);
  const Tensor far = widen(negative);
  const Tensor to_positive = nn::pairwise_distance(a, near, p, eps, false);
  Tensor to_negative = nn::pairwise_distance(a, far, p, eps, false);
  if (swap) to_negative = minimum(to_negative, nn::pairwise_distance(near, far, p, eps, false));
  const Tensor loss = maximum(add(subtract(to_positive, to_negative), margin), 0);
  return reduce_loss(loss, parse_reduction(reduction), anchor.dtype());
}

Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, bool log_input, bool full, const Scalar& eps,
                        std::string_view reduction) {
  check_same_shape(x, target);
  const Tensor wide = widen(x);
  const Tensor t = widen(target);
  Tensor loss = log_input ? subtract(exp(wide), multiply(t, wide)) : subtract(wide, multiply(t, log(add(wide, eps))));
  if (full) {
    const Tensor stirling =
        add(subtract(multiply(t, log(t)), t), multiply(log(multiply(t, 2 * std::numbers::pi)), 0.5));
    loss = add(loss, where(greater(t, 1), stirling, 0));
  }
  return reduce_loss(loss, parse_reduction(reduction), x.dtype());
}

Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var, bool full, const Scalar& eps,
                         std::string_view reduction) {
  check_same_shape(x, target);
  const Tensor wide = widen(x);
  const Tensor variance = maximum(variance_for(x, var), eps);
  const Tensor d = subtract(wide, widen(target));
  const Tensor scaled = divide(multiply(d, d), variance);
  Tensor loss = multiply(add(log(variance), scaled), 0.5);
  if (full) loss = add(loss, 0.5 * std::log(2 * std::numbers::pi));
  return reduce_loss(loss, parse_reduction(reduction), x.dtype());
}

Tensor soft_margin_loss(const Tensor& x, const Tensor& target, std::string_view reduction) {
  check_same_shape(x, target);
  const Tensor wide = widen(x);
  const Tensor loss = negative(log_of_sigmoid(multiply(wide, converted(target, wide.dtype()))));
  return reduce_loss(loss, parse_reduction(reduction), x.dtype());
}

Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight,
                                   std::string_view reduction) {
  check_same_shape(x, target);
  const Tensor loss = weighted(bce_with_logits(widen(x), widen(target), std::nullopt), weight);
  const std::int64_t last = checked_axis(-1, loss.shape().size());
  return reduce_loss(drop_axis(mean_kept(loss, Ints{last}), last), parse_reduction(reduction), x.dtype());
}

}  // namespace lento::composite
