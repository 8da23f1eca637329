// Recurrent networks over a whole sequence and their derivatives: step by step, example by example. Sums over states,
// and the gates, are computed in the wider type that matrix products are accumulated in; what a later step reads is
// rounded.
#include "backends/reference/array.h"
#include "backends/reference/scalar_math.h"
#include "backends/reference/sum_of_products.h"
#include "base/dispatch.h"
#include "ir/attrs_contraction.gen.h"
#include "reference/kernels_contraction.gen.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace lento::reference {

namespace {

/// Where the rows of a step and of an example lie, and which come before them.
struct Walk {
  std::int64_t length;
  std::int64_t batch;
  std::int64_t hidden;
  bool reverse;
  const bool* mask;  // null: every step counts

  Walk(const Array& steps, const Array& weight, std::span<const Array> masks, bool reverse)
      : length(steps.extent(0)),
        batch(steps.extent(1)),
        hidden(weight.extent(1)),
        reverse(reverse),
        mask(masks.empty() ? nullptr : masks[0].as<bool>()) {}

  /// The position of the step that comes `count`-th.
  std::int64_t at(std::int64_t count) const { return reverse ? length - 1 - count : count; }
  /// The row of `steps` (length, batch, parts * hidden).
  template <class T>
  T* row(T* steps, std::int64_t count, std::int64_t b, std::int64_t parts = 1) const {
    return steps + (at(count) * batch + b) * parts * hidden;
  }
  /// The row that came before it: of the first step that of `start` (batch, hidden).
  template <class T>
  const T* before(const T* states, const T* start, std::int64_t count, std::int64_t b) const {
    return count == 0 ? start + b * hidden : row(states, count - 1, b);
  }
  bool counts(std::int64_t count, std::int64_t b) const { return mask == nullptr || mask[at(count) * batch + b]; }
};

/// state @ weight.T for one example, with weight of `rows` rows.
template <class T>
std::vector<SumType<T>> product(const T* state, const T* weight, std::int64_t rows, std::int64_t hidden) {
  std::vector<SumType<T>> sums(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < hidden; ++k) {
      add_product<T>(sums[static_cast<std::size_t>(i)], state[k], weight[i * hidden + k]);
    }
  }
  return sums;
}

/// Adds `row` @ weight to what goes back to the state before.
template <class T>
void add_product_back(std::vector<SumType<T>>& back, const T* row, const T* weight, std::int64_t rows,
                      std::int64_t hidden) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < hidden; ++k) {
      add_product<T>(back[static_cast<std::size_t>(k)], row[i], weight[i * hidden + k]);
    }
  }
}

/// Calls `f` with the element type of `x`.
template <class F>
void for_floats(const Array& x, F&& f) {
  if (x.dtype() == DType::float32) {
    f.template operator()<float>();
  } else {
    f.template operator()<double>();
  }
}

/// x (1 - x): the slope of a sigmoid that is x.
template <class S>
S bend(S x) {
  return x * (1 - x);
}

}  // namespace

void rnn_states(const Array& states, const Array& inputs, const Array& h, const Array& weight,
                std::span<const Array> mask, const RnnStatesAttrs& attrs) {
  const Walk walk(inputs, weight, mask, attrs.reverse);
  for_floats(inputs, [&]<class T>() {
    for (std::int64_t count = 0; count < walk.length; ++count) {
      for (std::int64_t b = 0; b < walk.batch; ++b) {
        const T* before = walk.before(states.as<T>(), h.as<T>(), count, b);
        T* to = walk.row(states.as<T>(), count, b);
        if (!walk.counts(count, b)) {
          std::copy_n(before, walk.hidden, to);
          continue;
        }
        const T* input = walk.row(inputs.as<T>(), count, b);
        const auto back = product(before, weight.as<T>(), walk.hidden, walk.hidden);
        for (std::int64_t j = 0; j < walk.hidden; ++j) {
          const auto total = input[j] + back[static_cast<std::size_t>(j)];
          const bool relu = attrs.nonlinearity == RnnStatesAttrs::Nonlinearity::relu;
          to[j] = static_cast<T>(relu ? (total <= 0 ? 0 : total) : std::tanh(total));
        }
      }
    }
  });
}

