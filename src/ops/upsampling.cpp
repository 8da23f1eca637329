// Resizing of images by interpolation (ops/upsampling.yaml), one spatial axis after the other. Positions come from
// index arithmetic on iotas, so that nothing is uploaded and a changing scale factor of the same sizes is an argument.
#include "base/fail.h"
#include "ir/shape_limit.h"
#include "ops/composite_helpers.h"
#include "ops/spatial_arguments.h"
#include "ops/upsampling.calls.gen.h"

#include <cmath>

namespace lento::composite {

namespace {

/// How one axis is resized.
struct Resize {
  std::int64_t from;
  std::int64_t to;
  std::optional<double> factor;  // given by the user and different from to / from

  /// Distance in the input of neighbours in the output.
  double step() const { return factor ? 1 / *factor : static_cast<double>(from) / static_cast<double>(to); }
};

/// 0, 1, … times `step` after `start`, along one axis.
Tensor ramp(std::int64_t size, double start, double step, const Tensor& like) {
  return prim::iota(size, start, step, DType::float64, like.device());
}

Tensor take_clipped(const Tensor& x, const Tensor& positions, std::size_t axis) {
  const Tensor clipped = maximum(minimum(positions, x.shape()[axis] - 1), 0);
  return prim::take_axis(x, clipped, static_cast<std::int64_t>(axis));
}

/// Each element `times` times in a row: index maps only, which fuse.
Tensor repeat_elements(const Tensor& x, std::size_t axis, std::int64_t times) {
  Shape spread(x.shape());
  spread.insert(axis + 1, 1);
  const Tensor column = reshaped(x, spread);
  spread[axis + 1] = times;
  Shape shape(x.shape());
  shape[axis] = counted(Shape{shape[axis], times});
  return reshaped(prim::broadcast_to(column, spread), shape);
}

Tensor resize_nearest(const Tensor& x, std::size_t axis, const Resize& r, bool exact) {
  if (!r.factor && r.to % r.from == 0) return r.to == r.from ? x : repeat_elements(x, axis, r.to / r.from);
  if (!r.factor) {
    // Whole-number arithmetic: no rounding can move a boundary.
    const Tensor scaled = exact ? floor_divide(prim::iota(r.to, r.from, 2 * r.from, DType::int64, x.device()), 2 * r.to)
                                : floor_divide(prim::iota(r.to, 0, r.from, DType::int64, x.device()), r.to);
    return prim::take_axis(x, scaled, static_cast<std::int64_t>(axis));
  }
  const Tensor positions = floor(divide(ramp(r.to, exact ? 0.5 : 0.0, 1, x), *r.factor));
  return take_clipped(x, prim::astype(positions, DType::int64), axis);
}

/// Positions in the input, as float64.
Tensor source_positions(const Tensor& x, const Resize& r, bool align_corners) {
  if (align_corners) {
    const double step = r.to > 1 ? static_cast<double>(r.from - 1) / static_cast<double>(r.to - 1) : 0.0;
    return ramp(r.to, 0, step, x);
  }
  return ramp(r.to, 0.5 * r.step() - 0.5, r.step(), x);
}

bool keeps_axis(const Resize& r, bool align_corners) { return r.from == r.to && (align_corners || !r.factor); }

Tensor resize_linear(const Tensor& x, std::size_t axis, const Resize& r, bool align_corners) {
  if (keeps_axis(r, align_corners)) return x;
  const Tensor source = maximum(source_positions(x, r, align_corners), 0.0);
  const Tensor below = floor(source);
  const Tensor first = prim::astype(below, DType::int64);
  const Tensor weight = along(converted(subtract(source, below), x.dtype()), static_cast<std::int64_t>(axis), x.rank());
  return add(multiply(take_clipped(x, first, axis), subtract(1, weight)),
             multiply(take_clipped(x, add(first, 1), axis), weight));
}

/// The cubic convolution kernel at distance `t` below 1 from the centre, and between 1 and 2.
constexpr double kCubic = -0.75;
Tensor cubic_near(const Tensor& t) {
  return add(multiply(multiply(subtract(multiply(t, kCubic + 2), kCubic + 3), t), t), 1);
}
Tensor cubic_far(const Tensor& t) {
  return subtract(multiply(add(multiply(subtract(multiply(t, kCubic), 5 * kCubic), t), 8 * kCubic), t), 4 * kCubic);
}

Tensor resize_cubic(const Tensor& x, std::size_t axis, const Resize& r, bool align_corners) {
  if (keeps_axis(r, align_corners)) return x;
  const Tensor source = source_positions(x, r, align_corners);
  const Tensor below = floor(source);
  const Tensor first = prim::astype(below, DType::int64);
  const Tensor t = subtract(source, below);
  const Tensor weights[4] = {cubic_far(add(t, 1)), cubic_near(t), cubic_near(subtract(1, t)),
                             cubic_far(subtract(2, t))};
  Tensor sum;
  for (int tap = 0; tap < 4; ++tap) {
    const Tensor weight = along(converted(weights[tap], x.dtype()), static_cast<std::int64_t>(axis), x.rank());
    const Tensor term = multiply(take_clipped(x, add(first, tap - 1), axis), weight);
    sum = tap == 0 ? term : add(sum, term);
  }
  return sum;
}

std::vector<Resize> plan_resize(const Tensor& x, std::size_t axes, const std::optional<Ints>& size,
                                const std::vector<Scalar>& scale_factor, bool recompute) {
  const bool by_size = size && !size->empty();
  if (by_size == !scale_factor.empty()) fail<ValueError>("give either the size or the scale factor");
  std::vector<Resize> plan;
  const Ints sizes = by_size ? spatial(*size, axes, "size") : Ints(axes, 0);
  if (!by_size && scale_factor.size() != 1 && scale_factor.size() != axes) {
    fail<ShapeError>("scale_factor has {} values, expected 1 or {}", scale_factor.size(), axes);
  }
  for (std::size_t axis = 0; axis < axes; ++axis) {
    Resize r{x.shape()[axis + 2], sizes[axis], std::nullopt};
    if (!by_size) {
      const double factor = scale_factor[scale_factor.size() == 1 ? 0 : axis].to<double>();
      if (!(factor > 0)) fail<ValueError>("the scale factor must be positive, got {}", factor);
      r.to = static_cast<std::int64_t>(std::floor(static_cast<double>(r.from) * factor));
      if (!recompute && static_cast<double>(r.from) * factor != static_cast<double>(r.to)) r.factor = factor;
    }
    if (r.from < 1 || r.to < 1) {
      fail<ShapeError>("cannot resize axis {} of shape {} to length {}", axis + 2, x.shape(), r.to);
    }
    plan.push_back(r);
  }
  return plan;
}

std::size_t axes_of_mode(std::string_view mode) {
  if (mode == "linear") return 1;
  if (mode == "bilinear" || mode == "bicubic") return 2;
  return mode == "trilinear" ? 3 : 0;
}

}  // namespace

Tensor interpolate(const Tensor& x, const std::optional<Ints>& size, const std::vector<Scalar>& scale_factor,
                   std::string_view mode, bool align_corners, bool recompute_scale_factor) {
  if (x.shape().size() < 3 || x.shape().size() > 5) {
    fail<ShapeError>("the input must have 3, 4 or 5 axes, got shape {}", x.shape());
  }
  const std::size_t axes = x.shape().size() - 2;
  if (axes_of_mode(mode) != 0 && axes_of_mode(mode) != axes) {
    fail<ValueError>("mode '{}' is for {} spatial axes, but the input has shape {}", mode, axes_of_mode(mode),
                     x.shape());
  }
  const std::vector<Resize> plan = plan_resize(x, axes, size, scale_factor, recompute_scale_factor);
  const bool nearest = mode == "nearest" || mode == "nearest-exact";
  if (align_corners && (nearest || mode == "area")) fail<ValueError>("align_corners has no meaning in mode '{}'", mode);
  if (!nearest && !is_floating(x.dtype())) fail<DTypeError>("mode '{}' needs floating point, got {}", mode, x.dtype());
  if (mode == "area") {
    Ints sizes;
    for (const Resize& r : plan) sizes.push_back(r.to);
    return axes == 1   ? nn::adaptive_avg_pool1d(x, sizes)
           : axes == 2 ? nn::adaptive_avg_pool2d(x, sizes)
                       : nn::adaptive_avg_pool3d(x, sizes);
  }
  Tensor result = nearest ? x : widen(x);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (nearest) {
      result = resize_nearest(result, axis + 2, plan[axis], mode == "nearest-exact");
    } else if (mode == "bicubic") {
      result = resize_cubic(result, axis + 2, plan[axis], align_corners);
    } else {
      result = resize_linear(result, axis + 2, plan[axis], align_corners);
    }
  }
  return converted(result, x.dtype());
}

