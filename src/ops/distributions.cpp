// Quantiles, histograms and counts (ops/statistics.yaml).
#include "base/dispatch.h"
#include "base/fail.h"
#include "executor/transfer.h"
#include "ops/composite_helpers.h"
#include "ops/distributions.calls.gen.h"
#include "ops/nonnegative_index.h"
#include "tensor/state.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace lento::composite {

namespace {

/// The reduced axes as one last axis, sorted along it; nan comes last.
Tensor sorted_last(const Tensor& x, const Ints& axes) {
  Ints order, kept;
  for (std::int64_t i = 0; i < x.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) kept.push_back(i);
  }
  order.append(kept);
  order.append(axes);
  Shape shape = without_axes(x.shape(), axes);
  shape.push_back(count_along(x, axes));
  return prim::sort_values(reshaped(permuted(x, order), shape), static_cast<std::int64_t>(shape.size()) - 1, false);
}

/// The elements of sorted rows (..., n) at whole positions (..., m), where `valid` (m,) holds.
Tensor at_positions(const Tensor& sorted, const Tensor& positions, const std::optional<Tensor>& valid) {
  Shape shape = sorted.shape();
  shape.back() = positions.shape().back();
  Tensor index = converted(positions, DType::int64);
  if (valid) index = where(*valid, index, static_cast<std::int64_t>(Refused::quantile));
  return prim::take_along_axis(sorted, broadcast(index, shape), sorted.rank() - 1);
}

/// The vector, or a failure for that reason where `valid` (zero-dimensional) does not hold.
Tensor refused_unless(const Tensor& valid, const Tensor& vector, Refused reason) {
  const Tensor index = where(valid, counting(vector.size(), vector.device()), static_cast<std::int64_t>(reason));
  return prim::take_axis(vector, index, 0);
}

/// The ends of a range of bins.
struct Ends {
  Scalar first, last;
};

/// Edges that somebody gave, in a dtype that holds the values too.
Tensor checked_edges(const Tensor& given, const Tensor& values) {
  const Tensor edges = converted(given, promote(values.dtype(), given.dtype()));
  if (edges.size() < 2) fail<ValueError>("{} edges make no bin", edges.size());
  const std::int64_t inner = edges.size() - 1;
  const Tensor falls = greater(sliced(edges, 0, 0, inner), sliced(edges, 0, 1, inner));
  return refused_unless(logical_not(any(falls)), edges, Refused::histogram_edges);
}

/// The edges of `count` bins of one width between the ends, or the smallest and largest of the values.
Tensor even_edges(const Tensor& values, std::int64_t count, const std::optional<Ends>& range) {
  const Device device = values.device();
  if (count < 1) fail<ValueError>("there must be at least one bin, got {}", count);
  Tensor low, high;
  if (range) {
    const double first = range->first.to<double>();
    const double end = range->last.to<double>();
    if (!std::isfinite(end - first) || first > end) {
      fail<ValueError>("a range has a finite length, and its first end is not above the second, got {} and {}",
                       range->first, range->last);
    }
    low = number_tensor(first, DType::float64, device);
    high = number_tensor(end, DType::float64, device);
  } else if (values.size() == 0) {
    low = number_tensor(0.0, DType::float64, device);
    high = number_tensor(1.0, DType::float64, device);
  } else {
    const Tensor ends = converted(
        prim::concatenate({prim::reduce_min(values, Ints{0}, true), prim::reduce_max(values, Ints{0}, true)}, 0),
        DType::float64);
    const Tensor checked =
        refused_unless(isfinite(subtract(picked(ends, 0, 1), picked(ends, 0, 0))), ends, Refused::histogram_range);
    low = picked(checked, 0, 0);
    high = picked(checked, 0, 1);
  }
  const Tensor same = equal(low, high);
  low = where(same, subtract(low, 0.5), low);
  high = where(same, add(high, 0.5), high);
  const Tensor step = divide(subtract(high, low), static_cast<double>(count));
  const Tensor position = counting(count + 1, device, DType::float64);
  // The last edge is exact, so that the largest element is inside.
  return converted(where(equal(position, static_cast<double>(count)), high, add(low, multiply(position, step))),
                   values.dtype());
}

