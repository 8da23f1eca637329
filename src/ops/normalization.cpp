// Normalisation and distances (ops/normalization.yaml). Statistics are computed in float32 at least, in two passes: the
// mean first, then the mean square of what is left, which does not cancel.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/normalization.calls.gen.h"
#include "ops/norms.h"
#include "ops/standardized.h"

namespace lento::composite {

namespace {

/// One value a channel: throws unless `parameter` has the shape (channels,).
void check_channels(const Tensor& parameter, std::int64_t channels, std::string_view what) {
  if (parameter.shape() != Shape{channels}) {
    fail<ShapeError>("{} has shape {}, but there are {} channels", what, parameter.shape(), channels);
  }
}

/// A parameter with one value a channel, so shaped that it broadcasts along axis 1 of `x`, in the type of `x`.
Tensor channelwise(const Tensor& parameter, const Tensor& x, std::string_view what) {
  check_channels(parameter, x.shape()[1], what);
  return along(converted(parameter, x.dtype()), 1, x.rank());
}

/// Weight and bias with one value a channel, for `x`.
Affine channelwise_affine(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias) {
  Affine affine;
  if (weight) affine.weight = channelwise(*weight, x, "weight");
  if (bias) affine.bias = channelwise(*bias, x, "bias");
  return affine;
}

void check_rank(const Tensor& x, std::size_t least) {
  if (x.shape().size() < least)
    fail<ShapeError>("the input must have at least {} axes, got shape {}", least, x.shape());
}

/// All axes but that of the channels.
Ints axes_but_channels(const Tensor& x) {
  Ints axes = axes_from(1, x.shape().size());
  axes[0] = 0;
  return axes;
}

Tensor apply_running(const Tensor& x, const std::optional<Tensor>& mean, const std::optional<Tensor>& var,
                     const Scalar& eps, const Affine& affine) {
  if (!mean || !var)
    fail<ValueError>("running_mean and running_var are needed when the input's statistics are not used");
  Tensor result = multiply(subtract(x, channelwise(*mean, x, "running_mean")),
                           rsqrt(add(channelwise(*var, x, "running_var"), eps)));
  if (affine.weight) result = multiply(result, *affine.weight);
  if (affine.bias) result = add(result, *affine.bias);
  return result;
}

/// The last axes of `x`, which must have the shape `normalized`.
Ints normalized_axes(const Tensor& x, const Ints& normalized) {
  const std::size_t rank = x.shape().size();
  if (normalized.empty()) fail<ShapeError>("normalized_shape is empty");
  const bool fits = normalized.size() <= rank &&
                    std::equal(normalized.begin(), normalized.end(), x.shape().end() - normalized.size());
  if (!fits) fail<ShapeError>("the shape {} does not end with normalized_shape {}", x.shape(), normalized);
  return axes_from(rank - normalized.size(), rank);
}

void check_parameter(const std::optional<Tensor>& parameter, const Ints& normalized, std::string_view what) {
  if (parameter && parameter->shape() != normalized) {
    fail<ShapeError>("{} has shape {}, expected normalized_shape {}", what, parameter->shape(), normalized);
  }
}

/// Running statistics moved towards those of a batch. The momentum is structure.
Tensor blend(const Tensor& old, const Tensor& batch, const Scalar& momentum, double scale) {
  const double fraction = momentum.to<double>();
  return converted(add(multiply(widen(old), 1 - fraction), multiply(batch, fraction * scale)), old.dtype());
}

/// What makes the variance of `count` values that of those they were drawn from.
double unbiased(std::int64_t count) { return static_cast<double>(count) / static_cast<double>(count - 1); }

double epsilon_of(DType dtype) { return dtype == DType::float64 ? 0x1p-52 : 0x1p-23; }

}  // namespace

Tensor layer_norm(const Tensor& x, const Ints& normalized_shape, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, const Scalar& eps) {
  const Ints axes = normalized_axes(x, normalized_shape);
  check_parameter(weight, normalized_shape, "weight");
  check_parameter(bias, normalized_shape, "bias");
  return standardized(x, axes, eps, Centre::yes, {weight, bias}).output;
}

Tensor rms_norm(const Tensor& x, const Ints& normalized_shape, const std::optional<Tensor>& weight,
                const std::optional<Scalar>& eps) {
  const Ints axes = normalized_axes(x, normalized_shape);
  check_parameter(weight, normalized_shape, "weight");
  const Scalar epsilon = eps ? *eps : Scalar(epsilon_of(wide_type(x.dtype())));
  return standardized(x, axes, epsilon, Centre::no, {weight, std::nullopt}).output;
}

Tensor batch_norm(const Tensor& x, const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                  const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, bool training,
                  const Scalar& /*momentum*/, const Scalar& eps) {
  check_rank(x, 2);
  const Tensor wide = widen(x);
  const Affine affine = channelwise_affine(wide, weight, bias);
  if (training) return standardized(x, axes_but_channels(x), eps, Centre::yes, affine).output;
  return converted(apply_running(wide, running_mean, running_var, eps, affine), x.dtype());
}

BatchNormTrainResult batch_norm_train(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                                      const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                      const Scalar& momentum, const Scalar& eps) {
  check_rank(x, 2);
  const std::int64_t channels = x.shape()[1];
  check_channels(running_mean, channels, "running_mean");
  check_channels(running_var, channels, "running_var");
  const Tensor wide = widen(x);
  const Ints axes = axes_but_channels(x);
  const std::int64_t count = channels == 0 ? 0 : element_count(x.shape()) / channels;
  if (count < 2) fail<ValueError>("training needs more than one value a channel, got shape {}", x.shape());
  const Standardized found = standardized(x, axes, eps, Centre::yes, channelwise_affine(wide, weight, bias));
  const auto flat = [&](const Tensor& each) { return reshaped(each, Shape{channels}); };
  return {found.output, blend(running_mean, flat(found.mean), momentum, 1),
          blend(running_var, flat(found.var), momentum, unbiased(count))};
}

BatchNormStatsResult batch_norm_stats(const Tensor& x) {
  check_rank(x, 2);
  const Tensor wide = widen(x);
  const Ints axes = axes_but_channels(x);
  const Tensor mean = mean_in_runs(wide, axes);
  const Tensor centred = subtract(wide, mean);
  const Tensor var = mean_in_runs(multiply(centred, centred), axes);
  const Shape flat{x.shape()[1]};
  return {converted(reshaped(mean, flat), x.dtype()), converted(reshaped(var, flat), x.dtype())};
}

Tensor group_norm(const Tensor& x, std::int64_t num_groups, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, const Scalar& eps) {
  check_rank(x, 2);
  const std::int64_t channels = x.shape()[1];
  if (num_groups < 1 || channels % num_groups != 0) {
    fail<ValueError>("{} channels cannot be divided into {} groups", channels, num_groups);
  }
  Ints grouped(x.shape());
  grouped[1] = channels / num_groups;
  grouped.insert(1, num_groups);
  Ints parameter(grouped.size(), 1);
  parameter[1] = grouped[1];
  parameter[2] = grouped[2];
  Affine affine = channelwise_affine(widen(x), weight, bias);
  if (affine.weight) affine.weight = reshaped(*affine.weight, parameter);
  if (affine.bias) affine.bias = reshaped(*affine.bias, parameter);
  const Ints axes = axes_from(2, grouped.size());
  return reshaped(standardized(reshaped(x, grouped), axes, eps, Centre::yes, affine).output, x.shape());
}

Tensor instance_norm(const Tensor& x, const std::optional<Tensor>& running_mean,
                     const std::optional<Tensor>& running_var, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, bool use_input_stats, const Scalar& /*momentum*/,
                     const Scalar& eps) {
  check_rank(x, 3);
  const Tensor wide = widen(x);
  const Affine affine = channelwise_affine(wide, weight, bias);
  if (use_input_stats) return standardized(x, axes_from(2, x.shape().size()), eps, Centre::yes, affine).output;
  return converted(apply_running(wide, running_mean, running_var, eps, affine), x.dtype());
}

InstanceNormTrainResult instance_norm_train(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                                            const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                            const Scalar& momentum, const Scalar& eps) {
  check_rank(x, 3);
  const std::int64_t channels = x.shape()[1];
  check_channels(running_mean, channels, "running_mean");
  check_channels(running_var, channels, "running_var");
  const Tensor wide = widen(x);
  const Ints axes = axes_from(2, x.shape().size());
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) count *= x.shape()[static_cast<std::size_t>(axis)];
  if (count < 2) fail<ValueError>("training needs more than one value a channel, got shape {}", x.shape());
  const Standardized found = standardized(x, axes, eps, Centre::yes, channelwise_affine(wide, weight, bias));
  const auto averaged = [&](const Tensor& each) { return reshaped(mean_kept(each, Ints{0}), Shape{channels}); };
  return {found.output, blend(running_mean, averaged(found.mean), momentum, 1),
          blend(running_var, averaged(found.var), momentum, unbiased(count))};
}

