#include <lento/nn/recurrent.h>

#include "base/fail.h"
#include "base/source.h"
#include "nn/layer_parts.h"
#include "nn/recurrent.calls.gen.h"

#include <cmath>

namespace lento::nn {

Recurrent::Recurrent(std::string_view caller, std::int64_t gates, std::int64_t input_size, std::int64_t hidden_size,
                     const RecurrentOptions& options, const std::source_location& site)
    : input_size(input_size),
      hidden_size(hidden_size),
      num_layers(options.num_layers),
      batch_first(options.batch_first),
      dropout(options.dropout),
      bidirectional(options.bidirectional) {
  const CallScope scope(caller, site);
  check_at_least(1, "input_size", input_size);
  check_at_least(1, "hidden_size", hidden_size);
  check_at_least(1, "num_layers", num_layers);
  check_probability("dropout", dropout);
  const double bound = 1 / std::sqrt(static_cast<double>(hidden_size));
  const std::int64_t rows = gates * hidden_size;
  for (std::int64_t layer = 0; layer < num_layers; ++layer) {
    const std::int64_t size = layer == 0 ? input_size : hidden_size * (bidirectional ? 2 : 1);
    for (int reverse = 0; reverse < (bidirectional ? 2 : 1); ++reverse) {
      Direction& made = directions.emplace_back();
      made.name = fmt::format("_l{}{}", layer, reverse != 0 ? "_reverse" : "");
      made.reverse = reverse != 0;
      made.weight_ih = initial::uniform({rows, size}, bound, options.dtype);
      made.weight_hh = initial::uniform({rows, hidden_size}, bound, options.dtype);
      if (options.bias) made.bias_ih = initial::uniform({rows}, bound, options.dtype);
      if (options.bias) made.bias_hh = initial::uniform({rows}, bound, options.dtype);
    }
  }
}

void Recurrent::fields(tree::Visitor& visitor) {
  for (Direction& each : directions) {
    visitor("weight_ih" + each.name, each.weight_ih);
    visitor("weight_hh" + each.name, each.weight_hh);
    visitor("bias_ih" + each.name, each.bias_ih);
    visitor("bias_hh" + each.name, each.bias_hh);
  }
}

std::string Recurrent::extra_repr() const {
  return Looks()
      .value(input_size)
      .value(hidden_size)
      .named("num_layers", num_layers)
      .changed("batch_first", batch_first, false)
      .changed("dropout", dropout, 0.0)
      .changed("bidirectional", bidirectional, false)
      .text();
}

std::pair<Tensor, Recurrent::States> Recurrent::run(std::string_view caller, const Tensor& x,
                                                    const std::optional<States>& states, std::size_t count,
                                                    const Layer& layer, const std::source_location& site) const {
  const CallScope scope(caller, site);
  const Shape& shape = x.shape();
  if (shape.size() != 3 || shape[2] != input_size) {
    fail<ShapeError>("an input has shape ({}, {}), not {}", batch_first ? "batch, length" : "length, batch", input_size,
                     shape);
  }
  Tensor values = batch_first ? permute_dims(x, {1, 0, 2}) : x;
  const std::int64_t batch = values.shape()[1];
  if (values.shape()[0] == 0) fail<ShapeError>("the input has length 0");
  const Shape needed{static_cast<std::int64_t>(directions.size()), batch, hidden_size};
  for (const Tensor& each : states.value_or(States{})) {
    if (each.shape() != needed) fail<ShapeError>("a state has shape {}, not {}", needed, each.shape());
  }
  std::vector<States> last(count);  // of each direction, by kind of state
  std::vector<Tensor> columns;
  for (std::size_t row = 0; row < directions.size(); ++row) {
    States state;
    for (std::size_t i = 0; i < count; ++i) {
      state.push_back(states ? Tensor(std::as_const((*states)[i])[{static_cast<std::int64_t>(row)}])
                             : zeros({batch, hidden_size}, values.dtype()));
    }
    States made = layer(values, state, directions[row], site);
    columns.push_back(made[0]);
    for (std::size_t i = 0; i < count; ++i) last[i].push_back(made[i + 1]);
    if (columns.size() == (bidirectional ? 2 : 1)) {
      values = columns.size() == 1 ? columns[0] : concat(columns, -1);
      columns.clear();
      const bool last_layer = row + 1 == directions.size();
      if (training && dropout != 0 && !last_layer) values = nn::dropout(values, dropout);
    }
  }
  States ends;
  for (const States& each : last) ends.push_back(stack(each));
  return {batch_first ? permute_dims(values, {1, 0, 2}) : values, ends};
}

namespace {

RecurrentOptions shared_options(const RNNOptions& options) {
  return {.num_layers = options.num_layers,
          .bias = options.bias,
          .batch_first = options.batch_first,
          .dropout = options.dropout,
          .bidirectional = options.bidirectional,
          .dtype = options.dtype};
}

}  // namespace

RNN::RNN(std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& options, std::source_location site)
    : Recurrent("RNN()", 1, input_size, hidden_size, shared_options(options), site),
      nonlinearity(options.nonlinearity) {
  const CallScope scope("RNN()", site);
  check_choice("nonlinearity", nonlinearity, {"tanh", "relu"});
}

std::pair<Tensor, Tensor> RNN::operator()(const Tensor& x, const std::optional<Tensor>& h,
                                          const std::optional<Tensor>& lengths, std::source_location site) const {
  const auto layer = [&, this](const Tensor& input, const States& states, const Direction& each,
                               const std::source_location& line) -> States {
    const auto made = nn::rnn(input, states[0], each.weight_ih, each.weight_hh, each.bias_ih, each.bias_hh,
                              nonlinearity, each.reverse, lengths, line);
    return {made.outputs, made.hidden};
  };
  auto [y, ends] = run("RNN()", x, h ? std::optional(States{*h}) : std::nullopt, 1, layer, site);
  return {y, ends[0]};
}

std::string RNN::extra_repr() const {
  const std::string text = Looks().changed("nonlinearity", nonlinearity, "tanh").text();
  return Recurrent::extra_repr() + (text.empty() ? "" : ", " + text);
}

GRU::GRU(std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options, std::source_location site)
    : Recurrent("GRU()", 3, input_size, hidden_size, options, site) {}

std::pair<Tensor, Tensor> GRU::operator()(const Tensor& x, const std::optional<Tensor>& h,
                                          const std::optional<Tensor>& lengths, std::source_location site) const {
  const auto layer = [&](const Tensor& input, const States& states, const Direction& each,
                         const std::source_location& line) -> States {
    const auto made = nn::gru(input, states[0], each.weight_ih, each.weight_hh, each.bias_ih, each.bias_hh,
                              each.reverse, lengths, line);
    return {made.outputs, made.hidden};
  };
  auto [y, ends] = run("GRU()", x, h ? std::optional(States{*h}) : std::nullopt, 1, layer, site);
  return {y, ends[0]};
}

LSTM::LSTM(std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options,
           std::source_location site)
    : Recurrent("LSTM()", 4, input_size, hidden_size, options, site) {}

std::pair<Tensor, LSTMState> LSTM::operator()(const Tensor& x, const std::optional<LSTMState>& state,
                                              const std::optional<Tensor>& lengths, std::source_location site) const {
  const auto layer = [&](const Tensor& input, const States& states, const Direction& each,
                         const std::source_location& line) -> States {
    const auto made = nn::lstm(input, states[0], states[1], each.weight_ih, each.weight_hh, each.bias_ih, each.bias_hh,
                               each.reverse, lengths, line);
    return {made.outputs, made.hidden, made.cell};
  };
  auto [y, ends] = run("LSTM()", x, state ? std::optional(States{state->h, state->c}) : std::nullopt, 2, layer, site);
  return {y, {ends[0], ends[1]}};
}

LSTMCell::LSTMCell(std::int64_t input_size, std::int64_t hidden_size, const LSTMCellOptions& options,
                   std::source_location site)
    : input_size(input_size), hidden_size(hidden_size) {
  const CallScope scope("LSTMCell()", site);
  check_at_least(1, "input_size", input_size);
  check_at_least(1, "hidden_size", hidden_size);
  weight_ih = initial::fan_in({4 * hidden_size, input_size}, hidden_size, options.dtype);
  weight_hh = initial::fan_in({4 * hidden_size, hidden_size}, hidden_size, options.dtype);
  if (options.bias) bias_ih = initial::fan_in({4 * hidden_size}, hidden_size, options.dtype);
  if (options.bias) bias_hh = initial::fan_in({4 * hidden_size}, hidden_size, options.dtype);
}

LSTMState LSTMCell::operator()(const Tensor& x, const std::optional<LSTMState>& state,
                               std::source_location site) const {
  const auto part = [&](Tensor LSTMState::* each) { return state ? std::optional((*state).*each) : std::nullopt; };
  const auto made =
      nn::lstm_cell(x, part(&LSTMState::h), part(&LSTMState::c), weight_ih, weight_hh, bias_ih, bias_hh, site);
  return {made.hidden, made.cell};
}

std::string LSTMCell::extra_repr() const {
  return Looks().value(input_size).value(hidden_size).changed("bias", bias_ih.has_value(), true).text();
}

}  // namespace lento::nn