/// The bin that each value falls into; what lies outside is in one bin more.
Tensor bin_of(const Tensor& values, const Tensor& edges) {
  const std::int64_t count = edges.size() - 1;
  const Tensor compared = converted(values, edges.dtype());
  const Tensor bin = subtract(prim::search_sorted(edges, compared, true), 1);
  const Tensor last = picked(edges, 0, count);
  const Tensor inside = bitwise_and(greater_equal(compared, picked(edges, 0, 0)), less_equal(compared, last));
  return where(inside, where(equal(compared, last), count - 1, bin), count);
}

/// What each value of `x` adds to its bin.
Tensor amounts_of(const Tensor& x, const std::optional<Tensor>& weights) {
  if (!weights) return number_tensor(1, DType::int64, x.device(), Shape{x.size()});
  if (weights->shape() != x.shape())
    fail<ShapeError>("the weights {} must have the shape of {}", type_of(*weights), type_of(x));
  return converted(flat(*weights), sum_dtype(weights->dtype()));
}

/// The amounts summed by bin, with one bin more for what lies outside.
Tensor amounts_at(const Tensor& bin, std::int64_t count, const Tensor& amounts) {
  const Tensor none = number_tensor(0, amounts.dtype(), amounts.device(), Shape{count + 1});
  return prim::scatter_nd(none, amounts, {bin}, "add");
}

Tensor widths_of(const Tensor& edges) {
  const std::int64_t count = edges.size() - 1;
  return subtract(sliced(edges, 0, 1, count), sliced(edges, 0, 0, count));
}

/// Throws ValueError unless the quantiles are in range. Of a tensor only a value that the host has already is looked
/// at: nothing is computed or copied for it, and a value to come is refused when it comes.
void check_quantiles(const Operand& q, double most) {
  const auto check = [&](double value) {
    if (value >= 0 && value <= most) return;
    fail<ValueError>("a {} lies between 0 and {}, got {}", most == 1 ? "quantile" : "percentile", most, value);
  };
  if (!q.is_tensor()) {
    if (q.scalar().is_complex()) fail<DTypeError>("a quantile is a real number, got {}", q.scalar());
    return check(q.scalar().to<double>());
  }
  if (is_complex(q.tensor().dtype())) fail<DTypeError>("quantiles are real numbers, got {}", type_of(q.tensor()));
  const TensorState& state = state_of(q.tensor());
  if (state.pending()) return;
  const auto* data = static_cast<const std::byte*>(known_on_host(*state.value));
  if (data == nullptr) return;
  dispatch(state.dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < q.tensor().size(); ++i) {
      T element;
      std::memcpy(&element, data + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
      if constexpr (requires { static_cast<double>(element); }) check(static_cast<double>(element));
    }
  });
}

/// Between two neighbours, NumPy's way: exact at both ends.
Tensor between(const Tensor& low, const Tensor& high, const Tensor& weight) {
  const Tensor distance = subtract(high, low);
  const Tensor from_low = add(low, multiply(distance, weight));
  const Tensor from_high = subtract(high, multiply(distance, subtract(1, weight)));
  // Equal neighbours, also infinite ones, need no arithmetic.
  return where(equal(low, high), low, where(less(weight, 0.5), from_low, from_high));
}

