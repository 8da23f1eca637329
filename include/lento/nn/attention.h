// Attention of several heads, and the block of a Transformer.
#pragma once

#include <lento/nn/dropout.gen.h>
#include <lento/nn/layer_norm.gen.h>
#include <lento/nn/linear.gen.h>
#include <lento/nn/module.h>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

namespace lento::nn {

/// What is not the default in a MultiHeadAttention.
struct MultiHeadAttentionOptions {
  double dropout = 0.0;
  bool bias = true;
  std::optional<DType> dtype = std::nullopt;
};

/// Whom an attention looks at, and whom it may see.
struct AttentionInputs {
  std::optional<Tensor> key = std::nullopt;    ///< the query, unless given
  std::optional<Tensor> value = std::nullopt;  ///< the key, unless given
  std::optional<Tensor> attn_mask = std::nullopt;
  bool is_causal = false;
};

/// Attention of `num_heads` heads over (batch, length, embed_dim), with PyTorch's weights.
///
/// A mask is that of `scaled_dot_product_attention`: true where one may look, or numbers that are added.
class LENTO_API MultiHeadAttention : public Module {
 public:
  using Options = MultiHeadAttentionOptions;

  explicit MultiHeadAttention(std::int64_t embed_dim, std::int64_t num_heads,
                              const MultiHeadAttentionOptions& options = {},
                              std::source_location site = std::source_location::current());

  Tensor operator()(const Tensor& query, const AttentionInputs& inputs = {},
                    std::source_location site = std::source_location::current()) const;
  std::string extra_repr() const override;

  std::int64_t num_heads;
  double dropout;
  Tensor in_proj_weight;
  std::optional<Tensor> in_proj_bias;
  Linear out_proj;

  void fields(tree::Visitor& visitor) override;
};

/// What is not the default in a TransformerEncoderLayer.
struct TransformerEncoderLayerOptions {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";  ///< or "gelu" or "silu"
  bool norm_first = false;
  bool bias = true;
  std::optional<DType> dtype = std::nullopt;
};

/// Whom a block that looks at itself may see.
struct SelfAttentionInputs {
  std::optional<Tensor> attn_mask = std::nullopt;
  bool is_causal = false;
};

/// A Transformer block: attention and two linear layers, each with a residual and a layer norm.
///
/// `norm_first` normalises before each part (as in GPT-2), else after it. Input is (batch, length, d_model).
class LENTO_API TransformerEncoderLayer : public Module {
 public:
  using Options = TransformerEncoderLayerOptions;

  explicit TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead,
                                   const TransformerEncoderLayerOptions& options = {},
                                   std::source_location site = std::source_location::current());

  Tensor operator()(const Tensor& x, std::source_location site = std::source_location::current()) const;
  /// The same with a mask, or causal: `block(x, {.is_causal = true})`.
  Tensor operator()(const Tensor& x, const SelfAttentionInputs& inputs,
                    std::source_location site = std::source_location::current()) const;

  std::string activation;
  bool norm_first;
  MultiHeadAttention self_attn;
  Linear linear1;
  Dropout dropout;
  Linear linear2;
  LayerNorm norm1;
  LayerNorm norm2;
  Dropout dropout1;
  Dropout dropout2;

  void fields(tree::Visitor& visitor) override;
};

}  // namespace lento::nn