void rnn_states_grad(const Array& of_inputs, const Array& of_h, const Array& cotangent, const Array& states,
                     const Array& weight, std::span<const Array> mask, const RnnStatesGradAttrs& attrs) {
  const Walk walk(states, weight, mask, attrs.reverse);
  for_floats(states, [&]<class T>() {
    using S = SumType<T>;
    for (std::int64_t b = 0; b < walk.batch; ++b) {
      std::vector<S> back(static_cast<std::size_t>(walk.hidden));
      for (std::int64_t count = walk.length; count-- > 0;) {
        const T* coming = walk.row(cotangent.as<T>(), count, b);
        for (std::int64_t j = 0; j < walk.hidden; ++j) back[static_cast<std::size_t>(j)] += coming[j];
        T* to = walk.row(of_inputs.as<T>(), count, b);
        if (!walk.counts(count, b)) {
          std::fill_n(to, walk.hidden, T{});
          continue;
        }
        const T* state = walk.row(states.as<T>(), count, b);
        for (std::int64_t j = 0; j < walk.hidden; ++j) {
          const S y = state[j];
          const S whole = back[static_cast<std::size_t>(j)];
          const bool relu = attrs.nonlinearity == RnnStatesGradAttrs::Nonlinearity::relu;
          to[j] = static_cast<T>(relu ? (y <= 0 ? 0 : whole) : whole * (1 - y * y));
        }
        std::fill(back.begin(), back.end(), S{});
        add_product_back(back, to, weight.as<T>(), walk.hidden, walk.hidden);
      }
      std::copy(back.begin(), back.end(), of_h.as<T>() + b * walk.hidden);
    }
  });
}

void gru_states(const Array& states, const Array& gates, const Array& inputs, const Array& h, const Array& weight,
                const Array& bias, std::span<const Array> mask, const GruStatesAttrs& attrs) {
  const Walk walk(inputs, weight, mask, attrs.reverse);
  const std::int64_t n = walk.hidden;
  for_floats(inputs, [&]<class T>() {
    using S = SumType<T>;
    for (std::int64_t count = 0; count < walk.length; ++count) {
      for (std::int64_t b = 0; b < walk.batch; ++b) {
        const T* before = walk.before(states.as<T>(), h.as<T>(), count, b);
        T* to = walk.row(states.as<T>(), count, b);
        T* gate = walk.row(gates.as<T>(), count, b, 4);
        if (!walk.counts(count, b)) {
          std::copy_n(before, n, to);
          std::fill_n(gate, 4 * n, T{});
          continue;
        }
        const T* input = walk.row(inputs.as<T>(), count, b, 3);
        const auto back = product(before, weight.as<T>(), 3 * n, n);
        for (std::int64_t j = 0; j < n; ++j) {
          const auto total = [&](std::int64_t i) { return input[i] + back[static_cast<std::size_t>(i)]; };
          const S reset = math::sigmoid(total(j));
          const S update = math::sigmoid(total(n + j));
          const S inner = back[static_cast<std::size_t>(2 * n + j)] + bias.as<T>()[j];
          const S fresh = std::tanh(input[2 * n + j] + reset * inner);
          gate[j] = static_cast<T>(reset);
          gate[n + j] = static_cast<T>(update);
          gate[2 * n + j] = static_cast<T>(fresh);
          gate[3 * n + j] = static_cast<T>(inner);
          to[j] = static_cast<T>(fresh + update * (before[j] - fresh));
        }
      }
    }
  });
}

void gru_states_grad(const Array& of_inputs, const Array& of_products, const Array& of_h, const Array& cotangent,
                     const Array& gates, const Array& states, const Array& h, const Array& weight,
                     std::span<const Array> mask, const GruStatesGradAttrs& attrs) {
  const Walk walk(states, weight, mask, attrs.reverse);
  const std::int64_t n = walk.hidden;
  for_floats(states, [&]<class T>() {
    using S = SumType<T>;
    for (std::int64_t b = 0; b < walk.batch; ++b) {
      std::vector<S> back(static_cast<std::size_t>(n));
      for (std::int64_t count = walk.length; count-- > 0;) {
        const T* coming = walk.row(cotangent.as<T>(), count, b);
        for (std::int64_t j = 0; j < n; ++j) back[static_cast<std::size_t>(j)] += coming[j];
        T* input = walk.row(of_inputs.as<T>(), count, b, 3);
        T* products = walk.row(of_products.as<T>(), count, b, 3);
        if (!walk.counts(count, b)) {
          std::fill_n(input, 3 * n, T{});
          std::fill_n(products, 3 * n, T{});
          continue;
        }
        const T* before = walk.before(states.as<T>(), h.as<T>(), count, b);
        const T* gate = walk.row(gates.as<T>(), count, b, 4);
        for (std::int64_t j = 0; j < n; ++j) {
          S& whole = back[static_cast<std::size_t>(j)];
          const S reset = gate[j], update = gate[n + j], fresh = gate[2 * n + j], inner = gate[3 * n + j];
          const S of_fresh = whole * (1 - update) * (1 - fresh * fresh);
          products[j] = input[j] = static_cast<T>(of_fresh * inner * bend(reset));
          products[n + j] = input[n + j] = static_cast<T>(whole * (before[j] - fresh) * bend(update));
          input[2 * n + j] = static_cast<T>(of_fresh);
          products[2 * n + j] = static_cast<T>(of_fresh * reset);
          whole *= update;
        }
        add_product_back(back, products, weight.as<T>(), 3 * n, n);
      }
      std::copy(back.begin(), back.end(), of_h.as<T>() + b * n);
    }
  });
}

