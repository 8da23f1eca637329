// What layer, RMS, batch, group and instance norm have in common.
#pragma once

#include <lento/scalar.h>
#include <lento/tensor.h>

#include <optional>

namespace lento::composite {

/// What a normalised tensor is multiplied by and shifted by. Both broadcast to it.
struct Affine {
  std::optional<Tensor> weight;
  std::optional<Tensor> bias;
};

/// `mean` and `var` have length 1 along the axes they were taken over, and the wide type of the input.
struct Standardized {
  Tensor output;
  Tensor mean;  // empty when nothing was subtracted
  Tensor var;
};

enum class Centre : bool { no, yes };

/// `x` less its mean over `axes`, divided by the root of its variance plus `eps`, then times weight plus bias, in the
/// dtype of `x`. Without a centre the mean counts as 0. The derivative keeps `x`, the weight and the statistics, and
/// nothing else that is as large as `x`.
Standardized standardized(const Tensor& x, const Ints& axes, const Scalar& eps, Centre centre, const Affine& affine);

}  // namespace lento::composite
