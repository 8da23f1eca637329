// Derivatives of recurrences (ops/prim_recurrence.yaml). A primitive runs backwards over the steps; weights get theirs
// by one product over all steps. What asks for more, the derivative of that primitive or a cotangent of the gates,
// which only such a derivative has, is had from the loops written out.
#include "autograd/rules.h"
#include "autograd/rules_recurrence.calls.gen.h"
#include "ops/composite_helpers.h"
#include "ops/recurrent_loops.h"

#include <lento/differentiation.h>

namespace lento::rules {

namespace {

using composite::states_before;
using composite::sum_over;

/// The cotangents of `operands` when `loop`, called with them, gives results with these cotangents.
template <class Loop>
std::vector<Tensor> pulled(const Loop& loop, const std::vector<Tensor>& operands,
                           const std::vector<Tensor>& cotangents) {
  Differentiation differentiation;
  std::vector<Tensor> followed;
  for (const Tensor& operand : operands) followed.push_back(differentiation.follow(operand));
  const std::vector<Tensor> results = loop(followed);
  differentiation.end();
  return differentiation.pull_back(results, cotangents, followed);
}

Tensor or_zeros(const Tensor& cotangent, const Tensor& like) {
  return cotangent.defined() ? cotangent : zeros_like(like);
}

/// Of the weight, from the cotangent of the product of each step (length, batch, gates * hidden).
Tensor of_weight(const Tensor& of_products, const Tensor& states, const Tensor& h, bool reverse) {
  // Not -1, which cannot be computed for states without elements.
  const auto rows = [](const Tensor& x) { return composite::reshaped(x, {x.shape()[0] * x.shape()[1], x.shape()[2]}); };
  return prim::matrix_multiply(matrix_transpose(rows(of_products)), rows(states_before(states, h, reverse)));
}

}  // namespace

std::vector<Tensor> rnn_states(const Tensor& grad, const Tensor& states, const Tensor& h, const Tensor& weight,
                               const std::vector<Tensor>& mask, std::string_view nonlinearity, bool reverse) {
  const auto back = prim::rnn_states_grad(grad, states, weight, mask, nonlinearity, reverse);
  return {back.of_inputs, back.of_h, of_weight(back.of_inputs, states, h, reverse)};
}

std::vector<Tensor> rnn_states_grad(const Tensor& grad_of_inputs, const Tensor& grad_of_h, const Tensor& cotangent,
                                    const Tensor& states, const Tensor& weight, const std::vector<Tensor>& mask,
                                    std::string_view nonlinearity, bool reverse) {
  const auto loop = [&](const std::vector<Tensor>& x) {
    return composite::rnn_loop_grad(x[0], x[1], x[2], mask, nonlinearity, reverse);
  };
  return pulled(loop, {cotangent, states, weight}, {grad_of_inputs, grad_of_h});
}

std::vector<Tensor> gru_states(const Tensor& grad_states, const Tensor& grad_gates, const Tensor& states,
                               const Tensor& gates, const Tensor& inputs, const Tensor& h, const Tensor& weight,
                               const Tensor& bias, const std::vector<Tensor>& mask, bool reverse) {
  if (grad_gates.defined()) {
    const auto loop = [&](const std::vector<Tensor>& x) {
      return composite::gru_loop(x[0], x[1], x[2], x[3], mask, reverse);
    };
    return pulled(loop, {inputs, h, weight, bias}, {grad_states, grad_gates});
  }
  const auto back = prim::gru_states_grad(grad_states, gates, states, h, weight, mask, reverse);
  const std::int64_t n = h.shape()[1];
  const Tensor of_bias = sum_over(composite::sliced(back.of_products, 2, 2 * n, n), {0, 1});
  return {back.of_inputs, back.of_h, of_weight(back.of_products, states, h, reverse), of_bias};
}

std::vector<Tensor> gru_states_grad(const Tensor& grad_of_inputs, const Tensor& grad_of_products,
                                    const Tensor& grad_of_h, const Tensor& cotangent, const Tensor& gates,
                                    const Tensor& states, const Tensor& h, const Tensor& weight,
                                    const std::vector<Tensor>& mask, bool reverse) {
  const auto loop = [&](const std::vector<Tensor>& x) {
    return composite::gru_loop_grad(x[0], x[1], x[2], x[3], x[4], mask, reverse);
  };
  return pulled(loop, {cotangent, gates, states, h, weight}, {grad_of_inputs, grad_of_products, grad_of_h});
}

std::vector<Tensor> lstm_states(const Tensor& grad_states, const Tensor& grad_cells, const Tensor& grad_gates,
                                const Tensor& states, const Tensor& cells, const Tensor& gates, const Tensor& inputs,
                                const Tensor& h, const Tensor& c, const Tensor& weight, const std::vector<Tensor>& mask,
                                bool reverse) {
  if (grad_gates.defined()) {
    const auto loop = [&](const std::vector<Tensor>& x) {
      return composite::lstm_loop(x[0], x[1], x[2], x[3], mask, reverse);
    };
    return pulled(loop, {inputs, h, c, weight}, {grad_states, grad_cells, grad_gates});
  }
  const auto back = prim::lstm_states_grad(or_zeros(grad_states, states), or_zeros(grad_cells, cells), gates, cells, c,
                                           weight, mask, reverse);
  return {back.of_inputs, back.of_h, back.of_c, of_weight(back.of_inputs, states, h, reverse)};
}

std::vector<Tensor> lstm_states_grad(const Tensor& grad_of_inputs, const Tensor& grad_of_h, const Tensor& grad_of_c,
                                     const Tensor& cotangent, const Tensor& cell_cotangent, const Tensor& gates,
                                     const Tensor& cells, const Tensor& c, const Tensor& weight,
                                     const std::vector<Tensor>& mask, bool reverse) {
  const auto loop = [&](const std::vector<Tensor>& x) {
    return composite::lstm_loop_grad(x[0], x[1], x[2], x[3], x[4], x[5], mask, reverse);
  };
  return pulled(loop, {cotangent, cell_cotangent, gates, cells, c, weight}, {grad_of_inputs, grad_of_h, grad_of_c});
}

}  // namespace lento::rules