namespace {

/// interpolate() for a fixed number of spatial axes.
Tensor upsample(std::size_t axes, const Tensor& x, const std::optional<Ints>& size,
                const std::vector<Scalar>& scale_factor, std::string_view mode, bool align_corners) {
  if (x.shape().size() != axes + 2) fail<ShapeError>("the input must have {} axes, got shape {}", axes + 2, x.shape());
  return interpolate(x, size, scale_factor, mode, align_corners, false);
}

}  // namespace

Tensor upsample_nearest1d(const Tensor& x, const std::optional<Ints>& output_size,
                          const std::vector<Scalar>& scale_factor) {
  return upsample(1, x, output_size, scale_factor, "nearest", false);
}

Tensor upsample_nearest2d(const Tensor& x, const std::optional<Ints>& output_size,
                          const std::vector<Scalar>& scale_factor) {
  return upsample(2, x, output_size, scale_factor, "nearest", false);
}

Tensor upsample_nearest3d(const Tensor& x, const std::optional<Ints>& output_size,
                          const std::vector<Scalar>& scale_factor) {
  return upsample(3, x, output_size, scale_factor, "nearest", false);
}

Tensor upsample_linear1d(const Tensor& x, const std::optional<Ints>& output_size, bool align_corners,
                         const std::vector<Scalar>& scale_factor) {
  return upsample(1, x, output_size, scale_factor, "linear", align_corners);
}

Tensor upsample_bilinear2d(const Tensor& x, const std::optional<Ints>& output_size, bool align_corners,
                           const std::vector<Scalar>& scale_factor) {
  return upsample(2, x, output_size, scale_factor, "bilinear", align_corners);
}

Tensor upsample_trilinear3d(const Tensor& x, const std::optional<Ints>& output_size, bool align_corners,
                            const std::vector<Scalar>& scale_factor) {
  return upsample(3, x, output_size, scale_factor, "trilinear", align_corners);
}

Tensor upsample_bicubic2d(const Tensor& x, const std::optional<Ints>& output_size, bool align_corners,
                          const std::vector<Scalar>& scale_factor) {
  return upsample(2, x, output_size, scale_factor, "bicubic", align_corners);
}

}  // namespace lento::composite
