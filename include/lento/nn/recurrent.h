// Recurrent networks over sequences: RNN, GRU and LSTM, and LSTMCell, which is one step; RNNCell and GRUCell are layers
// of the catalogue. Names and layouts of weights are PyTorch's.
#pragma once

#include <lento/nn/module.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace lento::nn {

/// What is not the default in a GRU or an LSTM.
struct RecurrentOptions {
  std::int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0.0;
  bool bidirectional = false;
  std::optional<DType> dtype = std::nullopt;
};

/// What is not the default in an RNN.
struct RNNOptions {
  std::int64_t num_layers = 1;
  std::string nonlinearity = "tanh";  ///< or "relu"
  bool bias = true;
  bool batch_first = false;
  double dropout = 0.0;
  bool bidirectional = false;
  std::optional<DType> dtype = std::nullopt;
};

/// What RNN, GRU and LSTM share: layers in one or both directions over (length, batch, features), or (batch, length,
/// features) with `batch_first`. In training `dropout` is the probability that an output of a layer, except the last
/// one, is dropped.
///
/// Sequences of a batch may have different `lengths`, given as integers (batch,): outputs behind the end of one are 0,
/// its last state is that of its own last step, and the other direction begins at its own end.
class LENTO_API Recurrent : public Module {
 public:
  using Options = RecurrentOptions;

  /// The weights of one layer in one direction, which are named `weight_ih_l0`, `weight_ih_l0_reverse` and so on.
  struct Direction {
    std::string name;  ///< "_l0", "_l0_reverse"
    bool reverse;
    Tensor weight_ih;
    Tensor weight_hh;
    std::optional<Tensor> bias_ih;
    std::optional<Tensor> bias_hh;
  };

  std::int64_t input_size;
  std::int64_t hidden_size;
  std::int64_t num_layers;
  bool batch_first;
  double dropout;
  bool bidirectional;
  std::vector<Direction> directions;  ///< layer by layer, forward before reverse

  std::string extra_repr() const override;
  void fields(tree::Visitor& visitor) override;

 protected:
  /// `caller` is a literal: "GRU()".
  Recurrent(std::string_view caller, std::int64_t gates, std::int64_t input_size, std::int64_t hidden_size,
            const RecurrentOptions& options, const std::source_location& site);

  /// Runs `layer`, which takes the input, the states and the weights of a direction and gives the outputs before the
  /// last states. Gives the outputs, and each of the last states as (layers * directions, batch, hidden_size).
  using States = std::vector<Tensor>;
  using Layer = std::function<States(const Tensor& x, const States& states, const Direction& weights,
                                     const std::source_location& site)>;
  std::pair<Tensor, States> run(std::string_view caller, const Tensor& x, const std::optional<States>& states,
                                std::size_t count, const Layer& layer, const std::source_location& site) const;
};

/// A plain recurrent network. Gives the outputs and the last hidden state.
class LENTO_API RNN : public Recurrent {
 public:
  using Options = RNNOptions;

  explicit RNN(std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& options = {},
               std::source_location site = std::source_location::current());

  std::pair<Tensor, Tensor> operator()(const Tensor& x, const std::optional<Tensor>& h = std::nullopt,
                                       const std::optional<Tensor>& lengths = std::nullopt,
                                       std::source_location site = std::source_location::current()) const;
  std::string extra_repr() const override;

  std::string nonlinearity;
};

/// Gated recurrent units. Gives the outputs and the last hidden state.
class LENTO_API GRU : public Recurrent {
 public:
  explicit GRU(std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options = {},
               std::source_location site = std::source_location::current());

  std::pair<Tensor, Tensor> operator()(const Tensor& x, const std::optional<Tensor>& h = std::nullopt,
                                       const std::optional<Tensor>& lengths = std::nullopt,
                                       std::source_location site = std::source_location::current()) const;
};

/// The hidden and the cell state of an LSTM.
struct LSTMState {
  Tensor h;
  Tensor c;

  LENTO_FIELDS(h, c)
};

/// Long short-term memory. Gives the outputs and the last states.
class LENTO_API LSTM : public Recurrent {
 public:
  explicit LSTM(std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options = {},
                std::source_location site = std::source_location::current());

  std::pair<Tensor, LSTMState> operator()(const Tensor& x, const std::optional<LSTMState>& state = std::nullopt,
                                          const std::optional<Tensor>& lengths = std::nullopt,
                                          std::source_location site = std::source_location::current()) const;
};

/// What is not the default in an LSTMCell.
struct LSTMCellOptions {
  bool bias = true;
  std::optional<DType> dtype = std::nullopt;
};

/// One step of an LSTM for (batch, features) or (features,), from the states, or from zeros, to the next.
class LENTO_API LSTMCell : public Module {
 public:
  using Options = LSTMCellOptions;

  explicit LSTMCell(std::int64_t input_size, std::int64_t hidden_size, const LSTMCellOptions& options = {},
                    std::source_location site = std::source_location::current());

  LSTMState operator()(const Tensor& x, const std::optional<LSTMState>& state = std::nullopt,
                       std::source_location site = std::source_location::current()) const;
  std::string extra_repr() const override;

  std::int64_t input_size;
  std::int64_t hidden_size;
  Tensor weight_ih;
  Tensor weight_hh;
  std::optional<Tensor> bias_ih;
  std::optional<Tensor> bias_hh;

  LENTO_FIELDS(weight_ih, weight_hh, bias_ih, bias_hh)
};

}  // namespace lento::nn
