// How little a softmax expects of each class: the part of a cross-entropy that reads the logits.
#pragma once

#include <lento/tensor.h>

#include <cstdint>
#include <optional>

namespace lento::composite {

/// What is needed of -log(softmax(x)), along axis 1, which is kept with length 1.
struct Surprise {
  Tensor of_target;
  std::optional<Tensor> of_all;  // its sum over all classes, each times its weight
};

/// Of `x` (batch, classes, *space) and class numbers `target` (batch, 1, *space). Neither the value nor its derivative
/// needs an array of the size of `x`, except for the gradient itself. Where a target is no class, the results and the
/// gradient are failures (clause T10). `weight` (classes,) has the wide type of `x` and counts for `of_all` alone.
Surprise surprise(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight, bool of_all);

/// The sum of -log(softmax(x)) * target over all classes along `axis`, which is kept with length 1, each times its
/// weight. `target` has the shape of `x`, which is not empty, and is mixed with `smoothing` parts of the uniform
/// distribution. The derivatives need no array of the size of `x` except for the gradients themselves.
Tensor expected_surprise(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight, double smoothing,
                         std::int64_t axis);

}  // namespace lento::composite
