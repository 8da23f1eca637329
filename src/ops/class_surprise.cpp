#include "ops/class_surprise.h"

#include <lento/differentiation.h>

#include "ops/class_surprise.calls.gen.h"
#include "ops/composite_helpers.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace lento::composite {

namespace {

/// Small enough for as many lanes of a vector as a float32 has, if that holds them all.
Tensor numbers_of_classes(std::int64_t classes, Device device) {
  return counting(classes, device, classes <= std::numeric_limits<std::int32_t>::max() ? DType::int32 : DType::int64);
}

// What a derivative needs of the forward pass is one value a row: the largest element, and the sum of the powers.
enum Input : std::uint8_t { kLogits, kTarget, kNumbers, kWeight };
enum Output : std::uint8_t { kOfTarget, kLargest, kTotal, kOfAll };

/// True at the class of each target.
Tensor is_target(const Tensor& target, const Tensor& numbers) {
  return equal(target, along(numbers, 1, target.rank()));
}

/// `x` times the weights of all classes together.
Tensor times_all_weights(const Tensor& x, const std::vector<Tensor>& inputs) {
  if (inputs.size() > kWeight) return multiply(x, sum_over(inputs[kWeight], Ints{0}));
  return multiply(x, static_cast<double>(inputs[kLogits].shape()[1]));
}

/// `x`, one value a class along axis 1, times each class's weight.
Tensor times_own_weight(const Tensor& x, const std::vector<Tensor>& inputs) {
  return inputs.size() > kWeight ? multiply(x, along(inputs[kWeight], 1, inputs[kLogits].rank())) : x;
}

/// The logit of each target. The kernel that goes over a row anyway finds it on the way, wherever the row lies and
/// whether or not it is ever stored. Of few classes it is read where they lie: to sum up a short row takes longer.
Tensor logit_of_target(const std::vector<Tensor>& inputs) {
  constexpr std::int64_t kFew = 64;
  const Tensor& x = inputs[kLogits];
  if (x.shape()[1] < kFew) return widen(prim::take_along_axis(x, inputs[kTarget], 1));
  return sum_kept(where(is_target(inputs[kTarget], inputs[kNumbers]), widen(x), 0.0), Ints{1});
}

std::vector<Tensor> forward(const std::vector<Tensor>& inputs, bool of_all) {
  const Ints classes{1};
  const Tensor own = logit_of_target(inputs);
  const Tensor x = widen(inputs[kLogits]);
  const Tensor largest = max_kept(x, classes);
  const Tensor shifted = subtract(x, largest);
  const Tensor total = sum_kept(exp(shifted), classes);
  // Differences of what may be large come first. What is left has one sign, and cancels nothing.
  std::vector<Tensor> outputs{subtract(log(total), subtract(own, largest)), largest, total};
  if (!of_all) return outputs;
  const Tensor sum = sum_kept(times_own_weight(shifted, inputs), classes);
  outputs.push_back(subtract(times_all_weights(log(total), inputs), sum));
  return outputs;
}

/// `largest` is a constant here: what depends on it cancels, also in derivatives of this one.
std::vector<Tensor> backward(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                             const std::vector<Tensor>& cotangents) {
  // Computed again: without the barriers these would be the values of the forward pass, kept in memory until now.
  const Tensor logits = prim::barrier(inputs[kLogits]);
  const Tensor x = widen(logits);
  const Tensor& total = outputs[kTotal];
  const Tensor largest = prim::barrier(outputs[kLargest]);
  const bool of_all = outputs.size() > kOfAll;
  Tensor sum = cotangents[kOfTarget];
  if (of_all) sum = add(sum, times_all_weights(cotangents[kOfAll], inputs));
  const Tensor of_powers = add(divide(sum, total), cotangents[kTotal]);
  const Tensor gradient =
      subtract(multiply(exp(subtract(x, largest)), of_powers),
               where(is_target(inputs[kTarget], prim::barrier(inputs[kNumbers])), cotangents[kOfTarget], 0.0));
  std::vector<Tensor> result{gradient, Tensor{}, Tensor{}};
  if (of_all) result[kLogits] = subtract(gradient, times_own_weight(cotangents[kOfAll], inputs));
  if (inputs.size() > kWeight) {
    // The weight's own: sums over all other axes, in a pass of their own.
    Ints others = all_axes(x.rank());
    others.erase(1);
    const Tensor again = subtract(widen(prim::barrier(logits)), largest);
    const Tensor sums = sum_in_runs(multiply(cotangents[kOfAll], subtract(log(total), again)), others);
    result.push_back(reshaped(sums, inputs[kWeight].shape()));
  }
  return result;
}

/// Both directions of expected_surprise, for inputs x, target and the weight if there is one. The outputs are the
/// result and, one value a row as well, the largest element, the sum of the powers and what the result has of its
/// logarithm.
class Expected {
 public:
  Expected(double smoothing, std::int64_t axis) : smoothing_(smoothing), axis_(axis) {}

