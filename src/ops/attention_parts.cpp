#include "ops/attention_parts.h"

#include "base/fail.h"
#include "ops/attention_parts.calls.gen.h"
#include "ops/composite_helpers.h"

#include <limits>

namespace lento::composite {

namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// True where row i may see column j: j <= i.
Tensor causal_mask(std::int64_t rows, std::int64_t columns, const Device& device) {
  const Tensor i = reshaped(prim::iota(rows, 0, 1, DType::int64, device), Shape{rows, 1});
  return less_equal(prim::iota(columns, 0, 1, DType::int64, device), i);
}

}  // namespace

Tensor repeat_heads(const Tensor& x, std::int64_t heads) {
  const std::size_t rank = x.shape().size();
  const std::int64_t own = x.shape()[rank - 3];
  if (own == heads) return x;
  if (own == 0 || heads % own != 0)
    fail<ShapeError>("{} query heads are no multiple of {} key or value heads", heads, own);
  Shape spread(x.shape());
  spread.insert(rank - 2, heads / own);
  Shape shape(x.shape());
  shape[rank - 3] = heads;
  return reshaped(prim::broadcast_to(with_axis(x, static_cast<std::int64_t>(rank) - 2), spread), shape);
}

Tensor attention_scores(const Tensor& query, const Tensor& key, const Scalar& scale, const std::optional<Tensor>& mask,
                        bool causal) {
  Tensor scores = multiply(prim::matrix_multiply(widen(query), swap_last(widen(key))), scale);
  const std::int64_t rows = scores.shape()[scores.shape().size() - 2];
  if (causal) scores = where(causal_mask(rows, scores.shape().back(), query.device()), scores, kMinusInfinity);
  if (!mask) return scores;
  if (mask->dtype() == DType::bool_) return where(*mask, scores, kMinusInfinity);
  return add(scores, converted(*mask, scores.dtype()));
}

}  // namespace lento::composite
