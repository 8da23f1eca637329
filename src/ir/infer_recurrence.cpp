// Shapes and dtypes of the recurrences (ops/prim_recurrence.yaml).
#include "base/fail.h"
#include "ir/attrs_contraction.gen.h"
#include "ir/infer_common.h"
#include "ir/infer_contraction.gen.h"

namespace lento {

namespace {

/// The extents that the operands of a recurrence share.
struct Extents {
  std::int64_t length;
  std::int64_t batch;
  std::int64_t hidden;

  /// Those of `steps` (length, batch, parts * hidden) and `weight` (gates * hidden, hidden).
  Extents(const Meta& steps, std::string_view what, std::int64_t parts, const Meta& weight, std::int64_t gates) {
    if (weight.shape.size() != 2 || weight.shape[0] != gates * weight.shape[1])
      fail<ShapeError>("weight must be (gates * hidden, hidden) with {} gates, got {}", gates, type_text(weight));
    if (steps.shape.size() != 3 || steps.shape[2] != parts * weight.shape[1])
      fail<ShapeError>("{} must be (length, batch, {}), got {}", what, parts * weight.shape[1], type_text(steps));
    require_same_dtype(steps, what, weight, "weight");
    length = steps.shape[0];
    batch = steps.shape[1];
    hidden = weight.shape[1];
  }

  /// (length, batch, parts * hidden)
  Meta steps(DType dtype, std::int64_t parts = 1) const { return {dtype, {length, batch, parts * hidden}}; }
  /// (batch, hidden)
  Meta state(DType dtype) const { return {dtype, {batch, hidden}}; }

  void check_mask(std::span<const Meta> mask) const {
    if (mask.empty()) return;
    if (mask.size() != 1 || mask[0] != Meta{DType::bool_, {length, batch}})
      fail<ShapeError>("mask must be bool({}, {}), got {}", length, batch, type_text(mask[0]));
  }
};

void require(const Meta& given, std::string_view what, const Meta& needed) {
  if (given != needed) fail<ShapeError>("{} must be {}, got {}", what, type_text(needed), type_text(given));
}

}  // namespace

Meta infer_rnn_states(const Meta& inputs, const Meta& h, const Meta& weight, std::span<const Meta> mask,
                      RnnStatesAttrs&) {
  const Extents extents(inputs, "inputs", 1, weight, 1);
  require(h, "h", extents.state(inputs.dtype));
  extents.check_mask(mask);
  return extents.steps(inputs.dtype);
}

std::array<Meta, 2> infer_rnn_states_grad(const Meta& cotangent, const Meta& states, const Meta& weight,
                                          std::span<const Meta> mask, RnnStatesGradAttrs&) {
  const Extents extents(cotangent, "cotangent", 1, weight, 1);
  require(states, "states", extents.steps(cotangent.dtype));
  extents.check_mask(mask);
  return {extents.steps(cotangent.dtype), extents.state(cotangent.dtype)};
}

std::array<Meta, 2> infer_gru_states(const Meta& inputs, const Meta& h, const Meta& weight, const Meta& bias,
                                     std::span<const Meta> mask, GruStatesAttrs&) {
  const Extents extents(inputs, "inputs", 3, weight, 3);
  require(h, "h", extents.state(inputs.dtype));
  require(bias, "bias", {inputs.dtype, {extents.hidden}});
  extents.check_mask(mask);
  return {extents.steps(inputs.dtype), extents.steps(inputs.dtype, 4)};
}

std::array<Meta, 3> infer_gru_states_grad(const Meta& cotangent, const Meta& gates, const Meta& states, const Meta& h,
                                          const Meta& weight, std::span<const Meta> mask, GruStatesGradAttrs&) {
  const Extents extents(cotangent, "cotangent", 1, weight, 3);
  require(gates, "gates", extents.steps(cotangent.dtype, 4));
  require(states, "states", extents.steps(cotangent.dtype));
  require(h, "h", extents.state(cotangent.dtype));
  extents.check_mask(mask);
  const Meta products = extents.steps(cotangent.dtype, 3);
  return {products, products, extents.state(cotangent.dtype)};
}

std::array<Meta, 3> infer_lstm_states(const Meta& inputs, const Meta& h, const Meta& c, const Meta& weight,
                                      std::span<const Meta> mask, LstmStatesAttrs&) {
  const Extents extents(inputs, "inputs", 4, weight, 4);
  require(h, "h", extents.state(inputs.dtype));
  require(c, "c", extents.state(inputs.dtype));
  extents.check_mask(mask);
  const Meta states = extents.steps(inputs.dtype);
  return {states, states, extents.steps(inputs.dtype, 4)};
}

std::array<Meta, 3> infer_lstm_states_grad(const Meta& cotangent, const Meta& cell_cotangent, const Meta& gates,
                                           const Meta& cells, const Meta& c, const Meta& weight,
                                           std::span<const Meta> mask, LstmStatesGradAttrs&) {
  const Extents extents(cotangent, "cotangent", 1, weight, 4);
  require(cell_cotangent, "cell_cotangent", extents.steps(cotangent.dtype));
  require(gates, "gates", extents.steps(cotangent.dtype, 4));
  require(cells, "cells", extents.steps(cotangent.dtype));
  require(c, "c", extents.state(cotangent.dtype));
  extents.check_mask(mask);
  const Meta state = extents.state(cotangent.dtype);
  return {extents.steps(cotangent.dtype, 4), state, state};
}

}  // namespace lento