void lstm_states(const Array& states, const Array& cells, const Array& gates, const Array& inputs, const Array& h,
                 const Array& c, const Array& weight, std::span<const Array> mask, const LstmStatesAttrs& attrs) {
  const Walk walk(inputs, weight, mask, attrs.reverse);
  const std::int64_t n = walk.hidden;
  for_floats(inputs, [&]<class T>() {
    using S = SumType<T>;
    for (std::int64_t count = 0; count < walk.length; ++count) {
      for (std::int64_t b = 0; b < walk.batch; ++b) {
        const T* before = walk.before(states.as<T>(), h.as<T>(), count, b);
        const T* cell_before = walk.before(cells.as<T>(), c.as<T>(), count, b);
        T* to = walk.row(states.as<T>(), count, b);
        T* cell = walk.row(cells.as<T>(), count, b);
        T* gate = walk.row(gates.as<T>(), count, b, 4);
        if (!walk.counts(count, b)) {
          std::copy_n(before, n, to);
          std::copy_n(cell_before, n, cell);
          std::fill_n(gate, 4 * n, T{});
          continue;
        }
        const T* input = walk.row(inputs.as<T>(), count, b, 4);
        const auto back = product(before, weight.as<T>(), 4 * n, n);
        for (std::int64_t j = 0; j < n; ++j) {
          const auto total = [&](std::int64_t i) { return input[i] + back[static_cast<std::size_t>(i)]; };
          const S enter = math::sigmoid(total(j));
          const S forget = math::sigmoid(total(n + j));
          const S fresh = std::tanh(total(2 * n + j));
          const S out = math::sigmoid(total(3 * n + j));
          const S next = forget * cell_before[j] + enter * fresh;
          gate[j] = static_cast<T>(enter);
          gate[n + j] = static_cast<T>(forget);
          gate[2 * n + j] = static_cast<T>(fresh);
          gate[3 * n + j] = static_cast<T>(out);
          cell[j] = static_cast<T>(next);
          to[j] = static_cast<T>(out * std::tanh(next));
        }
      }
    }
  });
}

void lstm_states_grad(const Array& of_inputs, const Array& of_h, const Array& of_c, const Array& cotangent,
                      const Array& cell_cotangent, const Array& gates, const Array& cells, const Array& c,
                      const Array& weight, std::span<const Array> mask, const LstmStatesGradAttrs& attrs) {
  const Walk walk(cells, weight, mask, attrs.reverse);
  const std::int64_t n = walk.hidden;
  for_floats(cells, [&]<class T>() {
    using S = SumType<T>;
    for (std::int64_t b = 0; b < walk.batch; ++b) {
      std::vector<S> back(static_cast<std::size_t>(n));
      std::vector<S> cell_back(static_cast<std::size_t>(n));
      for (std::int64_t count = walk.length; count-- > 0;) {
        const T* coming = walk.row(cotangent.as<T>(), count, b);
        const T* to_cell = walk.row(cell_cotangent.as<T>(), count, b);
        for (std::int64_t j = 0; j < n; ++j) back[static_cast<std::size_t>(j)] += coming[j];
        for (std::int64_t j = 0; j < n; ++j) cell_back[static_cast<std::size_t>(j)] += to_cell[j];
        T* to = walk.row(of_inputs.as<T>(), count, b, 4);
        if (!walk.counts(count, b)) {
          std::fill_n(to, 4 * n, T{});
          continue;
        }
        const T* gate = walk.row(gates.as<T>(), count, b, 4);
        const T* cell = walk.row(cells.as<T>(), count, b);
        const T* cell_before = walk.before(cells.as<T>(), c.as<T>(), count, b);
        for (std::int64_t j = 0; j < n; ++j) {
          S& whole = cell_back[static_cast<std::size_t>(j)];
          const S of_state = back[static_cast<std::size_t>(j)];
          const S enter = gate[j], forget = gate[n + j], fresh = gate[2 * n + j], out = gate[3 * n + j];
          const S shown = std::tanh(S{cell[j]});
          whole += of_state * out * (1 - shown * shown);
          to[j] = static_cast<T>(whole * fresh * bend(enter));
          to[n + j] = static_cast<T>(whole * cell_before[j] * bend(forget));
          to[2 * n + j] = static_cast<T>(whole * enter * (1 - fresh * fresh));
          to[3 * n + j] = static_cast<T>(of_state * shown * bend(out));
          whole *= forget;
        }
        std::fill(back.begin(), back.end(), S{});
        add_product_back(back, to, weight.as<T>(), 4 * n, n);
      }
      std::copy(back.begin(), back.end(), of_h.as<T>() + b * n);
      std::copy(cell_back.begin(), cell_back.end(), of_c.as<T>() + b * n);
    }
  });
}

}  // namespace lento::reference
