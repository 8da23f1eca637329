#include "ops/recurrent_loops.h"

#include "ops/composite_helpers.h"
#include "ops/recurrent_loops.calls.gen.h"

namespace lento::composite {

namespace {

/// The columns of one gate of (batch, gates * hidden).
Tensor gate(const Tensor& all, std::int64_t i, std::int64_t n) { return sliced(all, 1, i * n, n); }

Tensor joined(const std::array<Tensor, 4>& gates) { return concat({gates.begin(), gates.end()}, 1); }

Tensor product(const Tensor& state, const Tensor& weight) { return lento::matmul(state, swap_last(weight)); }

/// The slope of a sigmoid that is x, and of a tanh that is x.
Tensor bend(const Tensor& x) { return multiply(x, subtract(1, x)); }
Tensor slope(const Tensor& x) { return subtract(1, multiply(x, x)); }

/// The steps of a sequence in the order in which they are computed; what they give is collected by position.
class Steps {
 public:
  Steps(const Tensor& sequence, const Tensors& mask, bool reverse)
      : length_(sequence.shape()[0]), mask_(mask), reverse_(reverse) {}

  /// Calls `step(position, before)` in order, or the other way round; `before` is the position that comes before, or
  /// -1.
  template <class Step>
  void forward(Step step) const {
    for (std::int64_t count = 0; count < length_; ++count) step(at(count), count == 0 ? -1 : at(count - 1));
  }
  template <class Step>
  void backward(Step step) const {
    for (std::int64_t count = length_; count-- > 0;) step(at(count), count == 0 ? -1 : at(count - 1));
  }

  /// `counted` where a step counts, else `other`.
  Tensor choose(std::int64_t position, const Tensor& counted, const Operand& other) const {
    if (mask_.empty()) return counted;
    return where(with_axis(picked(mask_[0], 0, position), 1), counted, other);
  }

  /// Room for what each step gives.
  Tensors room() const { return Tensors(static_cast<std::size_t>(length_)); }

  static Tensor& slot(Tensors& all, std::int64_t position) { return all[static_cast<std::size_t>(position)]; }

  /// One after the other, each (batch, columns); `like` tells what there is when there are no steps.
  static Tensor stacked(const Tensors& all, const Tensor& like, std::int64_t columns) {
    if (!all.empty()) return stack(all);
    return prim::full({0, like.shape()[0], columns}, 0, like.dtype(), like.device());
  }

 private:
  std::int64_t at(std::int64_t count) const { return reverse_ ? length_ - 1 - count : count; }

