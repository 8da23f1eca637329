// Activation functions that are more than one expression, or that compute half types in float32 (ops/activations.yaml).
#include "ops/activations.h"

#include <lento/differentiation.h>

#include "base/fail.h"
#include "ops/activations.calls.gen.h"
#include "ops/composite_helpers.h"

#include <numbers>
#include <vector>

namespace lento::composite {

namespace {

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

/// The positive part of `x` as it is, and `negative` elsewhere; nan is taken from `negative`.
Tensor above_zero_or(const Tensor& x, const Tensor& negative) { return where(greater(x, 0), x, negative); }

/// The negative part of `x`, and 0 above. Unlike a minimum it has the whole derivative at 0; nan stays.
Tensor negative_part(const Tensor& x) { return where(greater(x, 0), 0, x); }

/// A 0-d tensor is treated as one element along its only axis.
Tensor with_axis(const Tensor& x) { return x.shape().empty() ? reshaped(x, Ints{1}) : x; }

/// The logarithms of a softmax and what their derivative keeps, one value a row: the largest element, and the sum of
/// the powers.
std::vector<Tensor> logs_of_softmax(const Tensor& x, const Ints& axes) {
  const Tensor wide = widen(x);
  const Tensor largest = max_kept(wide, axes);
  const Tensor shifted = subtract(wide, largest);
  const Tensor total = sum_kept(exp(shifted), axes);
  return {subtract(shifted, log(total)), largest, total};
}

/// `largest` is a constant here: what depends on it cancels, also in derivatives of this one.
Tensor slope_of_logs(const Tensor& x, const Ints& axes, const std::vector<Tensor>& outputs,
                     const std::vector<Tensor>& cotangents) {
  const Tensor& grad = cotangents[0];
  const Tensor& total = outputs[2];
  const Tensor of_powers = subtract(cotangents[2], divide(sum_kept(grad, axes), total));
  // Computed again: without the barriers these would be the powers of the forward pass, kept in memory until now.
  const Tensor powers = exp(subtract(widen(prim::barrier(x)), prim::barrier(outputs[1])));
  return add(grad, multiply(of_powers, powers));
}

}  // namespace

Tensor log_of_sigmoid(const Tensor& x) {
  const auto value = [](const std::vector<Tensor>& inputs) {
    const Tensor& t = inputs[0];
    return std::vector{subtract(minimum(t, 0), log1p(exp(negative(abs(t)))))};
  };
  // The formula has corners at 0 that the function has not.
  const auto slope = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&,
                        const std::vector<Tensor>& cotangents) {
    return std::vector{multiply(cotangents[0], sigmoid(negative(inputs[0])))};
  };
  return custom_gradient(value, slope, {x})[0];
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
  const std::size_t rank = x.shape().size();
  const std::int64_t count = element_count(weight.shape());
  if (weight.shape().size() > 1)
    fail<ShapeError>("the weight must have at most one axis, got shape {}", weight.shape());
  if (count == 1) return above_zero_or(x, multiply(x, reshaped(weight, {})));
  if (rank < 2 || x.shape()[1] != count) {
    fail<ShapeError>("the weight has {} slopes, but the input of shape {} has {} channels", count, x.shape(),
                     rank < 2 ? 1 : x.shape()[1]);
  }
  return above_zero_or(x, multiply(x, along(weight, 1, x.rank())));
}

Tensor rrelu(const Tensor& x, const Scalar& lower, const Scalar& upper, bool training, Generator* generator) {
  const double low = lower.to<double>();
  const double high = upper.to<double>();
  if (!(low <= high)) fail<ValueError>("lower must not be above upper, got {} and {}", lower, upper);
  if (!training) return above_zero_or(x, multiply(x, (low + high) / 2));
  const Tensor slope = random::uniform(Ints(x.shape()), low, high, x.dtype(), x.device(), generator);
  return above_zero_or(x, multiply(x, slope));
}

// expm1 sees only the negative part: its positive branch would overflow and spoil derivatives.
Tensor elu(const Tensor& x, const Scalar& alpha) {
  const Tensor wide = widen(x);
  return converted(above_zero_or(wide, multiply(expm1(negative_part(wide)), alpha)), x.dtype());
}

Tensor selu(const Tensor& x) {
  const Tensor wide = widen(x);
  return converted(multiply(above_zero_or(wide, multiply(expm1(negative_part(wide)), kSeluAlpha)), kSeluScale),
                   x.dtype());
}

Tensor celu(const Tensor& x, const Scalar& alpha) {
  if (alpha.to<double>() == 0) fail<ValueError>("alpha must not be 0");
  const Tensor wide = widen(x);
  return converted(above_zero_or(wide, multiply(expm1(divide(negative_part(wide), alpha)), alpha)), x.dtype());
}

