#include <lento/nn/attention.h>

#include "base/fail.h"
#include "base/source.h"
#include "nn/attention.calls.gen.h"
#include "nn/layer_parts.h"

#include <cmath>

namespace lento::nn {

namespace {

std::int64_t checked_heads(std::int64_t embed_dim, std::int64_t num_heads, const std::source_location& site) {
  const CallScope scope("MultiHeadAttention()", site);
  check_at_least(1, "embed_dim", embed_dim);
  check_even(embed_dim, num_heads, "features", "heads");
  return num_heads;
}

Tensor projection(std::int64_t size, std::optional<DType> dtype, const std::source_location& site) {
  const CallScope scope("MultiHeadAttention()", site);
  check_at_least(1, "embed_dim", size);
  return initial::uniform({3 * size, size}, std::sqrt(6.0 / (4.0 * static_cast<double>(size))), dtype);
}

void check_features(const Tensor& x, std::int64_t size) {
  if (x.shape().size() == 3 && x.shape()[2] == size) return;
  fail<ShapeError>("an input has shape (batch, length, {}), not {}", size, x.shape());
}

const std::string& checked_activation(std::int64_t d_model, const TransformerEncoderLayerOptions& options,
                                      const std::source_location& site) {
  const CallScope scope("TransformerEncoderLayer()", site);
  check_choice("activation", options.activation, {"relu", "gelu", "silu"});
  check_at_least(1, "d_model", d_model);
  check_at_least(1, "dim_feedforward", options.dim_feedforward);
  return options.activation;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(std::int64_t embed_dim, std::int64_t num_heads,
                                       const MultiHeadAttentionOptions& options, std::source_location site)
    : num_heads(checked_heads(embed_dim, num_heads, site)),
      dropout(options.dropout),
      in_proj_weight(projection(embed_dim, options.dtype, site)),
      out_proj(embed_dim, embed_dim, {.bias = options.bias, .dtype = options.dtype}, site) {
  if (!options.bias) return;
  const CallScope scope("MultiHeadAttention()", site);
  in_proj_bias = initial::zeros({3 * embed_dim}, options.dtype);
  out_proj.bias = initial::zeros({embed_dim}, options.dtype);
}

Tensor MultiHeadAttention::operator()(const Tensor& query, const AttentionInputs& inputs,
                                      std::source_location site) const {
  {
    const CallScope scope("MultiHeadAttention()", site);
    const std::int64_t size = in_proj_weight.shape()[1];
    check_features(query, size);
    if (inputs.key) check_features(*inputs.key, size);
    if (inputs.value) check_features(*inputs.value, size);
  }
  const Tensor heads =
      nn::multi_head_attention(query, inputs.key, inputs.value, num_heads, in_proj_weight, in_proj_bias,
                               inputs.attn_mask, training ? dropout : 0.0, inputs.is_causal, nullptr, site);
  return out_proj(heads, site);
}

std::string MultiHeadAttention::extra_repr() const {
  return Looks().value(in_proj_weight.shape()[1]).value(num_heads).text();
}

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead,
                                                 const TransformerEncoderLayerOptions& options,
                                                 std::source_location site)
    : activation(checked_activation(d_model, options, site)),
      norm_first(options.norm_first),
      self_attn(d_model, nhead, {.dropout = options.dropout, .bias = options.bias, .dtype = options.dtype}, site),
      linear1(d_model, options.dim_feedforward, {.bias = options.bias, .dtype = options.dtype}, site),
      dropout({.p = options.dropout}, site),
      linear2(options.dim_feedforward, d_model, {.bias = options.bias, .dtype = options.dtype}, site),
      norm1(d_model, {.bias = options.bias, .dtype = options.dtype}, site),
      norm2(d_model, {.bias = options.bias, .dtype = options.dtype}, site),
      dropout1({.p = options.dropout}, site),
      dropout2({.p = options.dropout}, site) {}

Tensor TransformerEncoderLayer::operator()(const Tensor& x, std::source_location site) const {
  return (*this)(x, SelfAttentionInputs{}, site);
}

Tensor TransformerEncoderLayer::operator()(const Tensor& x, const SelfAttentionInputs& inputs,
                                           std::source_location site) const {
  const auto plus = [&](const Tensor& a, const Tensor& b) { return add(Operand(a, site), Operand(b, site)); };
  const auto attend = [&](const Tensor& y) {
    return dropout1(self_attn(y, {.attn_mask = inputs.attn_mask, .is_causal = inputs.is_causal}, site), site);
  };
  const auto feed = [&](const Tensor& y) {
    const Tensor hidden = linear1(y, site);
    const Tensor active = activation == "relu"   ? nn::relu(hidden, site)
                          : activation == "gelu" ? nn::gelu(hidden, "none", site)
                                                 : nn::silu(hidden, site);
    return dropout2(linear2(dropout(active, site), site), site);
  };
  if (norm_first) {
    const Tensor seen = plus(x, attend(norm1(x, site)));
    return plus(seen, feed(norm2(seen, site)));
  }
  const Tensor seen = norm1(plus(x, attend(x)), site);
  return norm2(plus(seen, feed(seen)), site);
}

void MultiHeadAttention::fields(tree::Visitor& visitor) {
  tree::detail::visit_members(visitor, "in_proj_weight, in_proj_bias, out_proj", in_proj_weight, in_proj_bias,
                              out_proj);
}

void TransformerEncoderLayer::fields(tree::Visitor& visitor) {
  tree::detail::visit_members(visitor, "self_attn, linear1, dropout, linear2, norm1, norm2, dropout1, dropout2",
                              self_attn, linear1, dropout, linear2, norm1, norm2, dropout1, dropout2);
}

}  // namespace lento::nn