  std::int64_t length_;
  const Tensors& mask_;
  bool reverse_;
};

Tensor at(const Tensor& sequence, std::int64_t position) { return picked(sequence, 0, position); }

Tensor at_or(const Tensor& sequence, std::int64_t position, const Tensor& start) {
  return position < 0 ? start : at(sequence, position);
}

}  // namespace

Tensor rnn_step(const Tensor& total, std::string_view nonlinearity) {
  return nonlinearity == "relu" ? nn::relu(total) : tanh(total);
}

GruStep gru_step(const Tensor& input, const Tensor& product, const Tensor& hidden) {
  const std::int64_t n = hidden.shape()[1];
  const Tensor reset = sigmoid(add(gate(input, 0, n), gate(product, 0, n)));
  const Tensor update = sigmoid(add(gate(input, 1, n), gate(product, 1, n)));
  const Tensor inner = gate(product, 2, n);
  const Tensor fresh = tanh(add(gate(input, 2, n), multiply(reset, inner)));
  return {add(fresh, multiply(update, subtract(hidden, fresh))), {reset, update, fresh, inner}};
}

LstmStep lstm_step(const Tensor& total, const Tensor& cell) {
  const std::int64_t n = cell.shape()[1];
  const Tensor enter = sigmoid(gate(total, 0, n));
  const Tensor forget = sigmoid(gate(total, 1, n));
  const Tensor fresh = tanh(gate(total, 2, n));
  const Tensor out = sigmoid(gate(total, 3, n));
  const Tensor next = add(multiply(forget, cell), multiply(enter, fresh));
  return {multiply(out, tanh(next)), next, {enter, forget, fresh, out}};
}

Tensors rnn_loop(const Tensor& inputs, const Tensor& h, const Tensor& weight, const Tensors& mask,
                 std::string_view nonlinearity, bool reverse) {
  const Steps steps(inputs, mask, reverse);
  Tensors states = steps.room();
  Tensor hidden = h;
  steps.forward([&](std::int64_t position, std::int64_t) {
    const Tensor total = add(at(inputs, position), product(hidden, weight));
    hidden = steps.choose(position, rnn_step(total, nonlinearity), hidden);
    Steps::slot(states, position) = hidden;
  });
  return {Steps::stacked(states, h, h.shape()[1])};
}

Tensors rnn_loop_grad(const Tensor& cotangent, const Tensor& states, const Tensor& weight, const Tensors& mask,
                      std::string_view nonlinearity, bool reverse) {
  const Steps steps(states, mask, reverse);
  Tensors of_inputs = steps.room();
  Tensor back = prim::full({states.shape()[1], states.shape()[2]}, 0, states.dtype(), states.device());
  steps.backward([&](std::int64_t position, std::int64_t) {
    const Tensor state = at(states, position);
    const Tensor whole = add(at(cotangent, position), back);
    const Tensor of_total =
        nonlinearity == "relu" ? where(less_equal(state, 0), 0, whole) : multiply(whole, slope(state));
    Steps::slot(of_inputs, position) = steps.choose(position, of_total, 0);
    back = steps.choose(position, lento::matmul(of_total, weight), whole);
  });
  return {Steps::stacked(of_inputs, back, back.shape()[1]), back};
}

Tensors gru_loop(const Tensor& inputs, const Tensor& h, const Tensor& weight, const Tensor& bias, const Tensors& mask,
                 bool reverse) {
  const std::int64_t n = h.shape()[1];
  const Steps steps(inputs, mask, reverse);
  Tensors states = steps.room();
  Tensors gates = steps.room();
  const Tensor biases = pad(bias, {{2 * n, 0}});
  Tensor hidden = h;
  steps.forward([&](std::int64_t position, std::int64_t) {
    const GruStep step = gru_step(at(inputs, position), add(product(hidden, weight), biases), hidden);
    hidden = steps.choose(position, step.hidden, hidden);
    Steps::slot(states, position) = hidden;
    Steps::slot(gates, position) = steps.choose(position, joined(step.gates), 0);
  });
  return {Steps::stacked(states, h, n), Steps::stacked(gates, h, 4 * n)};
}

Tensors gru_loop_grad(const Tensor& cotangent, const Tensor& gates, const Tensor& states, const Tensor& h,
                      const Tensor& weight, const Tensors& mask, bool reverse) {
  const std::int64_t n = h.shape()[1];
  const Steps steps(states, mask, reverse);
  Tensors of_inputs = steps.room();
  Tensors of_products = steps.room();
  Tensor back = prim::full(h.shape(), 0, h.dtype(), h.device());
  steps.backward([&](std::int64_t position, std::int64_t before) {
    const Tensor all = at(gates, position);
    const Tensor reset = gate(all, 0, n), update = gate(all, 1, n), fresh = gate(all, 2, n), inner = gate(all, 3, n);
    const Tensor whole = add(at(cotangent, position), back);
    const Tensor of_fresh = multiply(multiply(whole, subtract(1, update)), slope(fresh));
    const Tensor of_reset = multiply(multiply(of_fresh, inner), bend(reset));
    const Tensor of_update = multiply(multiply(whole, subtract(at_or(states, before, h), fresh)), bend(update));
    const Tensor of_product = concat({of_reset, of_update, multiply(of_fresh, reset)}, 1);
    Steps::slot(of_inputs, position) = steps.choose(position, concat({of_reset, of_update, of_fresh}, 1), 0);
    Steps::slot(of_products, position) = steps.choose(position, of_product, 0);
    back = steps.choose(position, add(lento::matmul(of_product, weight), multiply(whole, update)), whole);
  });
  return {Steps::stacked(of_inputs, h, 3 * n), Steps::stacked(of_products, h, 3 * n), back};
}

Tensors lstm_loop(const Tensor& inputs, const Tensor& h, const Tensor& c, const Tensor& weight, const Tensors& mask,
                  bool reverse) {
  const std::int64_t n = h.shape()[1];
  const Steps steps(inputs, mask, reverse);
  Tensors states = steps.room();
  Tensors cells = steps.room();
  Tensors gates = steps.room();
  Tensor hidden = h;
  Tensor cell = c;
  steps.forward([&](std::int64_t position, std::int64_t) {
    const LstmStep step = lstm_step(add(at(inputs, position), product(hidden, weight)), cell);
    Steps::slot(states, position) = hidden = steps.choose(position, step.hidden, hidden);
    Steps::slot(cells, position) = cell = steps.choose(position, step.cell, cell);
    Steps::slot(gates, position) = steps.choose(position, joined(step.gates), 0);
  });
  return {Steps::stacked(states, h, n), Steps::stacked(cells, h, n), Steps::stacked(gates, h, 4 * n)};
}

Tensors lstm_loop_grad(const Tensor& cotangent, const Tensor& cell_cotangent, const Tensor& gates, const Tensor& cells,
                       const Tensor& c, const Tensor& weight, const Tensors& mask, bool reverse) {
  const std::int64_t n = c.shape()[1];
  const Steps steps(cells, mask, reverse);
  Tensors of_inputs = steps.room();
  Tensor back = prim::full(c.shape(), 0, c.dtype(), c.device());
  Tensor cell_back = back;
  steps.backward([&](std::int64_t position, std::int64_t before) {
    const Tensor all = at(gates, position);
    const Tensor enter = gate(all, 0, n), forget = gate(all, 1, n), fresh = gate(all, 2, n), out = gate(all, 3, n);
    const Tensor shown = tanh(at(cells, position));
    const Tensor whole = add(at(cotangent, position), back);
    const Tensor cell_kept = add(at(cell_cotangent, position), cell_back);
    const Tensor of_cell = add(cell_kept, multiply(multiply(whole, out), slope(shown)));
    const Tensor of_total =
        joined({multiply(multiply(of_cell, fresh), bend(enter)),
                multiply(multiply(of_cell, at_or(cells, before, c)), bend(forget)),
                multiply(multiply(of_cell, enter), slope(fresh)), multiply(multiply(whole, shown), bend(out))});
    Steps::slot(of_inputs, position) = steps.choose(position, of_total, 0);
    back = steps.choose(position, lento::matmul(of_total, weight), whole);
    cell_back = steps.choose(position, multiply(of_cell, forget), cell_kept);
  });
  return {Steps::stacked(of_inputs, c, 4 * n), back, cell_back};
}

Tensor states_before(const Tensor& states, const Tensor& start, bool reverse) {
  const std::int64_t length = states.shape()[0];
  if (length == 0) return states;
  const Tensor first = with_axis(start, 0);
  const Tensor rest = sliced(states, 0, reverse ? 1 : 0, length - 1);
  return prim::concatenate(reverse ? Tensors{rest, first} : Tensors{first, rest}, 0);
}

}  // namespace lento::composite