Tensor quantiles(const Tensor& x, const Operand& q, const std::optional<Ints>& axis, std::string_view method,
                 bool keepdims, bool skip_nan) {
  const Ints axes = axes_of(x, axis);
  const std::int64_t count = count_along(x, axes);
  if (count == 0) fail<ValueError>("{} has no elements over axes {}", type_of(x), axes);
  const Tensor wanted = as_tensor(q, DType::float64, x.device());
  const DType work = is_half(x.dtype()) ? DType::float32 : x.dtype();
  const Tensor sorted = sorted_last(converted(x, work), axes);
  const std::int64_t last = sorted.rank() - 1;

  // Positions are (..., m) for m quantiles; the number of elements is a number, or one for each row.
  const Tensor row = flat(wanted);
  std::optional<Tensor> valid;
  if (q.is_tensor()) valid = bitwise_and(greater_equal(row, 0), less_equal(row, 1));
  Tensor position;
  if (skip_nan) {
    const Tensor present = count_true(logical_not(isnan(sorted)), Ints{last}, true);
    position = maximum(multiply(row, converted(subtract(present, 1), DType::float64)), 0);
  } else {
    position = multiply(row, static_cast<double>(count - 1));
    Shape shape(sorted.shape().size(), 1);
    shape.back() = row.size();
    position = reshaped(position, shape);
  }
  const Tensor below = floor(position);
  const Tensor above = ceil(position);
  Tensor result;
  if (method == "lower") {
    result = at_positions(sorted, below, valid);
  } else if (method == "higher") {
    result = at_positions(sorted, above, valid);
  } else if (method == "nearest") {
    result = at_positions(sorted, round(position), valid);
  } else {
    const Tensor weight = method == "midpoint" ? multiply(subtract(above, below), 0.5) : subtract(position, below);
    result = between(at_positions(sorted, below, valid), at_positions(sorted, above, valid), converted(weight, work));
  }
  // nan sorts last, so that the last element tells whether there is one.
  if (!skip_nan) {
    const Tensor largest = sliced(sorted, last, count - 1, 1);
    result = where(isnan(largest), largest, result);
  }
  Shape shape = wanted.shape();
  shape.append(without_axes(x.shape(), axes, keepdims));
  return converted(reshaped(move_axis(result, last, 0), shape), x.dtype());
}

}  // namespace

Tensor median(const Tensor& x, const std::optional<Ints>& axis, bool keepdims) {
  return quantiles(x, 0.5, axis, "linear", keepdims, false);
}

Tensor nanmedian(const Tensor& x, const std::optional<Ints>& axis, bool keepdims) {
  return quantiles(x, 0.5, axis, "linear", keepdims, true);
}

Tensor quantile(const Tensor& x, const Operand& q, const std::optional<Ints>& axis, std::string_view method,
                bool keepdims) {
  check_quantiles(q, 1);
  return quantiles(x, q, axis, method, keepdims, false);
}

Tensor nanquantile(const Tensor& x, const Operand& q, const std::optional<Ints>& axis, std::string_view method,
                   bool keepdims) {
  check_quantiles(q, 1);
  return quantiles(x, q, axis, method, keepdims, true);
}

Tensor percentile(const Tensor& x, const Operand& q, const std::optional<Ints>& axis, std::string_view method,
                  bool keepdims) {
  check_quantiles(q, 100);
  const Tensor hundredths = as_tensor(q, DType::float64, x.device());
  if (!q.is_tensor()) return quantiles(x, q.scalar().to<double>() / 100, axis, method, keepdims, false);
  return quantiles(x, divide(hundredths, 100), axis, method, keepdims, false);
}

HistogramResult histogram(const Tensor& x, const Operand& bins, const std::optional<std::vector<Scalar>>& range,
                          const std::optional<Tensor>& weights, bool density) {
  const Tensor values = flat(to_float(x));
  Tensor edges;
  if (bins.is_tensor() && bins.tensor().rank() == 1) {
    edges = checked_edges(bins.tensor(), values);
  } else {
    if (bins.is_tensor() || !bins.scalar().is_integer())
      fail<ValueError>("bins must be an integer or a vector of edges");
    if (range && range->size() != 2) fail<ValueError>("a range has two ends, got {}", range->size());
    std::optional<Ends> ends;
    if (range) ends = Ends{(*range)[0], (*range)[1]};
    edges = even_edges(values, bins.scalar().to<std::int64_t>(), ends);
  }
  const std::int64_t count = edges.size() - 1;
  Tensor hist = sliced(amounts_at(bin_of(values, edges), count, amounts_of(x, weights)), 0, 0, count);
  if (density) {
    const Tensor amount = to_float(hist);
    hist = divide(divide(amount, widths_of(edges)), sum_over(amount, Ints{0}));
  }
  return {hist, edges};
}

