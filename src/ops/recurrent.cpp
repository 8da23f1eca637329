// Recurrent networks (ops/recurrent.yaml): one layer in one direction, where the inputs are projected for all steps at
// once and a primitive does the steps; and single steps.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/nonnegative_index.h"
#include "ops/recurrent.calls.gen.h"
#include "ops/recurrent_loops.h"

#include <vector>

namespace lento::composite {

namespace {

struct Weights {
  const Tensor& ih;
  const Tensor& hh;
  const std::optional<Tensor>& bias_ih;
  const std::optional<Tensor>& bias_hh;
};

void check_weight(const Tensor& weight_hh, std::int64_t gates) {
  if (weight_hh.shape().size() != 2 || weight_hh.shape()[0] != gates * weight_hh.shape()[1]) {
    fail<ShapeError>("weight_hh must have {} rows for each column, got shape {}", gates, weight_hh.shape());
  }
}

void check_input(const Tensor& x, const Tensor& weight_hh, std::int64_t gates) {
  if (x.shape().size() != 3) fail<ShapeError>("the input must have 3 axes, got shape {}", x.shape());
  if (x.shape()[0] == 0) fail<ShapeError>("the input has length 0");
  check_weight(weight_hh, gates);
}

void check_state(const Tensor& state, const Tensor& x, const Tensor& weight_hh) {
  const Shape needed{x.shape()[1], weight_hh.shape()[1]};
  if (state.shape() != needed) fail<ShapeError>("a state has shape {}, not {}", needed, state.shape());
}

// --- sequences ---

/// A sequence whose inputs were projected, all steps at once, with all that the steps read in one dtype.
struct Sequence {
  DType dtype;    // of the results
  DType compute;  // of everything below
  Tensor inputs;  // (length, batch, gates * hidden)
  Tensor weight;  // weight_hh
  Tensors mask;   // none, or bool (length, batch)
  bool reverse;

  /// `outside` is the bias that the product of a step can do without, since the input of the step has it.
  Sequence(const Tensor& x, const Weights& weights, const Tensors& states, const std::optional<Tensor>& outside,
           const std::optional<Tensor>& lengths, bool reverse)
      : reverse(reverse) {
    const Tensor projected = nn::linear(x, weights.ih, outside);
    Tensors all{projected, weights.hh};
    all.insert(all.end(), states.begin(), states.end());
    dtype = promoted_dtype(all);
    compute = wide_type(dtype);
    inputs = converted(projected, compute);
    weight = converted(weights.hh, compute);
    if (lengths) mask = {steps_of(*lengths, x)};
  }

  bool has_primitive() const { return compute == DType::float32 || compute == DType::float64; }
  Tensor state(const Tensor& given) const { return converted(given, compute); }

  /// The results of the layer from the states of all steps: outputs behind the end of a sequence are 0.
  Tensor outputs(const Tensor& states) const {
    const Tensor shown = mask.empty() ? states : where(with_axis(mask[0], 2), states, 0);
    return narrowed(shown);
  }
  /// The state behind the last step, which was carried on to the end of the longest sequence.
  Tensor last(const Tensor& states) const { return narrowed(picked(states, 0, reverse ? 0 : states.shape()[0] - 1)); }

 private:
  Tensor narrowed(const Tensor& result) const { return is_half(dtype) ? converted(result, dtype) : result; }

  /// Where a step belongs to its sequence: bool (length, batch).
  static Tensor steps_of(const Tensor& lengths, const Tensor& x) {
    if (!is_integer(lengths.dtype()) || lengths.shape() != Shape{x.shape()[1]}) {
      fail<ShapeError>("lengths must be {} integers, one per sequence, got {}", x.shape()[1], type_of(lengths));
    }
    const Tensor position = counting(x.shape()[0], x.device());
    return less(with_axis(position, 1), with_axis(signed_index(lengths), 0));
  }
};

/// The sum of those biases that there are.
std::optional<Tensor> sum_of(const std::optional<Tensor>& a, const std::optional<Tensor>& b) {
  if (a && b) return add(*a, *b);
  return a ? a : b;
}

// --- single steps ---

/// The input of a single step, projected, with a batch axis; and the states that it starts from.
struct Cell {
  Tensor input;
  bool added;  // the batch axis was
  const Weights& weights;

  Cell(const Tensor& x, const Weights& given, std::int64_t gates) : added(x.shape().size() == 1), weights(given) {
    check_weight(weights.hh, gates);
    if (x.shape().size() != 2 && !added)
      fail<ShapeError>("the input must be (batch, features) or (features,), got shape {}", x.shape());
    input = nn::linear(added ? with_axis(x, 0) : x, weights.ih, weights.bias_ih);
  }

  Tensor state(const std::optional<Tensor>& given) const {
    const Shape full{input.shape()[0], weights.hh.shape()[1]};
    if (!given) return prim::full(full, 0, input.dtype(), input.device());
    const Shape needed = added ? Shape{full[1]} : full;
    if (given->shape() != needed) fail<ShapeError>("a state has shape {}, not {}", needed, given->shape());
    return reshaped(*given, full);
  }

