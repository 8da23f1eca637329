// Attention and dropout (ops/attention.yaml).
#include <lento/differentiation.h>

#include "base/fail.h"
#include "ops/attention.calls.gen.h"
#include "ops/attention_parts.h"
#include "ops/composite_helpers.h"
#include "ops/random_common.h"

#include <array>
#include <cmath>
#include <limits>

namespace lento::composite {

namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

double checked_probability(const Scalar& p) {
  const double value = p.to<double>();
  if (!(value >= 0 && value <= 1)) fail<ValueError>("the probability must be between 0 and 1, got {}", p);
  return value;
}

/// True with probability 1 - p. p is compared, never built in: it may change from step to step.
Tensor keep_mask(const Shape& shape, double p, const Tensor& like, Generator* generator) {
  return greater_equal(random_detail::unit({shape, DType::float32, like.device(), generator}), p);
}

Tensor drop(const Tensor& x, const Shape& mask_shape, const Scalar& p, bool training, Generator* generator) {
  const double probability = checked_probability(p);
  // 0 and 1 decide structure (clause T4): nothing is left to chance.
  if (!training || probability == 0) return x;
  if (probability == 1) return zeros_like(x);
  return where(keep_mask(mask_shape, probability, x, generator), multiply(x, 1 / (1 - probability)), 0.0);
}

/// dropout of channels: one choice for all that follows the first two axes (one axis without a batch).
Tensor drop_channels(std::size_t axes, const Tensor& x, const Scalar& p, bool training, Generator* generator) {
  const std::size_t rank = x.shape().size();
  if (rank != axes + 1 && rank != axes + 2) {
    fail<ShapeError>("the input must have {} or {} axes, got shape {}", axes + 1, axes + 2, x.shape());
  }
  Shape shape(x.shape());
  for (std::size_t axis = rank - axes; axis < rank; ++axis) shape[axis] = 1;
  return drop(x, shape, p, training, generator);
}

/// Softmax over the last axis; a row of nothing but -inf gives zeros and not nan.
Tensor softmax_of_seen(const Tensor& scores) {
  const Ints last{checked_axis(-1, scores.shape().size())};
  if (scores.shape().back() == 0) return scores;
  const Tensor largest = stop_gradient(max_kept(scores, last));
  const Tensor powers = exp(subtract(scores, where(equal(largest, kMinusInfinity), 0.0, largest)));
  const Tensor sums = sum_kept(powers, last);
  return divide(powers, where(equal(sums, 0), 1.0, sums));
}

/// The extent of the third last axis; 1 where there is none.
std::int64_t head_count(const Tensor& x) {
  const Shape& shape = x.shape();
  return shape.size() < 3 ? 1 : shape[shape.size() - 3];
}

/// `x` with axes of length 1 in front until there are `rank`, and its heads repeated without a copy if there is but
/// one.
Tensor with_heads(const Tensor& x, std::int64_t heads, std::size_t rank) {
  Shape shape = x.shape();
  while (shape.size() < rank) shape.insert(0, 1);
  Tensor result = reshaped(x, shape);
  if (head_count(result) == heads) return result;
  shape[shape.size() - 3] = heads;
  return prim::broadcast_to(result, shape);
}

struct AttentionOperands {
  Tensor query;
  Tensor key;
  Tensor value;
  std::optional<Tensor> mask;
  bool causal;
  double scale;
};

/// By the primitive, which keeps no scores. Heads broadcast here, all axes before them there.
Tensor attend(const AttentionOperands& given, bool shared_heads) {
  const std::size_t own_rank = std::max({given.query.shape().size(), given.key.shape().size(),
                                         given.value.shape().size(), given.mask ? given.mask->shape().size() : 0});
  const std::size_t rank = std::max<std::size_t>(own_rank, 3);
  std::int64_t heads = head_count(given.query);
  const auto join = [&](const Tensor& x) {
    const std::int64_t own = head_count(x);
    if (heads == 1) heads = own;
    if (own != 1 && own != heads)
      fail<ShapeError>("shapes {} and {} cannot be broadcast together", given.query.shape(), x.shape());
  };
  if (given.mask) join(*given.mask);
  if (!shared_heads) {
    join(given.key);
    join(given.value);
  }
  Tensor key = given.key;
  Tensor value = given.value;
  if (head_count(key) != head_count(value)) {
    for (Tensor* each : {&key, &value})
      *each = shared_heads ? repeat_heads(*each, heads) : with_heads(*each, heads, rank);
  }
  // What vmap repeats is aligned with the query's axes.
  const auto [output, log_sum_exp] =
      prim::attention(with_heads(given.query, heads, rank), with_heads(key, head_count(key), 3),
                      with_heads(value, head_count(value), 3), given.scale,
                      given.mask ? std::vector{*given.mask} : std::vector<Tensor>{}, given.causal);
  return own_rank < 3 ? drop_axis(output, 0) : output;
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& attn_mask, const Scalar& dropout_p, bool is_causal,
                                    const std::optional<Scalar>& scale, bool enable_gqa, Generator* generator) {
  const auto extent = [](const Tensor& x, int from_end) {
    return x.shape()[x.shape().size() - static_cast<std::size_t>(from_end)];
  };
  for (const Tensor* each : {&query, &key, &value}) {
    if (each->shape().size() < 2)
      fail<ShapeError>("query, key and value must have at least 2 axes, got shape {}", each->shape());
  }
  if (extent(query, 1) != extent(key, 1)) {
    fail<ShapeError>("query {} and key {} have different numbers of features", query.shape(), key.shape());
  }
  if (extent(key, 2) != extent(value, 2)) {
    fail<ShapeError>("key {} and value {} have different numbers of positions", key.shape(), value.shape());
  }
  if (attn_mask && is_causal) fail<ValueError>("attn_mask and is_causal exclude each other");
  if (attn_mask && attn_mask->dtype() != DType::bool_ && !is_floating(attn_mask->dtype()))
    fail<DTypeError>("attn_mask must be bool or floating, got {}", attn_mask->dtype());
  if (enable_gqa && (query.shape().size() < 3 || key.shape().size() < 3 || value.shape().size() < 3))
    fail<ShapeError>("enable_gqa needs a head axis, got query {} and key {}", query.shape(), key.shape());
  const std::int64_t features = extent(query, 1);
  const double factor =
      scale ? scale->to<double>() : 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(features, 1)));
  if (checked_probability(dropout_p) == 0) {
    return attend({query, key, value, attn_mask, is_causal, factor}, enable_gqa);
  }
  const auto all_heads = [&](const Tensor& x) { return enable_gqa ? repeat_heads(x, extent(query, 3)) : x; };
  const Tensor weights = softmax_of_seen(attention_scores(query, all_heads(key), factor, attn_mask, is_causal));
  const Tensor kept = drop(weights, weights.shape(), dropout_p, true, generator);
  return converted(prim::matrix_multiply(kept, widen(all_heads(value))), query.dtype());
}

