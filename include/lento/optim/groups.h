// Groups: parts of a model with settings of their own.
//
//     optim::AdamW optimizer(model, {.lr = 1e-3, .groups = {{.params = "head", .lr = 1e-2},
//                                                           {.params = is_bias, .weight_decay = 0}}});
//
// A setting that a group does not have is the optimizer's.
#pragma once

#include <lento/export.h>
#include <lento/schedules.h>
#include <lento/tensor.h>

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lento::optim {

/// Which parameters are meant: those below a name ("head" means "head" and "head.weight", and not "header"), below one
/// of several, or those that a function of name and tensor picks.
class Which {
 public:
  template <class T>
    requires std::convertible_to<T, std::string_view>
  Which(const T& name) : Which({std::string_view(name)}) {}
  LENTO_API Which(std::initializer_list<std::string_view> names);
  LENTO_API Which(std::vector<std::string> names);
  template <class F>
    requires std::is_invocable_r_v<bool, const F&, std::string_view, const Tensor&>
  Which(F picks) : picks_(std::move(picks)) {}

  bool operator()(std::string_view name, const Tensor& parameter) const { return picks_(name, parameter); }
  /// False for an empty std::function.
  bool defined() const { return picks_ != nullptr; }
  /// Names as they were given; none where it is a function.
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::function<bool(std::string_view, const Tensor&)> picks_;
};

/// Some parameters, and what is different for them. Settings may be changed at any time; the next step throws
/// ValueError for one that is out of range, or that the optimizer does not have. Which parameters they are cannot be
/// changed.
struct Group {
  Which params;
  std::optional<LearningRate> lr = std::nullopt;
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> momentum = std::nullopt;
  std::optional<std::pair<double, double>> betas = std::nullopt;
  std::optional<double> eps = std::nullopt;
};

}  // namespace lento::optim