  Tensor result(const Tensor& state) const { return added ? drop_axis(state, 0) : state; }
};

}  // namespace

RnnResult rnn(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh,
              const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh, std::string_view nonlinearity,
              bool reverse, const std::optional<Tensor>& lengths) {
  check_input(x, weight_hh, 1);
  check_state(h, x, weight_hh);
  const Weights weights{weight_ih, weight_hh, bias_ih, bias_hh};
  const Sequence all(x, weights, {h}, sum_of(bias_ih, bias_hh), lengths, reverse);
  const Tensor start = all.state(h);
  const Tensor states = all.has_primitive()
                            ? prim::rnn_states(all.inputs, start, all.weight, all.mask, nonlinearity, reverse)
                            : rnn_loop(all.inputs, start, all.weight, all.mask, nonlinearity, reverse)[0];
  return {all.outputs(states), all.last(states)};
}

GruResult gru(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh,
              const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh, bool reverse,
              const std::optional<Tensor>& lengths) {
  check_input(x, weight_hh, 3);
  check_state(h, x, weight_hh);
  const Weights weights{weight_ih, weight_hh, bias_ih, bias_hh};
  const std::int64_t n = weight_hh.shape()[1];
  if (bias_hh && bias_hh->shape() != Shape{3 * n})
    fail<ShapeError>("bias_hh has shape {}, not {}", bias_hh->shape(), Shape{3 * n});
  // Reset multiplies the last part of the product, with its bias.
  const auto outside =
      bias_hh ? std::optional(prim::pad_constant(sliced(*bias_hh, 0, 0, 2 * n), 0, {0}, {n})) : bias_hh;
  const Sequence all(x, weights, {h}, sum_of(bias_ih, outside), lengths, reverse);
  const Tensor start = all.state(h);
  const Tensor inside =
      bias_hh ? all.state(sliced(*bias_hh, 0, 2 * n, n)) : prim::full({n}, 0, all.compute, x.device());
  const Tensor states = all.has_primitive()
                            ? prim::gru_states(all.inputs, start, all.weight, inside, all.mask, reverse).states
                            : gru_loop(all.inputs, start, all.weight, inside, all.mask, reverse)[0];
  return {all.outputs(states), all.last(states)};
}

LstmResult lstm(const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& weight_ih, const Tensor& weight_hh,
                const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh, bool reverse,
                const std::optional<Tensor>& lengths) {
  check_input(x, weight_hh, 4);
  check_state(h, x, weight_hh);
  check_state(c, x, weight_hh);
  const Weights weights{weight_ih, weight_hh, bias_ih, bias_hh};
  const Sequence all(x, weights, {h, c}, sum_of(bias_ih, bias_hh), lengths, reverse);
  if (!all.has_primitive()) {
    const Tensors made = lstm_loop(all.inputs, all.state(h), all.state(c), all.weight, all.mask, reverse);
    return {all.outputs(made[0]), all.last(made[0]), all.last(made[1])};
  }
  const auto made = prim::lstm_states(all.inputs, all.state(h), all.state(c), all.weight, all.mask, reverse);
  return {all.outputs(made.states), all.last(made.states), all.last(made.cells)};
}

Tensor rnn_cell(const Tensor& x, const std::optional<Tensor>& h, const Tensor& weight_ih, const Tensor& weight_hh,
                const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh,
                std::string_view nonlinearity) {
  const Weights weights{weight_ih, weight_hh, bias_ih, bias_hh};
  const Cell cell(x, weights, 1);
  return cell.result(rnn_step(add(cell.input, nn::linear(cell.state(h), weight_hh, bias_hh)), nonlinearity));
}

Tensor gru_cell(const Tensor& x, const std::optional<Tensor>& h, const Tensor& weight_ih, const Tensor& weight_hh,
                const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh) {
  const Weights weights{weight_ih, weight_hh, bias_ih, bias_hh};
  const Cell cell(x, weights, 3);
  const Tensor hidden = cell.state(h);
  return cell.result(gru_step(cell.input, nn::linear(hidden, weight_hh, bias_hh), hidden).hidden);
}

LstmCellResult lstm_cell(const Tensor& x, const std::optional<Tensor>& h, const std::optional<Tensor>& c,
                         const Tensor& weight_ih, const Tensor& weight_hh, const std::optional<Tensor>& bias_ih,
                         const std::optional<Tensor>& bias_hh) {
  const Weights weights{weight_ih, weight_hh, bias_ih, bias_hh};
  const Cell cell(x, weights, 4);
  const Tensor total = add(cell.input, nn::linear(cell.state(h), weight_hh, bias_hh));
  const LstmStep next = lstm_step(total, cell.state(c));
  return {cell.result(next.hidden), cell.result(next.cell)};
}

}  // namespace lento::composite
