// Attention made of other ops, with its scores in memory: what dropout needs, and derivatives of derivatives.
#pragma once

#include <lento/scalar.h>
#include <lento/tensor.h>

#include <cstdint>
#include <optional>

namespace lento::composite {

/// `x` (..., heads, S, E) with each head repeated until there are `heads`.
Tensor repeat_heads(const Tensor& x, std::int64_t heads);

/// query @ key.T * scale + mask over the last two axes, in the wide_type; -inf where a bool mask is false and, if
/// `causal`, where the key stands behind the query.
Tensor attention_scores(const Tensor& query, const Tensor& key, const Scalar& scale, const std::optional<Tensor>& mask,
                        bool causal);

}  // namespace lento::composite
