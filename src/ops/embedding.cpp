// Looking rows up by number (ops/embedding.yaml).
#include <lento/differentiation.h>

#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/embedding.calls.gen.h"
#include "ops/nonnegative_index.h"

#include <limits>

namespace lento::composite {

namespace {

void check_table(const Tensor& x, const Tensor& weight) {
  if (!is_integer(x.dtype())) fail<DTypeError>("row numbers must be integers, got {}", x.dtype());
  if (weight.shape().size() != 2) fail<ShapeError>("the weight must have 2 axes, got shape {}", weight.shape());
}

/// The padding row counted from the front.
std::optional<std::int64_t> checked_padding(std::optional<std::int64_t> padding, std::int64_t rows) {
  if (!padding) return std::nullopt;
  if (*padding < -rows || *padding >= rows)
    fail<IndexError>("padding_idx {} is out of range for {} rows", *padding, rows);
  return *padding < 0 ? *padding + rows : *padding;
}

/// Rows are looked up by numbers from 0 on.
Tensor row_numbers(const Tensor& x) {
  return is_unsigned_integer(x.dtype()) ? x : nonnegative_index(converted(x, DType::int64));
}

/// The bag each of `items` positions belongs to: how many offsets are at or before it, less one.
Tensor bags_of(const Tensor& offsets, std::int64_t items) {
  const Tensor positions = prim::iota(items, 0, 1, offsets.dtype(), offsets.device());
  return subtract(prim::search_sorted(offsets, positions, true), 1);
}

}  // namespace

Tensor embedding(const Tensor& x, const Tensor& weight, std::optional<std::int64_t> padding_idx) {
  check_table(x, weight);
  const auto padding = checked_padding(padding_idx, weight.shape()[0]);
  const Tensor rows = prim::take_axis(weight, row_numbers(x), 0);
  // The padding row is looked up like any other, and not trained.
  return padding ? where(with_axis(equal(converted(x, DType::int64), *padding), -1), stop_gradient(rows), rows) : rows;
}

Tensor embedding_bag(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& offsets, std::string_view mode,
                     const std::optional<Tensor>& per_sample_weights, std::optional<std::int64_t> padding_idx) {
  check_table(x, weight);
  const std::size_t rank = x.shape().size();
  if (rank != (offsets ? 1U : 2U)) {
    fail<ShapeError>("row numbers must be (bags, items), or (items,) with offsets; got shape {} {} offsets", x.shape(),
                     offsets ? "with" : "without");
  }
  if (offsets && (offsets->shape().size() != 1 || !is_integer(offsets->dtype()))) {
    fail<ShapeError>("offsets must be a list of integers, got {} of shape {}", offsets->dtype(), offsets->shape());
  }
  if (per_sample_weights && (mode != "sum" || per_sample_weights->shape() != x.shape())) {
    fail<ValueError>("per_sample_weights need mode 'sum' and the shape of the row numbers");
  }
  const auto padding = checked_padding(padding_idx, weight.shape()[0]);
  Tensor rows = widen(prim::take_axis(weight, row_numbers(x), 0));
  const DType dtype = rows.dtype();
  if (per_sample_weights) rows = multiply(rows, with_axis(converted(*per_sample_weights, dtype), -1));
  const bool largest = mode == "max";
  const Tensor counted =
      padding ? not_equal(converted(x, DType::int64), *padding) : prim::full(x.shape(), true, DType::bool_, x.device());
  const double neutral = largest ? -std::numeric_limits<double>::infinity() : 0.0;
  if (padding) rows = where(with_axis(counted, -1), rows, neutral);

  const std::int64_t features = weight.shape()[1];
  const std::int64_t bags = offsets ? offsets->shape()[0] : x.shape()[0];
  const Shape shape{bags, features};
  Tensor result;
  Tensor counts;  // (bags, 1)
  if (offsets) {
    const Tensor bag = bags_of(*offsets, x.shape()[0]);
    const Tensor start = prim::full(shape, neutral, dtype, x.device());
    result = prim::scatter_nd(start, rows, {bag}, largest ? "maximum" : "add");
    const Tensor zeros = prim::full(Shape{bags}, 0, dtype, x.device());
    counts = with_axis(prim::scatter_nd(zeros, converted(counted, dtype), {bag}, "add"), -1);
  } else {
    if (x.shape()[1] == 0) return prim::full(shape, 0, weight.dtype(), x.device());
    result = largest ? prim::reduce_max(rows, Ints{1}, false) : prim::reduce_sum(rows, Ints{1}, false);
    counts = prim::reduce_sum(converted(counted, dtype), Ints{1}, true);
  }
  if (mode == "mean") result = divide(result, maximum(counts, 1));
  if (largest) result = where(equal(counts, 0), 0.0, result);
  return converted(result, weight.dtype());
}

Tensor one_hot(const Tensor& x, std::int64_t num_classes) {
  std::int64_t classes = num_classes;
  if (classes == -1) {
    if (x.size() == 0) fail<ValueError>("num_classes must be given for an empty tensor");
    classes = prim::reduce_max(x, all_axes(x.rank()), false).item<std::int64_t>() + 1;
  }
  if (classes < 1) fail<ValueError>("num_classes must be at least 1, got {}", num_classes);
  const Tensor numbers = prim::iota(classes, 0, 1, DType::int64, x.device());
  return prim::astype(equal(with_axis(converted(x, DType::int64), -1), numbers), DType::int64);
}

}  // namespace lento::composite
