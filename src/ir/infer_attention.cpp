// Shapes and dtypes of attention and its gradient.
#include "base/fail.h"
#include "ir/attrs_contraction.gen.h"
#include "ir/infer_common.h"
#include "ir/infer_contraction.gen.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace lento {

namespace {

std::int64_t from_end(const Meta& x, std::size_t axis) { return x.shape[x.shape.size() - axis]; }

DType score_type(DType dtype) { return is_half(dtype) ? DType::float32 : dtype; }

/// What all operands agree on: the axes before the heads, and the extents that have names in the catalogue.
struct Extents {
  Shape batch;
  std::int64_t heads;
  std::int64_t key_heads;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t features;
  std::int64_t values;

  /// (batch..., heads, rows, columns).
  Shape with(std::int64_t head_count, std::int64_t rows, std::int64_t columns) const {
    Shape shape = batch;
    shape.append(Ints{head_count, rows, columns});
    return shape;
  }
};

using Named = std::pair<const Meta*, std::string_view>;

/// The axes before the last three of all these and of the mask.
Shape batch_of(std::span<const Named> operands, std::span<const Meta> mask) {
  std::vector<Meta> batches;
  const auto add = [&](const Meta& x) {
    const std::size_t own = x.shape.size() < 3 ? 0 : x.shape.size() - 3;
    batches.push_back({x.dtype, Shape(x.shape.begin(), x.shape.begin() + own)});
  };
  for (const Named& operand : operands) add(*operand.first);
  if (!mask.empty()) add(mask[0]);
  return broadcast_all(batches);
}

void require_mask(std::span<const Meta> mask, const Extents& extents) {
  if (mask.empty()) return;
  if (mask.size() > 1) fail<ValueError>("mask holds one tensor or none, got {}", mask.size());
  if (!is_bool(mask[0].dtype) && !is_floating(mask[0].dtype))
    fail<DTypeError>("mask must be bool or floating, got {}", type_text(mask[0]));
  const Shape scores = extents.with(extents.heads, extents.queries, extents.keys);
  for (std::size_t axis = 1; axis <= std::min<std::size_t>(mask[0].shape.size(), 3); ++axis) {
    const std::int64_t extent = from_end(mask[0], axis);
    if (extent != 1 && extent != scores[scores.size() - axis])
      fail<ShapeError>("mask {} does not broadcast to the scores {}", type_text(mask[0]), scores);
  }
}

/// `others` are further operands, (..., heads, L, columns) each.
Extents require_extents(const Meta& query, const Meta& key, const Meta& value, std::span<const Named> others,
                        std::span<const Meta> mask) {
  std::vector<Named> operands{{&query, "query"}, {&key, "key"}, {&value, "value"}};
  operands.insert(operands.end(), others.begin(), others.end());
  for (const auto& [x, what] : operands) {
    if (x->shape.size() < 3)
      fail<ShapeError>("{} must have at least three axes, the last of them heads, positions and features, got {}", what,
                       type_text(*x));
  }
  if (!is_floating(query.dtype)) fail<DTypeError>("query must be floating, got {}", type_text(query));
  require_same_dtype(query, "query", key, "key");
  require_same_dtype(query, "query", value, "value");
  const Extents extents{batch_of(operands, mask), from_end(query, 3), from_end(key, 3),  from_end(query, 2),
                        from_end(key, 2),         from_end(query, 1), from_end(value, 1)};
  if (extents.features != from_end(key, 1))
    fail<ShapeError>("query {} and key {} have different numbers of features", type_text(query), type_text(key));
  if (extents.keys != from_end(value, 2) || extents.key_heads != from_end(value, 3)) {
    fail<ShapeError>("key {} and value {} have different numbers of heads or positions", type_text(key),
                     type_text(value));
  }
  if (extents.key_heads == 0 ? extents.heads != 0 : extents.heads % extents.key_heads != 0)
    fail<ShapeError>("{} query heads are no multiple of {} key heads", extents.heads, extents.key_heads);
  require_mask(mask, extents);
  return extents;
}

}  // namespace

std::array<Meta, 2> infer_attention(const Meta& query, const Meta& key, const Meta& value, std::span<const Meta> mask,
                                    AttentionAttrs&) {
  const Extents extents = require_extents(query, key, value, {}, mask);
  return {Meta{query.dtype, extents.with(extents.heads, extents.queries, extents.values)},
          Meta{score_type(query.dtype), extents.with(extents.heads, extents.queries, 1)}};
}

std::array<Meta, 3> infer_attention_grad(const Meta& query, const Meta& key, const Meta& value, const Meta& grad_output,
                                         const Meta& log_sum_exp, const Meta& shift, std::span<const Meta> mask,
                                         AttentionGradAttrs&) {
  const Named others[] = {{&grad_output, "grad_output"}, {&log_sum_exp, "log_sum_exp"}, {&shift, "shift"}};
  const Extents extents = require_extents(query, key, value, others, mask);
  require_same_dtype(query, "query", grad_output, "grad_output");
  const auto require_rows = [&](const Named& operand, std::int64_t columns) {
    const Meta& x = *operand.first;
    if (from_end(x, 3) != extents.heads || from_end(x, 2) != extents.queries || from_end(x, 1) != columns) {
      fail<ShapeError>("{} must be {} in its last three axes, got {}", operand.second,
                       Shape{extents.heads, extents.queries, columns}, type_text(x));
    }
  };
  require_rows(others[0], extents.values);
  for (const Named& each : {others[1], others[2]}) {
    require_rows(each, 1);
    if (each.first->dtype != score_type(query.dtype)) {
      fail<DTypeError>("{} must be {}, got {}", each.second, score_type(query.dtype), type_text(*each.first));
    }
  }
  return {Meta{query.dtype, extents.with(extents.heads, extents.queries, extents.features)},
          Meta{query.dtype, extents.with(extents.key_heads, extents.keys, extents.features)},
          Meta{query.dtype, extents.with(extents.key_heads, extents.keys, extents.values)}};
}

}  // namespace lento
