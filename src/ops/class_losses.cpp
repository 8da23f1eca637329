// Losses whose targets are classes (ops/losses.yaml): nll_loss, cross_entropy, multi_margin_loss.
#include "base/fail.h"
#include "ops/class_losses.calls.gen.h"
#include "ops/class_surprise.h"
#include "ops/composite_helpers.h"
#include "ops/loss_reduction.h"
#include "ops/nonnegative_index.h"

namespace lento::composite {

namespace {

/// `x` (batch, classes, *space) with `target` (batch, *space); a single sample gets a batch axis.
struct ClassTargets {
  Tensor x;       // wide
  Tensor target;  // with every ignored class replaced by 0
  Tensor ignored;
  bool single;
};

ClassTargets prepare(const Tensor& x, const Tensor& target, std::optional<std::int64_t> ignore_index) {
  if (!is_integer(target.dtype())) fail<DTypeError>("class numbers must be integers, got {}", target.dtype());
  const std::size_t rank = x.shape().size();
  if (rank == 0) fail<ShapeError>("the input must have a class axis, got shape {}", x.shape());
  const bool single = rank == 1;
  Shape expected(x.shape());
  expected.erase(single ? 0 : 1);
  if (target.shape() != expected) {
    fail<ShapeError>("the input has shape {}, so the target must have shape {}, got {}", x.shape(), expected,
                     target.shape());
  }
  const Tensor numbers = signed_index(target);
  const Tensor batched = single ? with_axis(numbers, 0) : numbers;
  const Tensor ignored =
      ignore_index ? equal(batched, *ignore_index) : prim::full(batched.shape(), false, DType::bool_, x.device());
  return {widen(single ? with_axis(x, 0) : x), where(ignored, 0, nonnegative_index(batched)), ignored, single};
}

void check_class_weight(const std::optional<Tensor>& weight, std::int64_t classes) {
  if (weight && weight->shape() != Shape{classes}) {
    fail<ShapeError>("weight has shape {}, but there are {} classes", weight->shape(), classes);
  }
}

/// The elements of `x` at the targets, without the class axis.
Tensor pick(const ClassTargets& t, const Tensor& x) {
  return drop_axis(prim::take_along_axis(x, with_axis(t.target, 1), 1), 1);
}

/// Each target's weight: 0 where it is ignored.
Tensor target_weights(const ClassTargets& t, const std::optional<Tensor>& weight) {
  const DType dtype = t.x.dtype();
  if (!weight) return converted(logical_not(t.ignored), dtype);
  return where(t.ignored, 0.0, prim::take_axis(converted(*weight, dtype), t.target, 0));
}

Tensor reduce_classes(const Tensor& loss, const Tensor& weights, bool single, Reduction reduction, DType dtype) {
  if (reduction == Reduction::none) return converted(single ? drop_axis(loss, 0) : loss, dtype);
  const Tensor total = reduce_loss(loss, Reduction::sum, loss.dtype());
  if (reduction == Reduction::sum) return converted(total, dtype);
  return converted(divide(total, reduce_loss(weights, Reduction::sum, weights.dtype())), dtype);
}

/// -logs[target] * weight, exactly 0 where ignored even if the logarithm is infinite.
Tensor picked_loss(const ClassTargets& t, const Tensor& logs, const Tensor& weights) {
  return where(t.ignored, 0.0, negative(multiply(pick(t, logs), weights)));
}

Tensor class_cross_entropy(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight,
                           std::int64_t ignore_index, Reduction reduction, double smoothing) {
  const ClassTargets t = prepare(x, target, ignore_index);
  const std::int64_t classes = t.x.shape()[1];
  check_class_weight(weight, classes);
  const Tensor weights = target_weights(t, weight);
  // Without an element nothing is read, and without a class every target is wrong.
  if (t.x.size() == 0) return reduce_classes(picked_loss(t, t.x, weights), weights, t.single, reduction, x.dtype());
  std::optional<Tensor> wide_weight;
  if (weight) wide_weight = converted(*weight, t.x.dtype());
  const auto of_targets = [](const Tensor& each) { return with_axis(each, 1); };  // so that all is one value a row
  const Surprise found = surprise(t.single ? with_axis(x, 0) : x, of_targets(t.target), wide_weight, smoothing > 0);
  Tensor loss = multiply(found.of_target, of_targets(weights));
  if (found.of_all) {
    loss = add(multiply(loss, 1 - smoothing), multiply(*found.of_all, smoothing / static_cast<double>(classes)));
  }
  loss = where(of_targets(t.ignored), 0.0, loss);
  return reduce_classes(drop_axis(loss, 1), weights, t.single, reduction, x.dtype());
}

Tensor probability_cross_entropy(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight,
                                 Reduction reduction, double smoothing) {
  if (x.shape() != target.shape()) {
    fail<ShapeError>("probabilities have shape {}, but the input has shape {}", target.shape(), x.shape());
  }
  const std::size_t rank = x.shape().size();
  if (rank == 0) fail<ShapeError>("the input must have a class axis, got shape {}", x.shape());
  const std::int64_t axis = rank == 1 ? 0 : 1;
  check_class_weight(weight, x.shape()[static_cast<std::size_t>(axis)]);
  // Without an element there is nothing to sum up.
  const Tensor loss =
      x.size() == 0 ? sum_kept(widen(x), Ints{axis}) : expected_surprise(x, target, weight, smoothing, axis);
  return reduce_loss(drop_axis(loss, axis), reduction, x.dtype());
}

}  // namespace

Tensor nll_loss(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight, std::int64_t ignore_index,
                std::string_view reduction) {
  const ClassTargets t = prepare(x, target, ignore_index);
  check_class_weight(weight, t.x.shape()[1]);
  const Tensor weights = target_weights(t, weight);
  return reduce_classes(picked_loss(t, t.x, weights), weights, t.single, parse_reduction(reduction), x.dtype());
}

Tensor cross_entropy(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight,
                     std::int64_t ignore_index, std::string_view reduction, const Scalar& label_smoothing) {
  const double smoothing = label_smoothing.to<double>();
  if (!(smoothing >= 0 && smoothing <= 1)) {
    fail<ValueError>("label_smoothing must be between 0 and 1, got {}", label_smoothing);
  }
  const Reduction how = parse_reduction(reduction);
  if (is_floating(target.dtype())) return probability_cross_entropy(x, target, weight, how, smoothing);
  return class_cross_entropy(x, target, weight, ignore_index, how, smoothing);
}

Tensor multi_margin_loss(const Tensor& x, const Tensor& target, std::int64_t p, const Scalar& margin,
                         const std::optional<Tensor>& weight, std::string_view reduction) {
  if (p != 1 && p != 2) fail<ValueError>("p must be 1 or 2, got {}", p);
  if (x.shape().size() > 2)
    fail<ShapeError>("the input must be (batch, classes) or (classes,), got shape {}", x.shape());
  const ClassTargets t = prepare(x, target, std::nullopt);
  const std::int64_t classes = t.x.shape()[1];
  check_class_weight(weight, classes);
  const Tensor own = prim::take_along_axis(t.x, with_axis(t.target, 1), 1);
  Tensor excess = maximum(add(subtract(t.x, own), margin), 0);
  if (p == 2) excess = multiply(excess, excess);
  if (weight) excess = multiply(excess, with_axis(prim::take_axis(converted(*weight, excess.dtype()), t.target, 0), 1));
  const Tensor numbers = prim::iota(classes, 0, 1, DType::int64, x.device());
  const Tensor others = where(equal(with_axis(t.target, 1), numbers), 0.0, excess);
  const Tensor loss = divide(prim::reduce_sum(others, Ints{1}, false), static_cast<double>(classes));
  const Reduction how = parse_reduction(reduction);
  if (how == Reduction::none && t.single) return converted(drop_axis(loss, 0), x.dtype());
  return reduce_loss(loss, how, x.dtype());
}

}  // namespace lento::composite