Tensor multi_head_attention(const Tensor& query, const std::optional<Tensor>& key, const std::optional<Tensor>& value,
                            std::int64_t num_heads, const Tensor& in_proj_weight,
                            const std::optional<Tensor>& in_proj_bias, const std::optional<Tensor>& attn_mask,
                            const Scalar& dropout_p, bool is_causal, Generator* generator) {
  const auto check_matrix = [](const Tensor& x, const char* what, std::size_t rank) {
    if (x.shape().size() != rank) fail<ShapeError>("{} must have {} axes, got shape {}", what, rank, x.shape());
  };
  check_matrix(query, "query", 3);
  if (key) check_matrix(*key, "key", 3);
  if (value) check_matrix(*value, "value", 3);
  check_matrix(in_proj_weight, "in_proj_weight", 2);
  const std::int64_t size = in_proj_weight.shape()[1];
  if (in_proj_weight.shape()[0] != 3 * size) {
    fail<ShapeError>("in_proj_weight has {} rows and not three times its {} columns", in_proj_weight.shape()[0], size);
  }
  if (num_heads < 1 || size % num_heads != 0) {
    fail<ValueError>("{} features in {} heads do not come out even", size, num_heads);
  }
  const auto split = [&](const Tensor& x) {
    const Shape& shape = x.shape();
    return prim::permute_dims(reshaped(x, Shape{shape[0], shape[1], num_heads, size / num_heads}), Ints{0, 2, 1, 3});
  };
  std::array<Tensor, 3> parts;
  if (!key && !value) {
    const Tensor whole = nn::linear(query, in_proj_weight, in_proj_bias);
    for (std::int64_t i = 0; i < 3; ++i) parts[static_cast<std::size_t>(i)] = whole.slice(2, i * size, (i + 1) * size);
  } else {
    const Tensor& other = key ? *key : query;
    for (std::int64_t i = 0; i < 3; ++i) {
      const auto rows = [&](const Tensor& x) { return x.slice(0, i * size, (i + 1) * size); };
      parts[static_cast<std::size_t>(i)] =
          nn::linear(i == 0            ? query
                     : i == 2 && value ? *value
                                       : other,
                     rows(in_proj_weight), in_proj_bias ? std::optional(rows(*in_proj_bias)) : std::nullopt);
    }
  }
  const Tensor heads = nn::scaled_dot_product_attention(split(parts[0]), split(parts[1]), split(parts[2]), attn_mask,
                                                        dropout_p, is_causal, std::nullopt, false, generator);
  return reshaped(prim::permute_dims(heads, Ints{0, 2, 1, 3}), Shape{query.shape()[0], query.shape()[1], size});
}

Tensor dropout(const Tensor& x, const Scalar& p, bool training, Generator* generator) {
  return drop(x, x.shape(), p, training, generator);
}

Tensor dropout1d(const Tensor& x, const Scalar& p, bool training, Generator* generator) {
  return drop_channels(1, x, p, training, generator);
}

Tensor dropout2d(const Tensor& x, const Scalar& p, bool training, Generator* generator) {
  return drop_channels(2, x, p, training, generator);
}

Tensor dropout3d(const Tensor& x, const Scalar& p, bool training, Generator* generator) {
  return drop_channels(3, x, p, training, generator);
}

Tensor alpha_dropout(const Tensor& x, const Scalar& p, bool training, Generator* generator) {
  constexpr double kLimit = -1.7580993408473766;  // selu at minus infinity: -scale * alpha
  const double probability = checked_probability(p);
  if (!training || probability == 0) return x;
  if (probability == 1) return zeros_like(x);
  const double keep = 1 - probability;
  const double a = 1 / std::sqrt(keep * (1 + probability * kLimit * kLimit));
  const double b = -a * probability * kLimit;
  const Tensor wide = widen(x);
  return converted(add(multiply(where(keep_mask(x.shape(), probability, x, generator), wide, kLimit), a), b),
                   x.dtype());
}

}  // namespace lento::composite
