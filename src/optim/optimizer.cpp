// What all optimizers share.
#include <lento/nn/module.h>
#include <lento/optim/optimizer.h>

#include "base/fail.h"
#include "base/source.h"
#include "optim/checks.h"
#include "optim/optimizer.calls.gen.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace lento::optim {
namespace {

/// "AdamW.step", as the name of a call.
std::string_view method_of(std::string_view name, std::string_view method) {
  return detail::lasting(fmt::format("{}.{}", name, method));
}

template <class T>
Tensor number(T value) {
  return from_host(&value, dtype_of<T>(), {});
}

/// One of the numbers that a state dict has: a setting, or two of a pair.
struct Setting {
  std::string name;
  bool is_rate;
  std::vector<double> values;
  std::function<void(const std::vector<double>&)> take;

  Tensor tensor() const {
    return values.size() == 1 ? number(values[0])
                              : from_host(values.data(), DType::float64, {static_cast<std::int64_t>(values.size())});
  }
};

/// The settings that are saved. Taking others changes the arguments, which have to stay.
std::vector<Setting> saved_settings(LearningRate& lr, std::vector<Group>& groups) {
  std::vector<Setting> all;
  const auto add_rate = [&](std::string name, LearningRate& rate) {
    if (!rate.is_number()) return;
    all.push_back({std::move(name), true, {rate.at(0)}, [&rate](const auto& values) { rate = values[0]; }});
  };
  add_rate("lr", lr);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Group& group = groups[i];
    const auto name = [i](std::string_view setting) { return fmt::format("groups.{}.{}", i, setting); };
    const auto add_number = [&](std::string_view setting, std::optional<double>& place) {
      if (place) all.push_back({name(setting), false, {*place}, [&place](const auto& values) { place = values[0]; }});
    };
    if (group.lr) add_rate(name("lr"), *group.lr);
    add_number("weight_decay", group.weight_decay);
    add_number("momentum", group.momentum);
    if (group.betas) {
      const auto take = [&group](const auto& values) { group.betas = {values[0], values[1]}; };
      all.push_back({name("betas"), false, {group.betas->first, group.betas->second}, take});
    }
    add_number("eps", group.eps);
  }
  return all;
}

void check_rate(const LearningRate& lr) {
  if (!lr.defined()) fail<ValueError>("lr is an empty function");
  if (lr.is_number()) check_not_negative("lr", lr.at(0));
}

/// Throws ValueError for a setting that a group of this optimizer may not have, or that is out of range.
void check_group(const Group& group, std::size_t i, std::span<const std::string_view> known) {
  const auto check_known = [&](std::string_view setting, bool is_given) {
    if (!is_given || std::ranges::find(known, setting) != known.end()) return;
    fail<ValueError>("groups.{} has {}, which is no setting that a group of this optimizer may have", i, setting);
  };
  check_known("weight_decay", group.weight_decay.has_value());
  check_known("momentum", group.momentum.has_value());
  check_known("betas", group.betas.has_value());
  check_known("eps", group.eps.has_value());
  if (!group.params.defined()) fail<ValueError>("groups.{}.params is an empty function", i);
  const auto check = [&](std::string_view setting, std::optional<double> value) {
    if (value) check_not_negative(fmt::format("groups.{}.{}", i, setting), *value);
  };
  if (group.lr && !group.lr->defined()) fail<ValueError>("groups.{}.lr is an empty function", i);
  if (group.lr && group.lr->is_number()) check("lr", group.lr->at(0));
  check("weight_decay", group.weight_decay);
  check("momentum", group.momentum);
  check("eps", group.eps);
  if (group.betas) check_betas(*group.betas, fmt::format("groups.{}.betas", i));
}

}  // namespace

std::string_view detail::lasting(std::string_view text) {
  static auto* mutex = new std::mutex;
  static auto* texts = new std::set<std::string, std::less<>>;
  const std::lock_guard lock(*mutex);
  const auto found = texts->find(text);
  return found != texts->end() ? *found : *texts->emplace(text).first;
}

void Trained::tensor(Tensor& x) {
  if (x.defined() && is_inexact(x.dtype())) {
    places.push_back({path_.empty() ? "0" : path_, &x, leaves.size()});
  }
  GatherNames::tensor(x);
}

void detail::check_gradient(std::string_view name, const Tensor& parameter, const Tensor& gradient) {
  if (!gradient.defined()) fail<ValueError>("the gradient of {} is an empty handle", name);
  if (gradient.shape() != parameter.shape()) {
    fail<ValueError>("{} has shape {}, but its gradient {}", name, parameter.shape(), gradient.shape());
  }
  if (is_complex(gradient.dtype()) && !is_complex(parameter.dtype())) {
    fail<DTypeError>("{} is {}, but its gradient {}", name, parameter.dtype(), gradient.dtype());
  }
}

