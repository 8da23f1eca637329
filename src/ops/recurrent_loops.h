// Recurrent networks of ops that have derivatives: single steps, and the loops over a sequence that the primitives of
// ops/prim_recurrence.yaml run as one call. The loops are for dtypes that the primitives do not take, and for
// derivatives of derivatives. Their results are those of the primitives, in the same order.
#pragma once

#include <lento/tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lento::composite {

// --- a step: from what the input and the state give (batch, gates * hidden) to the next state ---

struct GruStep {
  Tensor hidden;
  std::array<Tensor, 4> gates;  // reset, update, new, and what reset multiplied
};

struct LstmStep {
  Tensor hidden;
  Tensor cell;
  std::array<Tensor, 4> gates;  // input, forget, new, output
};

Tensor rnn_step(const Tensor& total, std::string_view nonlinearity);
GruStep gru_step(const Tensor& input, const Tensor& product, const Tensor& hidden);
LstmStep lstm_step(const Tensor& total, const Tensor& cell);

// --- sequences; `mask` is empty or one tensor ---

using Tensors = std::vector<Tensor>;

Tensors rnn_loop(const Tensor& inputs, const Tensor& h, const Tensor& weight, const Tensors& mask,
                 std::string_view nonlinearity, bool reverse);
Tensors rnn_loop_grad(const Tensor& cotangent, const Tensor& states, const Tensor& weight, const Tensors& mask,
                      std::string_view nonlinearity, bool reverse);
Tensors gru_loop(const Tensor& inputs, const Tensor& h, const Tensor& weight, const Tensor& bias, const Tensors& mask,
                 bool reverse);
Tensors gru_loop_grad(const Tensor& cotangent, const Tensor& gates, const Tensor& states, const Tensor& h,
                      const Tensor& weight, const Tensors& mask, bool reverse);
Tensors lstm_loop(const Tensor& inputs, const Tensor& h, const Tensor& c, const Tensor& weight, const Tensors& mask,
                  bool reverse);
Tensors lstm_loop_grad(const Tensor& cotangent, const Tensor& cell_cotangent, const Tensor& gates, const Tensor& cells,
                       const Tensor& c, const Tensor& weight, const Tensors& mask, bool reverse);

/// What came before each step: `start`, and all states but the one of the last step.
Tensor states_before(const Tensor& states, const Tensor& start, bool reverse);

}  // namespace lento::composite
