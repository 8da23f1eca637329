// Averages: of a model's parameters over its training, and of gradients over several batches.
//
//     optim::EMA average(model, 0.999);
//     …
//     optimizer.step(model, gradients);
//     average.update(model);                    // average.model is for evaluation
//
//     optim::MultiSteps steps(optimizer, 4);
//     steps.step(model, gradients);             // every fourth call is a step with the mean of four gradients
#pragma once

#include <lento/export.h>
#include <lento/optim/optimizer.h>
#include <lento/tensor.h>
#include <lento/tensor_dict.h>
#include <lento/tree.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lento::optim {

namespace detail {

/// Each of `old` moved by `step_size` of the way to `now`, in its own dtype; what is not floating is as it is now.
/// Throws ValueError when there are not as many, and for one that has no tensor now.
LENTO_API std::vector<Tensor> moved(std::string_view caller, const std::vector<Tensor>& now,
                                    const std::vector<Tensor>& old, double step_size, const std::source_location& site);
/// Throws ValueError when there are not as many, or when shapes differ.
LENTO_API void check_alike(std::string_view caller, const std::vector<Tensor>& now, const std::vector<Tensor>& old,
                           const std::source_location& site);
LENTO_API void check_decay(double decay, const std::source_location& site);
LENTO_API void check_every(std::int64_t every, const std::source_location& site);

/// Where the averages and the buffers of a tree are, by name.
class LENTO_API Averaged final : public tree::detail::GatherNames {
 public:
  template <tree::Tree T>
  explicit Averaged(T& tree) {
    add(Trained(tree));
    tree::visit(*this, tree);
  }
  void tensor(Tensor& /*x*/) override {}
  void buffer(Tensor& x) override;
  std::vector<std::pair<std::string, Tensor*>> places;

 private:
  void add(const Trained& trained);
};
LENTO_API TensorDict saved_average(const Averaged& average, std::int64_t n_averaged);
LENTO_API std::int64_t load_average(const Averaged& average, const TensorDict& state, const std::source_location& site);

}  // namespace detail

/// `old_tensors` moved by `step_size` of the way to `new_tensors`, leaf by leaf: optax's.
template <tree::Tree T, tree::Tree U>
U incremental_update(const T& new_tensors, const U& old_tensors, double step_size,
                     std::source_location site = std::source_location::current()) {
  const std::vector<Tensor> now = tree::leaves_like(old_tensors, new_tensors, "incremental_update: what is new", site);
  const std::vector<Tensor> old = tree::leaves(old_tensors);
  return tree::unflatten(old_tensors, detail::moved("incremental_update", now, old, step_size, site), site);
}

/// The exponential average of a model's parameters, as PyTorch's AveragedModel with `get_ema_multi_avg_fn(decay)`: the
/// first update copies, each one after it keeps `decay` of the average. Buffers are those of the last update.
template <tree::Tree T>
class EMA {
 public:
  /// Throws ValueError unless the decay is from 0 to 1.
  explicit EMA(const T& trained, double decay_of_average = 0.999,
               std::source_location site = std::source_location::current())
      : model(trained), decay(decay_of_average) {
    detail::check_decay(decay, site);
  }

  /// With the averages as parameters.
  T model;
  double decay;
  std::int64_t n_averaged = 0;

  /// Takes the parameters of a model of the same form in.
  void update(const T& trained, std::source_location site = std::source_location::current()) {
    const std::vector<Tensor> now = tree::leaves_like(model, trained, "EMA.update: the model", site);
    const std::vector<Tensor> old = tree::leaves(model);
    detail::check_alike("EMA.update", now, old, site);
    model =
        tree::unflatten(trained, n_averaged == 0 ? now : detail::moved("EMA.update", now, old, 1 - decay, site), site);
    ++n_averaged;
  }

  /// "n_averaged", and the averages and buffers as "model.<name>".
  TensorDict state_dict() const { return detail::saved_average(detail::Averaged(model), n_averaged); }
  /// Throws ValueError, and changes nothing, when names or shapes differ.
  void load_state_dict(const TensorDict& state, std::source_location site = std::source_location::current()) {
    n_averaged = detail::load_average(detail::Averaged(model), state, site);
  }
};

/// Gathers gradients: every `every`th step is one of the optimizer, with the mean of the gradients since the last one.
/// The optimizer has to stay where it is. optax's name.
class MultiSteps {
 public:
  /// Throws ValueError unless `every` is 1 or more.
  MultiSteps(Optimizer& of, std::int64_t every_step, std::source_location site = std::source_location::current())
      : optimizer(of), every(every_step) {
    detail::check_every(every, site);
  }

  Optimizer& optimizer;
  std::int64_t every;
  /// How many gradients are gathered.
  std::int64_t mini_step = 0;

  /// Returns whether the parameters were changed.
  template <tree::Tree T, tree::Tree G>
  bool step(T& parameters, const G& gradients, std::source_location site = std::source_location::current()) {
    std::vector<Tensor> mean =
        tree::leaves_like(parameters, gradients, "MultiSteps.step: what is given as gradients", site);
    if (mini_step > 0) {
      mean = detail::moved("MultiSteps.step", mean, mean_, 1.0 / static_cast<double>(mini_step + 1), site);
    }
    const bool is_last = mini_step + 1 >= every;
    if (is_last) optimizer.step(parameters, tree::unflatten(parameters, mean, site), site);
    mini_step = is_last ? 0 : mini_step + 1;
    mean_ = is_last ? std::vector<Tensor>() : std::move(mean);
    return is_last;
  }

 private:
  std::vector<Tensor> mean_;  // of the gradients gathered so far
};

}  // namespace lento::optim