Tensor gelu(const Tensor& x, std::string_view approximate) {
  const Tensor wide = widen(x);
  const Tensor half = multiply(wide, 0.5);
  if (approximate == "none")
    return converted(multiply(half, erfc(multiply(wide, -std::numbers::sqrt2 / 2))), x.dtype());
  if (approximate != "tanh") fail<ValueError>("approximate must be 'none' or 'tanh', got '{}'", approximate);
  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const Tensor cubic = multiply(multiply(multiply(wide, wide), wide), 0.044715);
  return converted(multiply(half, add(tanh(multiply(add(wide, cubic), scale)), 1)), x.dtype());
}

Tensor silu(const Tensor& x) {
  const Tensor wide = widen(x);
  return converted(multiply(wide, sigmoid(wide)), x.dtype());
}

Tensor mish(const Tensor& x) {
  const Tensor wide = widen(x);
  return converted(multiply(wide, tanh(negative(log_of_sigmoid(negative(wide))))), x.dtype());
}

Tensor log_sigmoid(const Tensor& x) { return converted(log_of_sigmoid(widen(x)), x.dtype()); }

Tensor softplus(const Tensor& x, const Scalar& beta, const Scalar& threshold) {
  const Tensor wide = widen(x);
  const Tensor scaled = multiply(wide, beta);
  const Tensor smooth = divide(negative(log_of_sigmoid(negative(scaled))), beta);
  return converted(where(greater(scaled, threshold), wide, smooth), x.dtype());
}

Tensor softsign(const Tensor& x) {
  const Tensor wide = widen(x);
  return converted(divide(wide, add(abs(wide), 1)), x.dtype());
}

Tensor hardsigmoid(const Tensor& x) {
  const Tensor wide = widen(x);
  return converted(divide(minimum(maximum(add(wide, 3), 0), 6), 6), x.dtype());
}

Tensor hardswish(const Tensor& x) {
  const Tensor wide = widen(x);
  return converted(divide(multiply(wide, minimum(maximum(add(wide, 3), 0), 6)), 6), x.dtype());
}

Tensor softshrink(const Tensor& x, const Scalar& lambd) {
  if (!(lambd.to<double>() >= 0)) fail<ValueError>("lambd must not be negative, got {}", lambd);
  return multiply(sign(x), maximum(subtract(abs(x), lambd), 0));
}

Tensor tanhshrink(const Tensor& x) {
  const Tensor wide = widen(x);
  return converted(subtract(wide, tanh(wide)), x.dtype());
}

Tensor glu(const Tensor& x, std::int64_t axis) {
  const std::int64_t at = checked_axis(axis, x.shape().size());
  const std::int64_t length = x.shape()[static_cast<std::size_t>(at)];
  if (length % 2 != 0) fail<ShapeError>("axis {} of shape {} cannot be halved", axis, x.shape());
  return multiply(sliced(x, at, 0, length / 2), sigmoid(sliced(x, at, length / 2, length / 2)));
}

Tensor softmax(const Tensor& x, std::int64_t axis, std::optional<DType> dtype) {
  const DType result = dtype.value_or(x.dtype());
  const Tensor wide = with_axis(widen(converted(x, result)));
  const Ints axes{checked_axis(axis, wide.shape().size())};
  if (element_count(wide.shape()) == 0) return converted(x, result);
  const Tensor powers = exp(subtract(wide, stop_gradient(max_kept(wide, axes))));
  return converted(reshaped(divide(powers, sum_kept(powers, axes)), x.shape()), result);
}

Tensor log_softmax(const Tensor& x, std::int64_t axis, std::optional<DType> dtype) {
  const DType result = dtype.value_or(x.dtype());
  const Tensor given = with_axis(converted(x, result));
  const Ints axes{checked_axis(axis, given.shape().size())};
  if (element_count(given.shape()) == 0) return converted(x, result);
  const auto value = [axes](const std::vector<Tensor>& inputs) { return logs_of_softmax(inputs[0], axes); };
  const auto slope = [axes](const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                            const std::vector<Tensor>& cotangents) {
    return std::vector{slope_of_logs(inputs[0], axes, outputs, cotangents)};
  };
  const Tensor logs = custom_gradient(value, slope, {given})[0];
  return converted(reshaped(logs, x.shape()), result);
}

Tensor gumbel_softmax(const Tensor& logits, const Scalar& tau, bool hard, std::int64_t axis, Generator* generator) {
  const Tensor noise = random::gumbel(Ints(logits.shape()), 0.0, 1.0, logits.dtype(), logits.device(), generator);
  Tensor soft = nn::softmax(divide(add(logits, noise), tau), axis);
  if (!hard) return soft;
  const std::int64_t at = checked_axis(axis, logits.shape().size());
  const Tensor positions =
      prim::iota(logits.shape()[static_cast<std::size_t>(at)], 0, 1, DType::int64, logits.device());
  const Tensor best = prim::arg_max(soft, at, true);
  return converted(equal(along(positions, at, logits.rank()), best), logits.dtype());
}

}  // namespace lento::composite
