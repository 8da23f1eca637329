// What all optimizers share: the walk over parameters and gradients, what is kept for them, groups, state dicts.
#pragma once

#include <lento/export.h>
#include <lento/optim/groups.h>
#include <lento/schedules.h>
#include <lento/tensor.h>
#include <lento/tensor_dict.h>
#include <lento/tree.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lento::optim::lr_scheduler {
class LRScheduler;
}

namespace lento::optim {

/// The leaves of a tree by name, and where those are that can be trained: the floating and complex ones. One without a
/// name is "0", as it is alone in a vector.
class LENTO_API Trained final : public tree::detail::GatherNames {
 public:
  template <tree::Tree T>
  explicit Trained(T& tree) {
    tree::visit(*this, tree);
  }
  void tensor(Tensor& x) override;

  struct Place {
    std::string name;
    Tensor* tensor;
    std::size_t leaf;  // its number among all leaves
  };
  std::vector<Place> places;
};

namespace detail {

/// Throws unless a gradient fits its parameter: ValueError for another shape, DTypeError for a complex one of a real.
LENTO_API void check_gradient(std::string_view name, const Tensor& parameter, const Tensor& gradient);

/// The same text at an address that stays, as the names of calls need.
LENTO_API std::string_view lasting(std::string_view text);

}  // namespace detail

/// What an optimizer keeps for each parameter: its name, and what it begins as. That is zeros like the parameter where
/// nothing else is said, and an empty handle where there is nothing to keep.
struct Kept {
  Kept(const char* name_of_kept) : name(name_of_kept) {}
  Kept(std::string name_of_kept, std::function<Tensor(const Tensor& parameter)> beginning = nullptr)
      : name(std::move(name_of_kept)), start(std::move(beginning)) {}

  std::string name;
  std::function<Tensor(const Tensor& parameter)> start;
};

/// What all optimizers share. One of your own gives this base a name for errors, what it trains, and the names of what
/// it keeps for each parameter, which begins as zeros; and it overrides `update`.
class LENTO_API Optimizer {
 public:
  /// May be changed at any time.
  LearningRate lr;
  /// Parts with settings of their own, which may be changed at any time; which parameters are in them may not.
  std::vector<Group> groups;
  /// How many steps were made.
  std::int64_t step_count = 0;

  virtual ~Optimizer() = default;

  /// What the next step uses, in no group.
  double learning_rate() const { return lr.at(step_count); }

  /// Updates the parameters with gradients of the same form. Throws ValueError when names or shapes are not those that
  /// the optimizer was made for, and for gradients that do not fit; then nothing is changed.
  template <tree::Tree T, tree::Tree G>
    requires(!std::is_const_v<T>)
  void step(T& parameters, const G& gradients, std::source_location site = std::source_location::current()) {
    const Trained trained(parameters);
    tree::detail::GatherNames given;
    tree::visit(given, gradients);
    make_step(trained, given, site);
  }

  /// What has to be saved to go on later, by the names that Python gives: "step_count", "lr" where it is a number,
  /// "groups.0.weight_decay", "exp_avg.fc1.weight", ….
  TensorDict state_dict(std::source_location site = std::source_location::current()) const;
  /// Goes on from what state_dict gave. Throws ValueError, and changes nothing, when names or shapes differ. A learning
  /// rate is taken unless the one here is a function of the step.
  void load_state_dict(const TensorDict& state, std::source_location site = std::source_location::current());

 protected:
  Optimizer(std::string_view name, const Trained& parameters, LearningRate rate, std::vector<Kept> kept,
            const std::source_location& site = std::source_location::current());
  Optimizer(const Optimizer&) = default;
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(const Optimizer&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  /// One parameter's step, the `step`th from 1; `kept` are its kept tensors in the order of their names.
  virtual void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
                      std::int64_t step) = 0;

  /// Makes groups; `settings` are those that a group of this optimizer may have beside lr. Throws ValueError for a
  /// setting that is none of them or out of range, for a group without parameters and for a parameter in two of them.
  void set_groups(std::vector<Group> made, const Trained& parameters, std::initializer_list<std::string_view> settings,
                  const std::source_location& site);
  /// The setting that schedulers of the momentum change; null where there is none.
  virtual double* momentum_place() { return nullptr; }
  /// While `update` runs, a setting as the parameter's group has it: `of_group(&Group::eps, eps)`.
  template <class T>
  const T& of_group(std::optional<T> Group::* setting, const T& usual) const {
    return group_ != nullptr && (group_->*setting).has_value() ? *(group_->*setting) : usual;
  }

 private:
  friend class lr_scheduler::LRScheduler;
  struct Parameter {
    std::string name;
    DType dtype;
    Shape shape;
    std::optional<std::size_t> group;
  };
  void make_step(const Trained& trained, const tree::detail::GatherNames& given, const std::source_location& site);
  void check_parameters(const Trained& trained) const;
  void check_not_moved() const;
  /// Whether a parameter is in no group.
  bool has_rest() const;
  /// Kept tensors with their names in state dicts.
  std::vector<std::pair<std::string, Tensor*>> named_state();

  std::string_view name_;
  std::vector<std::string> kept_;
  std::vector<Parameter> parameters_;
  std::vector<Tensor> state_;  // for each parameter one after another, in the order of kept_
  std::size_t group_count_ = 0;
  std::vector<std::string_view> group_settings_;  // that a group of this optimizer may have
  /// The rates of the optimizer and its groups before schedulers changed them; none for a group that had none.
  std::vector<std::optional<double>> first_rates_;
  const Group* group_ = nullptr;  // of the parameter that is updated
};

}  // namespace lento::optim
