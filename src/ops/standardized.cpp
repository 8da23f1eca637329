#include "ops/standardized.h"

#include <lento/differentiation.h>

#include "ops/composite_helpers.h"
#include "ops/standardized.calls.gen.h"

#include <algorithm>
#include <vector>

namespace lento::composite {

namespace {

/// The sum of what is broadcast: `x` in the shape of `parameter`.
Tensor summed_like(const Tensor& x, const Tensor& parameter) {
  const std::size_t leading = x.shape().size() - parameter.shape().size();
  Ints axes;
  for (std::size_t axis = 0; axis < x.shape().size(); ++axis) {
    if (axis < leading || parameter.shape()[axis - leading] == 1) axes.push_back(static_cast<std::int64_t>(axis));
  }
  return reshaped(sum_in_runs(x, axes), parameter.shape());
}

/// The same number all along `axes` of something with `rank` axes.
bool stands_still(const Tensor& parameter, const Ints& axes, std::int64_t rank) {
  return std::ranges::all_of(axes, [&](std::int64_t axis) {
    const std::int64_t own = axis - (rank - parameter.rank());
    return own < 0 || parameter.shape()[static_cast<std::size_t>(own)] == 1;
  });
}

/// Both directions of the function, for inputs x, weight and bias as far as there are any. The outputs are the result,
/// the variance and, with a centre, the mean.
class Standardizing {
 public:
  Standardizing(const Ints& axes, const Scalar& eps, Centre centre, const Affine& affine)
      : axes_(axes),
        eps_(eps),
        centre_(centre == Centre::yes),
        bias_(affine.weight ? 2 : 1),
        has_weight_(affine.weight.has_value()),
        has_bias_(affine.bias.has_value()) {}

  std::vector<Tensor> value(const std::vector<Tensor>& inputs) const {
    const Tensor x = widen(inputs[0]);
    const Tensor mean = centre_ ? mean_in_runs(x, axes_) : Tensor{};
    const Tensor centred = centre_ ? subtract(x, mean) : x;
    const Tensor var = mean_in_runs(multiply(centred, centred), axes_);
    Tensor result = multiply(centred, rsqrt(add(var, eps_)));
    if (has_weight_) result = multiply(result, converted(inputs[1], x.dtype()));
    if (has_bias_) result = add(result, converted(inputs[bias_], x.dtype()));
    result = converted(result, inputs[0].dtype());
    return centre_ ? std::vector{result, var, mean} : std::vector{result, var};
  }

  std::vector<Tensor> slope(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                            const std::vector<Tensor>& cotangents) const {
    const auto count = static_cast<double>(count_along(inputs[0], axes_));
    const Tensor root = rsqrt(add(prim::barrier(outputs[1]), eps_));
    const Tensor mean = centre_ ? prim::barrier(outputs[2]) : Tensor{};
    // Computed again by whoever asks: without the barriers it would be the value of another pass, kept in memory for
    // this one.
    Tensor behind = inputs[0];
    const auto centred = [&] {
      behind = prim::barrier(behind);
      return centre_ ? subtract(widen(behind), mean) : widen(behind);
    };
    const Tensor standard = multiply(centred(), root);
    const Tensor grad = widen(cotangents[0]);
    const Tensor weight = has_weight_ ? converted(inputs[1], grad.dtype()) : Tensor{};
    const auto weighted = [&](const Tensor& each) { return has_weight_ ? multiply(each, weight) : each; };

    // A weight that stands still comes after the sums, which then are its derivative and the bias's too.
    bool still = true;
    for (std::size_t i = 1; i < inputs.size(); ++i) still &= stands_still(inputs[i], axes_, inputs[0].rank());
    const Tensor sloped = still ? grad : weighted(grad);
    Tensor along = sum_in_runs(multiply(sloped, standard), axes_);
    Tensor total = centre_ || still ? sum_in_runs(sloped, axes_) : Tensor{};
    std::vector<Tensor> result{Tensor{}};
    if (still && has_weight_) result.push_back(summed_like(along, inputs[1]));
    if (still && has_bias_) result.push_back(summed_like(total, inputs[bias_]));
    if (still) along = weighted(along);
    if (still && centre_) total = weighted(total);

    // Whoever differentiates the statistics themselves has cotangents of them.
    const Tensor by_centred =
        subtract(multiply(divide(along, count), multiply(root, root)), multiply(cotangents[1], 2 / count));
    const Tensor by_grad = still ? multiply(grad, weighted(root)) : multiply(sloped, root);
    Tensor gradient = subtract(by_grad, multiply(centred(), by_centred));
    if (centre_) gradient = subtract(gradient, divide(subtract(multiply(total, root), cotangents[2]), count));
    result[0] = gradient;
    if (still) return result;

    // Sums across the rows are a pass of their own, over the tensors themselves and nothing that was made of them.
    const Tensor again = prim::barrier(cotangents[0]);
    if (has_weight_) {
      const Tensor products = multiply(widen(again), multiply(centred(), root));
      result.push_back(summed_like(products, inputs[1]));
    }
    if (has_bias_) result.push_back(summed_like(widen(again), inputs[bias_]));
    return result;
  }

 private:
  Ints axes_;
  Scalar eps_;
  bool centre_;
  std::size_t bias_;
  bool has_weight_;
  bool has_bias_;
};

}  // namespace

Standardized standardized(const Tensor& x, const Ints& axes, const Scalar& eps, Centre centre, const Affine& affine) {
  std::vector<Tensor> inputs{x};
  if (affine.weight) inputs.push_back(*affine.weight);
  if (affine.bias) inputs.push_back(*affine.bias);
  const Standardizing function(axes, eps, centre, affine);
  const auto value = [function](const std::vector<Tensor>& given) { return function.value(given); };
  const auto slope = [function](const std::vector<Tensor>& given, const std::vector<Tensor>& outputs,
                                const std::vector<Tensor>& cotangents) {
    return function.slope(given, outputs, cotangents);
  };
  const std::vector<Tensor> outputs = custom_gradient(value, slope, inputs);
  return {outputs[0], centre == Centre::yes ? outputs[2] : Tensor{}, outputs[1]};
}

}  // namespace lento::composite
