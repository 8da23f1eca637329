// Creation (ops/creation.yaml). Values are computed from counters on the device, in double precision where rounding
// shows.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/creation.calls.gen.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

namespace lento::composite {

namespace {

Device device_or(std::optional<Device> device) { return device ? *device : Device(); }

/// True at the places of an n_rows x n_cols matrix whose column is at least (or with `exact` precisely) `k` behind
/// their row.
Tensor diagonal_mask(std::int64_t n_rows, std::int64_t n_cols, std::int64_t k, bool exact, Device device) {
  // Diagonals outside of the matrix are all alike; a row plus a huge `k` would wrap.
  const std::int64_t first = std::clamp(k, -n_rows - 1, n_cols + 1);
  const Tensor diagonal = along(prim::iota(n_rows, first, 1, DType::int64, device), 0, 2);
  const Tensor column = along(counting(n_cols, device), 1, 2);
  return exact ? equal(column, diagonal) : less_equal(column, diagonal);
}

void require_lengths(std::initializer_list<std::int64_t> lengths) {
  for (const std::int64_t length : lengths) {
    if (length < 0) fail<ValueError>("a length cannot be negative, got {}", length);
  }
}

/// start, start + step, … in double precision (complex when one of them is), with the last element exactly `last` if
/// given.
Tensor spaced(const Scalar& start, const Scalar& step, std::int64_t num, const std::optional<Scalar>& last,
              Device device) {
  const bool complex = start.is_complex() || step.is_complex();
  Tensor values = prim::iota(num, start, step, complex ? DType::complex128 : DType::float64, device);
  if (!last || num < 2) return values;
  return where(equal(counting(num, device), num - 1), *last, values);
}

/// Evenly spaced numbers in double precision.
Tensor spaced_between(const Scalar& start, const Scalar& stop, std::int64_t num, bool endpoint, Device device) {
  if (num < 0) fail<ValueError>("the number of elements cannot be negative, got {}", num);
  const std::int64_t gaps = std::max<std::int64_t>(endpoint ? num - 1 : num, 1);
  Scalar step;
  if (start.is_complex() || stop.is_complex()) {
    step = (stop.to<std::complex<double>>() - start.to<std::complex<double>>()) / static_cast<double>(gaps);
  } else {
    step = (stop.to<double>() - start.to<double>()) / static_cast<double>(gaps);
  }
  return spaced(start, step, num, endpoint ? std::optional(stop) : std::nullopt, device);
}

__extension__ typedef __int128 Wide;

/// The value of a whole number of any kind.
Wide whole(const Scalar& number) {
  if (number.kind() == Scalar::Kind::uint_) return static_cast<Wide>(number.to<std::uint64_t>());
  return number.to<std::int64_t>();
}

std::int64_t arange_length(const Scalar& start, const Scalar& stop, const Scalar& step) {
  if (start.is_floating() || stop.is_floating() || step.is_floating()) {
    if (step.to<double>() == 0) fail<ValueError>("the step cannot be zero");
    const double length = std::ceil((stop.to<double>() - start.to<double>()) / step.to<double>());
    if (!(length < 9.0e18))
      fail<ValueError>("from {} to {} in steps of {} is no finite number of elements", start, stop, step);
    return length > 0 ? static_cast<std::int64_t>(length) : 0;
  }
  const Wide by = whole(step);
  if (by == 0) fail<ValueError>("the step cannot be zero");
  const Wide distance = whole(stop) - whole(start);
  if (distance == 0 || (distance > 0) != (by > 0)) return 0;
  const Wide length = by > 0 ? (distance + by - 1) / by : (distance + by + 1) / by;
  // What is above is refused as a shape.
  return static_cast<std::int64_t>(std::min<Wide>(length, std::numeric_limits<std::int64_t>::max()));
}

/// The largest of `length` whole numbers.
Wide largest_whole(const Scalar& start, const Scalar& step, std::int64_t length) {
  return std::max(whole(start), whole(start) + (length - 1) * whole(step));
}

constexpr Wide kBeyondInt64 = Wide{1} << 63;

/// The dtype of whole numbers from `start` to before `stop`: int64, or uint64 where a number is beyond it.
DType arange_dtype(const Scalar& start, const Scalar& stop, const Scalar& step) {
  const std::int64_t length = arange_length(start, stop, step);
  if (length == 0 || largest_whole(start, step, length) < kBeyondInt64) return kDefaultInt;
  const Wide first = whole(start);
  const Wide last = first + (length - 1) * whole(step);
  if (std::min(first, last) < 0) fail<OverflowError>("no integer dtype holds both {} and {}", start, stop);
  return DType::uint64;
}

/// A vector on the diagonal `offset` of square matrices made of new last axes.
Tensor embedded(const Tensor& x, std::int64_t offset) {
  const std::int64_t last = x.rank() - 1;
  const std::int64_t extra = std::abs(offset);
  Ints none(static_cast<std::size_t>(x.rank()), 0);
  Ints high = none;
  high.back() = extra;
  const Tensor padded = extra == 0 ? x : prim::pad_constant(x, zero_of(x.dtype()), none, high);
  const std::int64_t order = padded.shape().back();
  // Above the main diagonal row i holds element i, below it column i does.
  const Tensor spread = with_axis(padded, offset >= 0 ? last + 1 : last);
  return where(diagonal_mask(order, order, offset, true, x.device()), spread, zero_of(x.dtype()));
}

/// Cosines of the angles 2 pi i / (length - 1) times `factor`, for i < window_length.
Tensor window_cosine(std::int64_t window_length, bool periodic, double factor, Device device) {
  const auto gaps = static_cast<double>(periodic ? window_length : window_length - 1);
  return cos(prim::iota(window_length, 0.0, factor * 2 * std::numbers::pi / gaps, DType::float64, device));
}

/// Runs `window` unless the length makes it trivial; then in `dtype`.
template <class Window>
Tensor make_window(std::int64_t window_length, std::optional<DType> dtype, std::optional<Device> device,
                   Window window) {
  require_lengths({window_length});
  const DType result = dtype.value_or(kDefaultFloat);
  if (!is_floating(result)) fail<DTypeError>("a window has a floating dtype, not {}", result);
  if (window_length <= 1) return prim::full(Shape{window_length}, 1, result, device_or(device));
  return converted(window(device_or(device)), result);
}

/// Elements on and below diagonal k, which is from -rows to columns; that all of them can be counted is known.
std::int64_t count_lower(std::int64_t rows, std::int64_t columns, std::int64_t k) {
  // Row r has r + k + 1 of them, but none before the first row and all columns from the first full one on.
  const std::int64_t first = std::clamp<std::int64_t>(-k, 0, rows);
  const std::int64_t full = std::clamp<std::int64_t>(columns - k - 1, first, rows);
  const std::int64_t growing = full - first;
  const std::int64_t ends = (first + k + 1) + (full + k);
  return (growing % 2 == 0 ? growing / 2 * ends : ends / 2 * growing) + (rows - full) * columns;
}

Tensor triangle_indices(const Tensor& mask, std::int64_t count, std::int64_t n_cols) {
  const Tensor positions = prim::flat_nonzero(mask, count);
  const std::int64_t width = std::max<std::int64_t>(n_cols, 1);
  return prim::concatenate({with_axis(floor_divide(positions, width), 0), with_axis(remainder(positions, width), 0)},
                           0);
}

}  // namespace

Tensor full(const Ints& shape, const Operand& fill_value, std::optional<DType> dtype, std::optional<Device> device) {
  if (!fill_value.is_tensor()) {
    return number_tensor(fill_value.scalar(), dtype.value_or(default_dtype(fill_value.scalar())), device_or(device),
                         shape);
  }
  const Tensor& value = fill_value.tensor();
  return broadcast(converted(value, dtype.value_or(value.dtype())), shape);
}

Tensor zeros(const Ints& shape, std::optional<DType> dtype, std::optional<Device> device) {
  return prim::full(shape, 0, dtype.value_or(kDefaultFloat), device_or(device));
}

Tensor ones(const Ints& shape, std::optional<DType> dtype, std::optional<Device> device) {
  return prim::full(shape, 1, dtype.value_or(kDefaultFloat), device_or(device));
}

Tensor empty(const Ints& shape, std::optional<DType> dtype, std::optional<Device> device) {
  return composite::zeros(shape, dtype, device);
}

Tensor full_like(const Tensor& x, const Operand& fill_value, std::optional<DType> dtype, std::optional<Device> device) {
  return composite::full(x.shape(), fill_value, dtype.value_or(x.dtype()), device.value_or(x.device()));
}

Tensor zeros_like(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device) {
  return prim::full(x.shape(), 0, dtype.value_or(x.dtype()), device.value_or(x.device()));
}

Tensor ones_like(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device) {
  return prim::full(x.shape(), 1, dtype.value_or(x.dtype()), device.value_or(x.device()));
}

Tensor empty_like(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device) {
  return composite::zeros_like(x, dtype, device);
}

Tensor arange(const Scalar& start, const std::optional<Scalar>& stop, const Scalar& step, std::optional<DType> dtype,
              std::optional<Device> device) {
  const Scalar first = stop ? start : Scalar(0);
  const Scalar end = stop ? *stop : start;
  if (first.is_complex() || end.is_complex() || step.is_complex()) fail<DTypeError>("complex numbers have no order");
  const bool floating = first.is_floating() || end.is_floating() || step.is_floating();
  const DType result = dtype ? *dtype : floating ? kDefaultFloat : arange_dtype(first, end, step);
  const std::int64_t length = arange_length(first, end, step);
  if (!floating && length > 0 && is_integer(result) && result != DType::uint64 &&
      largest_whole(first, step, length) >= kBeyondInt64) {
    fail<OverflowError>("the integers from {} to before {} do not fit into {}", first, end, result);
  }
  if (floating && is_integer(result)) {
    return prim::astype(prim::iota(length, first, step, DType::float64, device_or(device)), result);
  }
  return prim::iota(length, first, step, result, device_or(device));
}

Tensor linspace(const Scalar& start, const Scalar& stop, std::int64_t num, std::optional<DType> dtype,
                std::optional<Device> device, bool endpoint) {
  const bool complex = start.is_complex() || stop.is_complex();
  const DType result = dtype.value_or(complex ? kDefaultComplex : kDefaultFloat);
  if (complex && !is_complex(result)) fail<DTypeError>("complex bounds need a complex dtype, not {}", result);
  const Tensor values = spaced_between(start, stop, num, endpoint, device_or(device));
  return converted(is_integer(result) ? floor(values) : values, result);
}

Tensor logspace(const Scalar& start, const Scalar& stop, std::int64_t num, bool endpoint, double base,
                std::optional<DType> dtype, std::optional<Device> device) {
  if (start.is_complex() || stop.is_complex()) fail<DTypeError>("the exponents must be real");
  const Tensor exponents = spaced_between(start, stop, num, endpoint, device_or(device));
  return converted(lento::pow(base, exponents), dtype.value_or(kDefaultFloat));
}

Tensor geomspace(const Scalar& start, const Scalar& stop, std::int64_t num, bool endpoint, std::optional<DType> dtype,
                 std::optional<Device> device) {
  const double first = start.to<double>();
  const double last = stop.to<double>();
  if (start.is_complex() || stop.is_complex() || !(first * last > 0)) {
    fail<ValueError>("start and stop must be real, different from zero and of one sign, got {} and {}", start, stop);
  }
  const Tensor exponents =
      spaced_between(std::log10(std::abs(first)), std::log10(std::abs(last)), num, endpoint, device_or(device));
  Tensor values = multiply(lento::pow(10.0, exponents), first < 0 ? -1.0 : 1.0);
  const Tensor position = counting(num, device_or(device));
  values = where(equal(position, 0), first, values);
  if (endpoint && num > 1) values = where(equal(position, num - 1), last, values);
  return converted(values, dtype.value_or(kDefaultFloat));
}

Tensor eye(std::int64_t n_rows, std::optional<std::int64_t> n_cols, std::int64_t k, std::optional<DType> dtype,
           std::optional<Device> device) {
  require_lengths({n_rows, n_cols.value_or(n_rows)});
  return converted(diagonal_mask(n_rows, n_cols.value_or(n_rows), k, true, device_or(device)),
                   dtype.value_or(kDefaultFloat));
}

Tensor tri(std::int64_t n_rows, std::optional<std::int64_t> n_cols, std::int64_t k, std::optional<DType> dtype,
           std::optional<Device> device) {
  require_lengths({n_rows, n_cols.value_or(n_rows)});
  return converted(diagonal_mask(n_rows, n_cols.value_or(n_rows), k, false, device_or(device)),
                   dtype.value_or(kDefaultFloat));
}

Tensor tril(const Tensor& x, std::int64_t k) {
  require_rank(x, 2, "a matrix");
  const std::size_t rank = x.shape().size();
  return where(diagonal_mask(x.shape()[rank - 2], x.shape()[rank - 1], k, false, x.device()), x, zero_of(x.dtype()));
}

Tensor triu(const Tensor& x, std::int64_t k) {
  require_rank(x, 2, "a matrix");
  const std::size_t rank = x.shape().size();
  const std::int64_t below = k == std::numeric_limits<std::int64_t>::min() ? k : k - 1;
  return where(diagonal_mask(x.shape()[rank - 2], x.shape()[rank - 1], below, false, x.device()), zero_of(x.dtype()),
               x);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& arrays, std::string_view indexing) {
  const auto rank = static_cast<std::int64_t>(arrays.size());
  const bool swapped = indexing == "xy" && rank >= 2;
  const auto axis_at = [&](std::int64_t i) { return swapped && i < 2 ? 1 - i : i; };
  Shape shape(arrays.size(), 1);
  for (std::int64_t i = 0; i < rank; ++i) {
    const Tensor& x = arrays[static_cast<std::size_t>(i)];
    if (x.rank() > 1) fail<ShapeError>("tensor {} must have at most one axis, got {}", i, types_of(arrays));
    shape[static_cast<std::size_t>(axis_at(i))] = x.size();
  }
  std::vector<Tensor> result;
  for (std::int64_t i = 0; i < rank; ++i)
    result.push_back(broadcast(along(arrays[static_cast<std::size_t>(i)], axis_at(i), rank), shape));
  return result;
}

Tensor indices(const Ints& dimensions, std::optional<DType> dtype, std::optional<Device> device) {
  const auto rank = static_cast<std::int64_t>(dimensions.size());
  for (const std::int64_t extent : dimensions) require_lengths({extent});
  const Shape shape(dimensions);
  const DType made = dtype.value_or(kDefaultInt);
  if (rank == 0) return number_tensor(0, made, device_or(device), Shape{0});
  std::vector<Tensor> grids;
  for (std::int64_t i = 0; i < rank; ++i) {
    const Tensor positions = counting(shape[static_cast<std::size_t>(i)], device_or(device), made);
    grids.push_back(broadcast(along(positions, i, rank), shape));
  }
  return lento::stack(grids, 0);
}

std::vector<Tensor> ix_(const std::vector<Tensor>& arrays) {
  const auto rank = static_cast<std::int64_t>(arrays.size());
  std::vector<Tensor> result;
  for (std::int64_t i = 0; i < rank; ++i) {
    const Tensor& x = arrays[static_cast<std::size_t>(i)];
    if (x.rank() != 1) fail<ShapeError>("tensor {} must be a vector, got {}", i, types_of(arrays));
    result.push_back(along(is_bool(x.dtype()) ? lento::flatnonzero(x) : x, i, rank));
  }
  return result;
}

Tensor diag(const Tensor& x, std::int64_t k) {
  if (x.rank() == 1) return embedded(x, k);
  if (x.rank() != 2) fail<ShapeError>("{} is neither a vector nor a matrix", type_of(x));
  return lento::diagonal(x, k, 0, 1);
}

Tensor diag_embed(const Tensor& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  require_rank(x, 1, "a vector");
  return lento::moveaxis(embedded(x, offset), Ints{-2, -1}, Ints{axis1, axis2});
}

Tensor vander(const Tensor& x, std::optional<std::int64_t> n_cols, bool increasing) {
  if (x.rank() != 1) fail<ShapeError>("{} is no vector", type_of(x));
  const std::int64_t columns = n_cols.value_or(x.size());
  require_lengths({columns});
  const Tensor exponents =
      prim::iota(columns, increasing ? 0 : columns - 1, increasing ? 1 : -1, DType::int64, x.device());
  return lento::pow(with_axis(x, 1), converted(exponents, x.dtype()));
}

Tensor tril_indices(std::int64_t n_rows, std::optional<std::int64_t> n_cols, std::int64_t k,
                    std::optional<Device> device) {
  const std::int64_t columns = n_cols.value_or(n_rows);
  require_lengths({n_rows, columns});
  const std::int64_t diagonal = std::clamp(k, -n_rows, columns);
  const Tensor mask = diagonal_mask(n_rows, columns, diagonal, false, device_or(device));
  return triangle_indices(mask, count_lower(n_rows, columns, diagonal), columns);
}

Tensor triu_indices(std::int64_t n_rows, std::optional<std::int64_t> n_cols, std::int64_t k,
                    std::optional<Device> device) {
  const std::int64_t columns = n_cols.value_or(n_rows);
  require_lengths({n_rows, columns});
  const std::int64_t below = std::clamp(k, -n_rows, columns) - 1;
  const Tensor mask = logical_not(diagonal_mask(n_rows, columns, below, false, device_or(device)));
  return triangle_indices(mask, n_rows * columns - count_lower(n_rows, columns, below), columns);
}

Tensor bartlett_window(std::int64_t window_length, bool periodic, std::optional<DType> dtype,
                       std::optional<Device> device) {
  return make_window(window_length, dtype, device, [&](Device on) {
    const auto gaps = static_cast<double>(periodic ? window_length : window_length - 1);
    return subtract(1.0, abs(prim::iota(window_length, -1.0, 2 / gaps, DType::float64, on)));
  });
}

Tensor blackman_window(std::int64_t window_length, bool periodic, std::optional<DType> dtype,
                       std::optional<Device> device) {
  return make_window(window_length, dtype, device, [&](Device on) {
    const Tensor once = multiply(window_cosine(window_length, periodic, 1, on), -0.5);
    return add(add(once, 0.42), multiply(window_cosine(window_length, periodic, 2, on), 0.08));
  });
}

Tensor hamming_window(std::int64_t window_length, bool periodic, std::optional<DType> dtype,
                      std::optional<Device> device) {
  return make_window(window_length, dtype, device, [&](Device on) {
    return add(multiply(window_cosine(window_length, periodic, 1, on), -0.46), 0.54);
  });
}

Tensor hann_window(std::int64_t window_length, bool periodic, std::optional<DType> dtype,
                   std::optional<Device> device) {
  return make_window(window_length, dtype, device, [&](Device on) {
    return add(multiply(window_cosine(window_length, periodic, 1, on), -0.5), 0.5);
  });
}

}  // namespace lento::composite