Tensor local_response_norm(const Tensor& x, std::int64_t size, const Scalar& alpha, const Scalar& beta,
                           const Scalar& k) {
  check_rank(x, 3);
  if (size < 1) fail<ValueError>("size must be at least 1, got {}", size);
  const Tensor wide = widen(x);
  // The channels become the first spatial axis of a window sum; all other axes are one that the window does not touch.
  const std::int64_t channels = x.shape()[1];
  std::int64_t space = 1;
  for (std::size_t axis = 2; axis < x.shape().size(); ++axis) space *= x.shape()[axis];
  const Tensor squares = reshaped(multiply(wide, wide), Shape{x.shape()[0], 1, channels, space});
  const Tensor sums =
      prim::sum_window(squares, Ints{size, 1}, Ints{1, 1}, Ints{size / 2, 0}, Ints{(size - 1) / 2, 0}, Ints{1, 1});
  const Tensor mean = divide(reshaped(sums, x.shape()), static_cast<double>(size));
  return converted(divide(wide, lento::pow(add(multiply(mean, alpha), k), beta)), x.dtype());
}

Tensor normalize(const Tensor& x, const Scalar& p, const Ints& axis, const Scalar& eps) {
  Ints axes;
  for (const std::int64_t each : axis) axes.push_back(checked_axis(each, x.shape().size()));
  const Tensor wide = widen(x);
  return converted(divide(wide, maximum(vector_norm_kept(wide, p.to<double>(), axes), eps)), x.dtype());
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, std::int64_t axis, const Scalar& eps) {
  const Tensor a = widen(x1);
  const Tensor b = widen(x2);
  const Tensor products = multiply(a, b);
  const std::size_t rank = products.shape().size();
  const std::int64_t at = checked_axis(axis, rank);
  const Ints axes{at};
  // The norms are taken over the broadcast operands, so that an axis of length 1 counts as often as it is repeated.
  const auto norm = [&](const Tensor& x) {
    return maximum(vector_norm_kept(prim::broadcast_to(x, products.shape()), 2, axes), eps);
  };
  const Tensor result = divide(sum_kept(products, axes), multiply(norm(a), norm(b)));
  return converted(drop_axis(result, at), x1.dtype());
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const Scalar& p, const Scalar& eps, bool keepdims) {
  const Tensor difference = add(subtract(widen(x1), widen(x2)), eps);
  const std::int64_t last = checked_axis(-1, difference.shape().size());
  const Tensor norm = vector_norm_kept(difference, p.to<double>(), Ints{last});
  return converted(keepdims ? norm : drop_axis(norm, last), x1.dtype());
}

Tensor cdist(const Tensor& x1, const Tensor& x2, const Scalar& p) {
  check_rank(x1, 2);
  check_rank(x2, 2);
  if (x1.shape().back() != x2.shape().back()) {
    fail<ShapeError>("the rows have different lengths: {} and {}", x1.shape(), x2.shape());
  }
  const Tensor difference = subtract(with_axis(widen(x1), -2), with_axis(widen(x2), -3));
  const std::int64_t last = checked_axis(-1, difference.shape().size());
  if (x1.shape().back() == 0) return converted(drop_axis(sum_kept(difference, Ints{last}), last), x1.dtype());
  return converted(drop_axis(vector_norm_kept(difference, p.to<double>(), Ints{last}), last), x1.dtype());
}

}  // namespace lento::composite