  std::vector<Tensor> value(const std::vector<Tensor>& inputs) const {
    const Ints classes{axis_};
    const Tensor x = widen(inputs[kX]);
    const Tensor largest = max_kept(x, classes);
    const Tensor shifted = subtract(x, largest);
    const Tensor total = sum_kept(exp(shifted), classes);
    const Tensor target = mixed(inputs[kProbabilities], inputs);
    // One sum of terms of one sign, so that nothing cancels.
    const Tensor logs = subtract(shifted, log(total));
    const Tensor result = negative(sum_kept(times_weight(multiply(target, logs), inputs), classes));
    return {result, largest, total, sum_kept(times_weight(target, inputs), classes)};
  }

  /// `largest` is a constant here: what depends on it cancels, also in derivatives of this one.
  std::vector<Tensor> slope(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                            const std::vector<Tensor>& cotangents) const {
    // Computed again, by each of the gradients: see above.
    const Tensor largest = prim::barrier(outputs[kLargestOfRow]);
    const Tensor& total = outputs[kTotalOfRow];
    const auto shifted = [&] { return subtract(widen(prim::barrier(inputs[kX])), largest); };
    const auto target = [&] { return mixed(prim::barrier(inputs[kProbabilities]), inputs); };
    const Tensor& grad = cotangents[kResult];
    const Tensor of_powers = add(divide(multiply(grad, outputs[kMass]), total), cotangents[kTotalOfRow]);
    std::vector<Tensor> result{
        subtract(multiply(exp(shifted()), of_powers), multiply(grad, times_weight(target(), inputs)))};
    const auto of_products = [&] { return add(multiply(grad, subtract(log(total), shifted())), cotangents[kMass]); };
    result.push_back(multiply(times_weight(of_products(), inputs), 1 - smoothing_));
    if (inputs.size() > kClassWeight) {
      Ints others = all_axes(inputs[kX].rank());
      others.erase(static_cast<std::size_t>(axis_));
      const Tensor sums = sum_in_runs(multiply(of_products(), target()), others);
      result.push_back(reshaped(sums, inputs[kClassWeight].shape()));
    }
    return result;
  }

 private:
  enum Input : std::uint8_t { kX, kProbabilities, kClassWeight };
  enum Output : std::uint8_t { kResult, kLargestOfRow, kTotalOfRow, kMass };

  Tensor mixed(const Tensor& target, const std::vector<Tensor>& inputs) const {
    Tensor wide = converted(target, wide_type(inputs[kX].dtype()));
    if (smoothing_ == 0) return wide;
    const auto classes = static_cast<double>(inputs[kX].shape()[static_cast<std::size_t>(axis_)]);
    return add(multiply(wide, 1 - smoothing_), smoothing_ / classes);
  }

  Tensor times_weight(const Tensor& x, const std::vector<Tensor>& inputs) const {
    if (inputs.size() <= kClassWeight) return x;
    return multiply(x, along(converted(inputs[kClassWeight], x.dtype()), axis_, x.rank()));
  }

  double smoothing_;
  std::int64_t axis_;
};

}  // namespace

Tensor expected_surprise(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight, double smoothing,
                         std::int64_t axis) {
  std::vector<Tensor> inputs{x, target};
  if (weight) inputs.push_back(*weight);
  const Expected function(smoothing, axis);
  const auto value = [function](const std::vector<Tensor>& given) { return function.value(given); };
  const auto slope = [function](const std::vector<Tensor>& given, const std::vector<Tensor>& outputs,
                                const std::vector<Tensor>& cotangents) {
    return function.slope(given, outputs, cotangents);
  };
  return custom_gradient(value, slope, inputs)[0];
}

Surprise surprise(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight, bool of_all) {
  // Reading the class from the list of all is what refuses a number that is none.
  const Tensor numbers = numbers_of_classes(x.shape()[1], x.device());
  std::vector<Tensor> inputs{x, prim::take_axis(numbers, target, 0), numbers};
  if (of_all && weight) inputs.push_back(*weight);
  const auto value = [of_all](const std::vector<Tensor>& given) { return forward(given, of_all); };
  std::vector<Tensor> outputs = custom_gradient(value, backward, inputs);
  Surprise result{outputs[kOfTarget], std::nullopt};
  if (of_all) result.of_all = outputs[kOfAll];
  return result;
}

}  // namespace lento::composite