Optimizer::Optimizer(std::string_view name, const Trained& parameters, LearningRate rate, std::vector<Kept> kept,
                     const std::source_location& site)
    : lr(std::move(rate)), name_(detail::lasting(name)) {
  const CallScope scope(name_, site);
  check_rate(lr);
  if (parameters.places.empty()) fail<ValueError>("there is no floating tensor to train");
  for (Kept& one : kept) kept_.push_back(std::move(one.name));
  std::set<std::string_view> paths;
  for (const auto& [path, tensor, leaf] : parameters.places) {
    if (!paths.insert(path).second) fail<ValueError>("two tensors to train would be named '{}'", path);
    parameters_.push_back({path, tensor->dtype(), tensor->shape(), std::nullopt});
    for (const Kept& one : kept) state_.push_back(one.start ? one.start(*tensor) : zeros_like(*tensor));
  }
}

void Optimizer::set_groups(std::vector<Group> made, const Trained& parameters,
                           std::initializer_list<std::string_view> settings, const std::source_location& site) {
  const CallScope scope(name_, site);
  groups = std::move(made);
  group_count_ = groups.size();
  group_settings_ = settings;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    check_group(group, i, group_settings_);
    bool is_empty = true;
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      if (!group.params(parameters_[p].name, *parameters.places[p].tensor)) continue;
      is_empty = false;
      if (const auto other = std::exchange(parameters_[p].group, i)) {
        fail<ValueError>("{} is in groups.{} and groups.{}", parameters_[p].name, *other, i);
      }
    }
    for (const std::string& name : group.params.names()) {
      const Which named(name);
      const auto is_named = [&](const auto& place) { return named(place.name, *place.tensor); };
      if (std::ranges::none_of(parameters.places, is_named)) {
        fail<ValueError>("groups.{}: no parameter is named '{}'", i, name);
      }
    }
    if (is_empty) fail<ValueError>("groups.{} has no parameters", i);
  }
}

bool Optimizer::has_rest() const {
  return std::ranges::any_of(parameters_, [](const Parameter& parameter) { return !parameter.group; });
}

void Optimizer::check_not_moved() const {
  // It was made with at least one.
  if (parameters_.empty()) fail<ValueError>("the optimizer was moved from, and has nothing to train");
}

void Optimizer::check_parameters(const Trained& trained) const {
  check_not_moved();
  const auto same = [](const Parameter& before, const Trained::Place& now) {
    return now.name == before.name && now.tensor->dtype() == before.dtype && now.tensor->shape() == before.shape;
  };
  if (std::ranges::equal(parameters_, trained.places, same)) return;
  if (trained.places.empty()) fail<ValueError>("what is to be trained has no tensors; was it moved from?");
  // By name: one that is missing does not change those behind it.
  std::vector<std::string_view> changed;
  for (const Parameter& before : parameters_) {
    const auto now = std::ranges::find(trained.places, before.name, &Trained::Place::name);
    if (now == trained.places.end() || !same(before, *now)) changed.push_back(before.name);
  }
  for (const Trained::Place& now : trained.places) {
    if (std::ranges::find(parameters_, now.name, &Parameter::name) == parameters_.end()) changed.push_back(now.name);
  }
  if (changed.empty()) changed.emplace_back("the order");
  if (changed.size() > 3) changed.resize(3);
  fail<ValueError>(
      "{} is not as it was when the optimizer was made: a tensor was replaced, added or taken away; make a new "
      "optimizer",
      fmt::join(changed, ", "));
}

