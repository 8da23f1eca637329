// What the composites share: axes, shapes, conversions and short names for the primitives they are made of.
//
// A composite of the catalogue called X exists as lento::X (checks, conversions, source line) and lento::composite::X
// (the body). Bodies call each other as lento::X so that the wrapper's dtype rule applies; the helpers here have names
// of their own.
#pragma once

#include "ops/composite_helpers.calls.gen.h"
#include "tensor/promotion.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lento::composite {

// --- messages ---

/// "float32(2, 3)".
std::string type_of(const Tensor& x);
/// "float32(2, 3), int64(4,)".
std::string types_of(const std::vector<Tensor>& tensors);

// --- axes ---

/// The axis counted from the front. Throws IndexError unless -rank <= axis < rank.
std::int64_t axis_of(const Tensor& x, std::int64_t axis);
/// The same where what has the axes does not exist yet, or is a converted copy: the error names their number alone.
std::int64_t checked_axis(std::int64_t axis, std::size_t rank);
/// The axes counted from the front in ascending order, all of them for nullopt. Throws IndexError when one is out of
/// range and ValueError when one is given twice.
Ints axes_of(const Tensor& x, const std::optional<Ints>& axes);
/// The same in the order given.
Ints ordered_axes_of(const Tensor& x, const Ints& axes);
/// 0, 1, …, rank - 1.
Ints all_axes(std::int64_t rank);
/// The axes from `first` to the last one.
Ints axes_from(std::size_t first, std::size_t rank);
/// The number of elements along these axes.
std::int64_t count_along(const Tensor& x, const Ints& axes);
/// Throws ShapeError unless x has at least `least` axes; `what` says why: "a matrix".
void require_rank(const Tensor& x, std::int64_t least, const char* what);

// --- dtypes ---

/// `x` in `dtype`; `x` itself when it has it already.
Tensor converted(const Tensor& x, DType dtype);
std::vector<Tensor> all_converted(const std::vector<Tensor>& tensors, DType dtype);
/// The dtype all of these promote to. Throws ValueError when there is none.
DType promoted_dtype(const std::vector<Tensor>& tensors);
/// Integers and bools in the default float, everything else as it is.
Tensor to_float(const Tensor& x);
/// The same, and float16 and bfloat16 in float32: what is summed many times over, or given to LAPACK.
Tensor to_wide_float(const Tensor& x);
/// float32 for float16 and bfloat16, any other type as it is: the type norms, softmax and losses compute in.
DType wide_type(DType dtype);
/// `x` in its wide_type.
Tensor widen(const Tensor& x);
/// An operand as a tensor of `dtype` on `device`; a number becomes zero-dimensional. Throws OverflowError for an
/// integer that does not fit.
Tensor as_tensor(const Operand& operand, DType dtype, Device device);
/// An operand as a tensor of its own dtype; numbers take the one of `like` as by clause T3.
Tensor as_tensor_like(const Operand& operand, const Tensor& like);
/// The same beside an operand that may be a number too: then it has its default dtype, on the default device.
Tensor as_tensor_beside(const Operand& operand, const Operand& other);
/// Throws DTypeError when a value of dtype `from` cannot be stored in a tensor of dtype `to` (a float in integers).
void require_storable(DType from, DType to);
/// A value to be stored in `x`: converted to its dtype if the kind fits.
Tensor stored_as(const Operand& value, const Tensor& x);

// --- shapes ---

Tensor reshaped(const Tensor& x, const Shape& shape);
Tensor flat(const Tensor& x);
Tensor permuted(const Tensor& x, const Ints& axes);
Tensor broadcast(const Tensor& x, const Shape& shape);
/// The shape all of these broadcast to. Throws ShapeError.
Shape common_shape(std::span<const Tensor> tensors);
/// `shape` with axes of length 1 inserted at (or, without `keep`, removed from) the given sorted axes.
Shape without_axes(const Shape& shape, const Ints& axes, bool keep = false);
/// `x` with a new axis of length 1 at `axis` of the result, which may be counted from the end.
Tensor with_axis(const Tensor& x, std::int64_t axis);
/// `x` without an axis of length 1, which may be counted from the end.
Tensor drop_axis(const Tensor& x, std::int64_t axis);
/// `x` with the axis moved.
Tensor move_axis(const Tensor& x, std::int64_t from, std::int64_t to);
Tensor swap_last(const Tensor& x);
/// `size` elements from `start` on, `step` apart, along an axis. `start` is an argument of the plan.
Tensor sliced(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t size, std::int64_t step = 1);
/// The slice at one position along an axis, which disappears.
Tensor picked(const Tensor& x, std::int64_t axis, std::int64_t position);
/// A vector reshaped so that it runs along `axis` of something with `rank` axes.
Tensor along(const Tensor& vector, std::int64_t axis, std::int64_t rank);

/// The same value under an identity of its own. A reshape that changes nothing costs nothing: compilers drop it.
Tensor with_own_identity(const Tensor& x);

// --- making tensors ---

/// 0, 1, …, size - 1.
Tensor counting(std::int64_t size, Device device, DType dtype = DType::int64);
Tensor number_tensor(const Scalar& value, DType dtype, Device device, const Shape& shape = {});

// --- reductions ---

/// The sum in the dtype of `x`.
Tensor sum_over(const Tensor& x, const Ints& axes, bool keep = false);
/// Sum, mean and maximum over the given axes, kept with length 1.
Tensor sum_kept(const Tensor& x, const Ints& axes);
Tensor mean_kept(const Tensor& x, const Ints& axes);
Tensor max_kept(const Tensor& x, const Ints& axes);
/// Sum and mean over sorted axes, kept with length 1. Axes that are no neighbours are summed run by run, the last run
/// first: each of them is one loop, and what `x` is made of need not be stored.
Tensor sum_in_runs(Tensor x, Ints axes);
Tensor mean_in_runs(const Tensor& x, const Ints& axes);
/// The product of the elements before each one along an axis.
Tensor product_before(const Tensor& x, std::int64_t axis);
/// The product of all other elements along the last axis: of those before times of those behind, so that zeros are no
/// trouble.
Tensor product_of_others(const Tensor& x);
/// The number of true elements of a bool tensor, as int64.
Tensor count_true(const Tensor& mask, const Ints& axes, bool keep = false);
/// 0 of the right kind: false for bool, so that a `where` with it keeps the dtype.
Scalar zero_of(DType dtype);
/// The dtype in which `sum` and `prod` compute and return.
DType sum_dtype(DType dtype);

}  // namespace lento::composite
