// Recurrent networks (ops/recurrent.yaml): one layer in one direction, where the inputs are projected for all steps at
// once, and single steps.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/recurrent.calls.gen.h"

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

// --- a step: from the projected input (batch, gates * hidden) and the state to the next state ---

/// The columns of one gate.
Tensor gate(const Tensor& all, std::int64_t i, std::int64_t n) { return all.slice(1, i * n, (i + 1) * n); }

Tensor rnn_step(const Tensor& input, const Tensor& hidden, const Weights& weights, std::string_view nonlinearity) {
  const Tensor total = add(input, nn::linear(hidden, weights.hh, weights.bias_hh));
  return nonlinearity == "relu" ? nn::relu(total) : tanh(total);
}

Tensor gru_step(const Tensor& input, const Tensor& hidden, const Weights& weights) {
  const std::int64_t n = weights.hh.shape()[1];
  const Tensor back = nn::linear(hidden, weights.hh, weights.bias_hh);
  const Tensor reset = sigmoid(add(gate(input, 0, n), gate(back, 0, n)));
  const Tensor update = sigmoid(add(gate(input, 1, n), gate(back, 1, n)));
  const Tensor fresh = tanh(add(gate(input, 2, n), multiply(reset, gate(back, 2, n))));
  return add(fresh, multiply(update, subtract(hidden, fresh)));
}

struct LstmState {
  Tensor hidden;
  Tensor cell;
};

LstmState lstm_step(const Tensor& input, const LstmState& state, const Weights& weights) {
  const std::int64_t n = weights.hh.shape()[1];
  const Tensor total = add(input, nn::linear(state.hidden, weights.hh, weights.bias_hh));
  const Tensor enter = gate(total, 0, n);
  const Tensor forget = gate(total, 1, n);
  const Tensor fresh = gate(total, 2, n);
  const Tensor out = gate(total, 3, n);
  const Tensor cell = add(multiply(sigmoid(forget), state.cell), multiply(sigmoid(enter), tanh(fresh)));
  return {multiply(sigmoid(out), tanh(cell)), cell};
}

// --- sequences ---

/// The outputs of `step`, which takes the projected input of a step and gives the hidden state, in the order of `x`.
template <class Step>
Tensor run(const Tensor& x, const Weights& weights, bool reverse, Step step) {
  const Tensor inputs = nn::linear(x, weights.ih, weights.bias_ih);
  const std::int64_t length = x.shape()[0];
  std::vector<Tensor> outputs(static_cast<std::size_t>(length));
  for (std::int64_t count = 0; count < length; ++count) {
    const std::int64_t i = reverse ? length - 1 - count : count;
    outputs[static_cast<std::size_t>(i)] = step(inputs[{i}]);
  }
  return stack(outputs);
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
              bool reverse) {
  check_input(x, weight_hh, 1);
  check_state(h, x, weight_hh);
  const Weights weights{weight_ih, weight_hh, bias_ih, bias_hh};
  Tensor hidden = h;
  const Tensor outputs = run(x, weights, reverse, [&](const Tensor& input) {
    return hidden = rnn_step(input, hidden, weights, nonlinearity);
  });
  return {outputs, hidden};
}

GruResult gru(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh,
              const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh, bool reverse) {
  check_input(x, weight_hh, 3);
  check_state(h, x, weight_hh);
  const Weights weights{weight_ih, weight_hh, bias_ih, bias_hh};
  Tensor hidden = h;
  const Tensor outputs =
      run(x, weights, reverse, [&](const Tensor& input) { return hidden = gru_step(input, hidden, weights); });
  return {outputs, hidden};
}

LstmResult lstm(const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& weight_ih, const Tensor& weight_hh,
                const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh, bool reverse) {
  check_input(x, weight_hh, 4);
  check_state(h, x, weight_hh);
  check_state(c, x, weight_hh);
  const Weights weights{weight_ih, weight_hh, bias_ih, bias_hh};
  LstmState state{h, c};
  const Tensor outputs = run(x, weights, reverse, [&](const Tensor& input) {
    state = lstm_step(input, state, weights);
    return state.hidden;
  });
  return {outputs, state.hidden, state.cell};
}

Tensor rnn_cell(const Tensor& x, const std::optional<Tensor>& h, const Tensor& weight_ih, const Tensor& weight_hh,
                const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh,
                std::string_view nonlinearity) {
  const Weights weights{weight_ih, weight_hh, bias_ih, bias_hh};
  const Cell cell(x, weights, 1);
  return cell.result(rnn_step(cell.input, cell.state(h), weights, nonlinearity));
}

Tensor gru_cell(const Tensor& x, const std::optional<Tensor>& h, const Tensor& weight_ih, const Tensor& weight_hh,
                const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh) {
  const Weights weights{weight_ih, weight_hh, bias_ih, bias_hh};
  const Cell cell(x, weights, 3);
  return cell.result(gru_step(cell.input, cell.state(h), weights));
}

LstmCellResult lstm_cell(const Tensor& x, const std::optional<Tensor>& h, const std::optional<Tensor>& c,
                         const Tensor& weight_ih, const Tensor& weight_hh, const std::optional<Tensor>& bias_ih,
                         const std::optional<Tensor>& bias_hh) {
  const Weights weights{weight_ih, weight_hh, bias_ih, bias_hh};
  const Cell cell(x, weights, 4);
  const LstmState next = lstm_step(cell.input, {cell.state(h), cell.state(c)}, weights);
  return {cell.result(next.hidden), cell.result(next.cell)};
}

}  // namespace lento::composite
