// What the neural, special and random composites share: the widening rule for half types, axis checks, spatial
// arguments of convolutions and poolings, and the reduction of losses.
#pragma once

#include "ops/neural_common.calls.gen.h"

#include <string_view>

namespace lento::composite::neural {

/// float32 for float16 and bfloat16, any other type as it is: the type norms, softmax and losses compute in.
DType wide_type(DType dtype);
/// `x` converted to `dtype`; `x` itself when it has it already.
Tensor cast(const Tensor& x, DType dtype);
/// `x` in its wide_type.
Tensor widen(const Tensor& x);

/// The axis counted from the front. Throws IndexError when there is none.
std::int64_t checked_axis(std::int64_t axis, std::size_t rank);

/// Sum, mean and maximum over the given axes, kept with length 1.
Tensor sum_kept(const Tensor& x, const Ints& axes);
Tensor mean_kept(const Tensor& x, const Ints& axes);
Tensor max_kept(const Tensor& x, const Ints& axes);
/// The axes from `first` to the last one.
Ints axes_from(std::size_t first, std::size_t rank);

/// `size` elements of `x` along `axis` from `start` on, each `step` after the one before.
Tensor slice_axis(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t size, std::int64_t step = 1);
/// `x` with a new axis of length 1 at `axis`.
Tensor unsqueeze(const Tensor& x, std::int64_t axis);
/// `x` without its axis `axis`, which has length 1.
Tensor squeeze_axis(const Tensor& x, std::int64_t axis);
/// `x` with another shape; `x` itself when it has it already.
Tensor reshaped(const Tensor& x, const Shape& shape);
/// `x` with its last two axes exchanged.
Tensor swap_last(const Tensor& x);
/// A 1-d tensor reshaped so that it broadcasts along `axis` of a tensor with `rank` axes.
Tensor along_axis(const Tensor& x, std::size_t axis, std::size_t rank);

/// `count` values from an argument that gives one for all axes or one for each. `what` names it in the ShapeError.
Ints spatial(const Ints& values, std::size_t count, std::string_view what);
/// Throws ValueError when one of the values is below `least`, or so large that its product with a length overflows.
void check_at_least(const Ints& values, std::int64_t least, std::string_view what);

/// Puts an axis of length 1 before an unbatched input (`channels_and_space` axes), so that all inputs are batched.
struct Batched {
  Tensor x;
  bool added;
};
Batched add_batch(const Tensor& x, std::size_t spatial_axes);
/// Takes the axis that add_batch added away again.
Tensor drop_batch(const Tensor& x, bool added);

enum class Reduction { none, mean, sum };
/// Throws ValueError for an unknown name.
Reduction parse_reduction(std::string_view name);
/// The elements, their mean or their sum, in `dtype`.
Tensor reduce_loss(const Tensor& loss, Reduction reduction, DType dtype);

/// log(sigmoid(x)) without overflow.
Tensor log_of_sigmoid(const Tensor& x);
/// `x`, which is not negative, to the power 1/p. At 0, where the power has none, the derivative is 0.
Tensor root_of(const Tensor& x, double p);
/// The sum of |x|^p over `axes` (kept), to the power 1/p. The values 0, 1, 2 and infinity of p have their own formula.
/// Throws ValueError for -inf and no elements.
Tensor vector_norm_kept(const Tensor& x, double p, const Ints& axes);
/// The derivative of the norm of a finite order by the elements of `x`, of which there are some: sign(x) times
/// (|x| / norm)^(p - 1), and 0 at 0. It is right also where the powers of the elements are no numbers.
Tensor norm_slope(const Tensor& x, double p, const Ints& axes);

}  // namespace lento::composite::neural