void Optimizer::make_step(const Trained& trained, const tree::detail::GatherNames& given,
                          const std::source_location& site) {
  const CallScope scope(method_of(name_, "step"), site);
  check_parameters(trained);
  if (groups.size() != group_count_) {
    fail<ValueError>("there are {} groups, and there were {} when the optimizer was made", groups.size(), group_count_);
  }
  // Settings may have been changed since the last step.
  check_rate(lr);
  for (std::size_t i = 0; i < groups.size(); ++i) check_group(groups[i], i, group_settings_);
  const std::vector<Tensor> gradients = tree::detail::leaves_like(trained, given, "what is given as gradients", site);
  for (const auto& [name, tensor, leaf] : trained.places) detail::check_gradient(name, *tensor, gradients[leaf]);
  const double rate = learning_rate();
  std::vector<double> rates;
  for (const Group& group : groups) rates.push_back(group.lr ? group.lr->at(step_count) : rate);
  // On copies first: an update that throws has changed nothing.
  std::vector<Tensor> parameters;
  parameters.reserve(trained.places.size());
  std::vector<Tensor> state = state_;
  std::span<Tensor> kept = state;
  for (std::size_t i = 0; i < trained.places.size(); ++i) {
    const auto& [name, tensor, leaf] = trained.places[i];
    const auto group = parameters_[i].group;
    group_ = group ? &groups[*group] : nullptr;
    parameters.push_back(*tensor);
    update(parameters.back(), gradients[leaf], kept.first(kept_.size()), group ? rates[*group] : rate, step_count + 1);
    kept = kept.subspan(kept_.size());
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) *trained.places[i].tensor = std::move(parameters[i]);
  state_ = std::move(state);
  ++step_count;
}

std::vector<std::pair<std::string, Tensor*>> Optimizer::named_state() {
  std::vector<std::pair<std::string, Tensor*>> named;
  for (std::size_t k = 0; k < kept_.size(); ++k) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Tensor& tensor = state_[i * kept_.size() + k];
      if (tensor.defined()) named.emplace_back(fmt::format("{}.{}", kept_[k], parameters_[i].name), &tensor);
    }
  }
  return named;
}

TensorDict Optimizer::state_dict(std::source_location site) const {
  const CallScope scope(method_of(name_, "state_dict"), site);
  check_not_moved();
  TensorDict made{{"step_count", number(step_count)}};
  auto* self = const_cast<Optimizer*>(this);
  for (const Setting& setting : saved_settings(self->lr, self->groups)) {
    made.insert_or_assign(setting.name, setting.tensor());
  }
  for (const auto& [name, tensor] : self->named_state()) made.insert_or_assign(name, *tensor);
  return made;
}

void Optimizer::load_state_dict(const TensorDict& state, std::source_location site) {
  const CallScope scope(method_of(name_, "load_state_dict"), site);
  check_not_moved();
  TensorDict given = state;
  if (!lr.is_number()) given.erase("lr");
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].lr && !groups[i].lr->is_number()) given.erase(fmt::format("groups.{}.lr", i));
  }
  LearningRate new_rate = lr;
  std::vector<Group> new_groups = groups;
  // What was assigned to a group when it was saved, and is the optimizer's here.
  for (std::size_t i = 0; i < new_groups.size(); ++i) {
    const auto begin = [&](std::string_view setting, auto& place) {
      if (!place && given.contains(fmt::format("groups.{}.{}", i, setting))) place.emplace();
    };
    if (!new_groups[i].lr && given.contains(fmt::format("groups.{}.lr", i))) new_groups[i].lr = 0.0;
    for (const std::string_view setting : group_settings_) {
      if (setting == "weight_decay") begin(setting, new_groups[i].weight_decay);
      if (setting == "momentum") begin(setting, new_groups[i].momentum);
      if (setting == "betas") begin(setting, new_groups[i].betas);
      if (setting == "eps") begin(setting, new_groups[i].eps);
    }
  }
  std::vector<Setting> settings = saved_settings(new_rate, new_groups);
  // A rate that was a function when it was saved.
  std::erase_if(settings, [&](const Setting& setting) { return setting.is_rate && !given.contains(setting.name); });
  // The numbers by themselves first: they have to be right before anything is changed.
  std::vector<Tensor> numbers;
  numbers.reserve(settings.size() + 1);
  std::vector<std::pair<std::string, Tensor*>> here;
  const auto load_number = [&](const std::string& name, Tensor now) {
    here.emplace_back(name, &numbers.emplace_back(std::move(now)));
    if (const Tensor* value = given.find(name)) nn::detail::load_into({here.back()}, {{name, *value}}, true);
  };
  load_number("step_count", number(step_count));
  for (const Setting& setting : settings) {
    load_number(setting.name, setting.tensor());
    setting.take(numbers.back().to_vector<double>(site));
  }
  const auto new_count = numbers.front().item<std::int64_t>(site);
  if (const Tensor* count = given.find("step_count")) check_saved_count("step_count", count->item<double>(site));
  check_rate(new_rate);
  for (std::size_t i = 0; i < new_groups.size(); ++i) check_group(new_groups[i], i, group_settings_);
  for (const auto& kept : named_state()) here.push_back(kept);
  nn::detail::load_into(here, given, true);
  step_count = new_count;
  lr = std::move(new_rate);
  groups = std::move(new_groups);
}

}  // namespace lento::optim