Histogram2dResult histogram2d(const Tensor& x, const Tensor& y, const Ints& bins,
                              const std::optional<std::vector<Scalar>>& range, bool density,
                              const std::optional<Tensor>& weights, const std::optional<std::vector<Tensor>>& edges) {
  if (x.shape() != y.shape()) fail<ShapeError>("{} and {} must have one shape", type_of(x), type_of(y));
  if (bins.empty() || bins.size() > 2) fail<ValueError>("bins has one number or two, got {}", bins.size());
  if (range && range->size() != 4) fail<ValueError>("the range has two ends for each axis, got {}", range->size());
  if (edges && edges->size() != 2) fail<ValueError>("edges has a vector for each axis, got {}", edges->size());
  const auto edges_along = [&](const Tensor& values, std::size_t axis) {
    if (edges) {
      if ((*edges)[axis].rank() != 1) fail<ShapeError>("the edges {} are no vector", type_of((*edges)[axis]));
      return checked_edges((*edges)[axis], values);
    }
    std::optional<Ends> ends;
    if (range) ends = Ends{(*range)[2 * axis], (*range)[2 * axis + 1]};
    return even_edges(values, bins[bins.size() == 1 ? 0 : axis], ends);
  };
  const Tensor across = flat(to_float(x));
  const Tensor down = flat(to_float(y));
  const Tensor x_edges = edges_along(across, 0);
  const Tensor y_edges = edges_along(down, 1);
  const std::int64_t rows = x_edges.size() - 1;
  const std::int64_t columns = y_edges.size() - 1;
  const Tensor row = bin_of(across, x_edges);
  const Tensor column = bin_of(down, y_edges);
  const Tensor inside = bitwise_and(less(row, rows), less(column, columns));
  const Tensor target = where(inside, add(multiply(row, columns), column), rows * columns);
  const Tensor counts = amounts_at(target, rows * columns, amounts_of(x, weights));
  Tensor hist = to_float(reshaped(sliced(counts, 0, 0, rows * columns), Shape{rows, columns}));
  if (density) {
    const Tensor areas = multiply(with_axis(widths_of(x_edges), 1), widths_of(y_edges));
    hist = divide(divide(hist, areas), sum_over(hist, Ints{0, 1}));
  }
  return {hist, x_edges, y_edges};
}

Tensor bincount(const Tensor& x, const std::optional<Tensor>& weights, std::int64_t minlength) {
  if (x.rank() != 1) fail<ShapeError>("{} is no vector", type_of(x));
  if (!is_integer(x.dtype())) fail<DTypeError>("only integers can be counted, got {}", type_of(x));
  if (minlength < 0) fail<ValueError>("minlength cannot be negative, got {}", minlength);
  std::int64_t length = minlength;
  if (x.size() > 0) {
    const Tensor wide = signed_index(x);
    const Tensor ends =
        prim::concatenate({prim::reduce_min(wide, Ints{0}, true), prim::reduce_max(wide, Ints{0}, true)}, 0);
    const std::vector<std::int64_t> known = ends.to_vector<std::int64_t>();
    if (known[0] < 0) fail<ValueError>("the numbers to be counted cannot be negative, got {}", known[0]);
    if (known[1] == std::numeric_limits<std::int64_t>::max())
      fail<ValueError>("the numbers to be counted must be less than {}", known[1]);
    length = std::max(length, known[1] + 1);
  }
  Tensor amounts;
  if (weights) {
    if (weights->shape() != x.shape())
      fail<ShapeError>("the weights {} must have the shape of {}", type_of(*weights), type_of(x));
    amounts = to_float(*weights);
  } else {
    amounts = number_tensor(1, DType::int64, x.device(), x.shape());
  }
  const Tensor empty_bins = number_tensor(0, amounts.dtype(), x.device(), Shape{length});
  return x.size() == 0 ? empty_bins : prim::scatter_nd(empty_bins, amounts, {x}, "add");
}

}  // namespace lento::composite
