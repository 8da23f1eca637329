// How little a softmax expects of each class: the part of a cross-entropy that reads the logits.
#pragma once

#include <lento/tensor.h>

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

}  // namespace lento::composite
