// Operation by operation as python/lento/optim/lr_scheduler.py: the same epochs have the same rates, to the bit.
#include <lento/located.h>
#include <lento/nn/module.h>
#include <lento/optim/lr_scheduler.h>

#include "base/fail.h"
#include "base/source.h"
#include "optim/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>

namespace lento::optim::lr_scheduler {
namespace {

void check_positive(std::string_view caller, std::string_view name, std::int64_t value,
                    const std::source_location& site) {
  const CallScope scope(caller, site);
  optim::check_positive(name, value);
}

void check_word(std::string_view caller, std::string_view name, const std::string& value,
                std::initializer_list<std::string_view> words, const std::source_location& site) {
  const CallScope scope(caller, site);
  if (std::ranges::find(words, value) == words.end()) {
    fail<ValueError>("{} is one of '{}', not '{}'", name, fmt::join(words, "', '"), value);
  }
}

double half_cosine(double first, double eta_min, double done, double length) {
  return eta_min + (first - eta_min) * (1 + std::cos(std::numbers::pi * done / length)) / 2;
}

template <class T>
double count(T number) {
  return static_cast<double>(number);
}

using Lambda = std::function<double(std::int64_t)>;

/// Throws ValueError for an empty function.
const Lambda& checked(const char* caller, const Lambda& lambda, const std::source_location& site) {
  lento::detail::check_function(caller, lambda, site);
  return lambda;
}

/// The name in state dicts of one of the first rates: the optimizer's, or that of a group, from 1.
std::string first_name(std::size_t i) { return i == 0 ? "first_lr" : fmt::format("groups.{}.first_lr", i - 1); }

/// How many milestones an epoch has reached.
std::size_t reached(const std::vector<std::int64_t>& milestones, double epoch) {
  const auto is_later = [](double at, std::int64_t milestone) { return at < count(milestone); };
  return static_cast<std::size_t>(std::upper_bound(milestones.begin(), milestones.end(), epoch, is_later) -
                                  milestones.begin());
}

}  // namespace

LRScheduler::LRScheduler(std::string_view name, Optimizer& of, Rate formula, Momentum momentum_formula,
                         const std::source_location& site)
    : rate(std::move(formula)),
      name_(optim::detail::lasting(name)),
      optimizer_(&of),
      momentum_(std::move(momentum_formula)) {
  const CallScope scope(name_, site);
  const auto is_function = [](const Group& group) { return group.lr && !group.lr->is_number(); };
  if (!of.lr.is_number() || std::ranges::any_of(of.groups, is_function)) {
    fail<ValueError>("the optimizer's lr is a function of the step already");
  }
  if (momentum_ && of.momentum_place() == nullptr) {
    fail<ValueError>("cycle_momentum needs an optimizer with a momentum");
  }
  // Those that the first scheduler of an optimizer found, as in PyTorch.
  if (of.first_rates_.empty()) {
    of.first_rates_.emplace_back(of.lr.at(0));
    for (const Group& group : of.groups) {
      of.first_rates_.push_back(group.lr ? std::optional(group.lr->at(0)) : std::nullopt);
    }
  }
  go_to(0, site);
}

void LRScheduler::go_to(double epoch, const std::source_location& site) {
  const CallScope scope(name_, site);
  check_counted("the epoch", epoch);
  check_groups();
  // All of them first: a formula that throws has changed nothing.
  std::vector<std::optional<double>> rates;
  for (const std::optional<double>& first : optimizer_->first_rates_) {
    rates.push_back(first ? std::optional(rate(*first, epoch)) : std::nullopt);
  }
  const std::optional<double> momentum = momentum_ ? std::optional(momentum_(epoch)) : std::nullopt;
  optimizer_->lr = rates[0].value();
  for (std::size_t i = 0; i < optimizer_->groups.size(); ++i) {
    if (rates[i + 1]) optimizer_->groups[i].lr = *rates[i + 1];
  }
  if (momentum) {
    *optimizer_->momentum_place() = *momentum;
    for (Group& group : optimizer_->groups) {
      if (group.betas) group.betas->first = *momentum;
      if (group.momentum) group.momentum = momentum;
    }
  }
  last_epoch = epoch;
}

void LRScheduler::check_groups() const {
  if (optimizer_->first_rates_.empty()) fail<ValueError>("the optimizer was moved from");
  const std::size_t before = optimizer_->first_rates_.size() - 1;
  if (optimizer_->groups.size() == before) return;
  fail<ValueError>("there are {} groups, and there were {} when the scheduler was made", optimizer_->groups.size(),
                   before);
}

std::vector<double> LRScheduler::get_last_lr() const {
  std::vector<double> rates;
  const double lr = optimizer_->learning_rate();
  for (const Group& group : optimizer_->groups) rates.push_back(group.lr ? group.lr->at(0) : lr);
  if (optimizer_->has_rest()) rates.push_back(lr);
  return rates;
}

TensorDict LRScheduler::state_dict() const {
  TensorDict made{{"last_epoch", from_host(&last_epoch, DType::float64, {})}};
  const std::vector<std::optional<double>>& first = optimizer_->first_rates_;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i]) made.insert_or_assign(first_name(i), from_host(&*first[i], DType::float64, {}));
  }
  for (const auto& [name, value] : more_saved) made.insert_or_assign(name, from_host(&value, DType::float64, {}));
  return made;
}

void LRScheduler::load_state_dict(const TensorDict& state, std::source_location site) {
  load(state, {"last_epoch"}, nullptr, site);
}

void LRScheduler::load(const TensorDict& state, std::initializer_list<std::string_view> counts,
                       const std::function<void()>& prepare, const std::source_location& site) {
  const double epoch = last_epoch;
  const Rate formula = rate;
  const std::vector<std::optional<double>> first = optimizer_->first_rates_;
  const std::vector<std::pair<std::string, double>> more = more_saved;
  try {
    take(state, counts, site);
    if (prepare) prepare();
    go_to(last_epoch, site);
  } catch (...) {
    last_epoch = epoch;
    rate = formula;
    optimizer_->first_rates_ = first;
    more_saved = more;
    throw;
  }
}

void LRScheduler::check_parts(const std::vector<LRScheduler>& schedulers) {
  for (const LRScheduler& scheduler : schedulers) {
    const std::string_view name = scheduler.name_;
    if (name == "ReduceLROnPlateau") {
      fail<ValueError>("a {} cannot be a part of it: it needs a number at each step", name);
    }
    if (scheduler.momentum_) {
      fail<ValueError>("a {} that changes the momentum cannot be a part; give cycle_momentum = false", name);
    }
  }
}

void LRScheduler::take(const TensorDict& state, std::initializer_list<std::string_view> counts,
                       const std::source_location& site) {
  const CallScope scope(optim::detail::lasting(fmt::format("{}.load_state_dict", name_)), site);
  check_groups();
  TensorDict here = state_dict();
  std::vector<std::optional<double>>& first = optimizer_->first_rates_;
  // The scheduler changes the rates of those groups that it did then.
  for (std::size_t i = 1; i < first.size(); ++i) {
    const std::string name = first_name(i);
    here.erase(name);
    const double none = 0;
    if (state.contains(name)) here.insert_or_assign(name, from_host(&none, DType::float64, {}));
  }
  std::vector<std::pair<std::string, Tensor*>> places;
  for (const auto& [name, value] : here) places.emplace_back(name, here.find(name));
  nn::detail::load_into(places, state, true);
  for (const std::string_view name : counts) check_counted(name, here.at(name).item<double>(site));
  last_epoch = here.at("last_epoch").item<double>(site);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Tensor* saved = here.find(first_name(i));
    first[i] = saved != nullptr ? std::optional(saved->item<double>(site)) : std::nullopt;
    if (first[i] && !std::isfinite(*first[i])) {
      fail<ValueError>("{} is {}, which is not finite", first_name(i), Scalar(*first[i]));
    }
  }
  for (auto& [name, value] : more_saved) value = here.at(name).item<double>(site);
}

LambdaLR::LambdaLR(Optimizer& of, std::function<double(std::int64_t)> lr_lambda, std::source_location site)
    : LRScheduler(
          "LambdaLR", of,
          [lambda = checked("LambdaLR", lr_lambda, site)](double first, double epoch) {
            return first * lambda(static_cast<std::int64_t>(epoch));
          },
          nullptr, site) {}

MultiplicativeLR::MultiplicativeLR(Optimizer& of, std::function<double(std::int64_t)> lr_lambda,
                                   std::source_location site)
    : LRScheduler(
          "MultiplicativeLR", of,
          [lambda = checked("MultiplicativeLR", lr_lambda, site),
           products = std::make_shared<std::vector<double>>(1, 1.0)](double first, double epoch) {
            while (count(products->size()) <= epoch) {
              products->push_back(products->back() * lambda(static_cast<std::int64_t>(products->size())));
            }
            return first * products->at(static_cast<std::size_t>(epoch));
          },
          nullptr, site) {}

StepLR::StepLR(Optimizer& of, std::int64_t step_size, double gamma, std::source_location site)
    : LRScheduler(
          "StepLR", of,
          [=](double first, double epoch) { return first * std::pow(gamma, std::floor(epoch / count(step_size))); },
          nullptr, (check_positive("StepLR", "step_size", step_size, site), site)) {}

MultiStepLR::MultiStepLR(Optimizer& of, std::vector<std::int64_t> milestones, double gamma, std::source_location site)
    : LRScheduler(
          "MultiStepLR", of,
          [gamma, all = (std::ranges::sort(milestones), milestones)](double first, double epoch) {
            return first * std::pow(gamma, count(reached(all, epoch)));
          },
          nullptr, site) {}

ConstantLR::ConstantLR(Optimizer& of, double factor, std::int64_t total_iters, std::source_location site)
    : LRScheduler(
          "ConstantLR", of,
          [=](double first, double epoch) { return epoch < count(total_iters) ? first * factor : first; }, nullptr,
          site) {}

LinearLR::LinearLR(Optimizer& of, double start_factor, double end_factor, std::int64_t total_iters,
                   std::source_location site)
    : LRScheduler(
          "LinearLR", of,
          [=](double first, double epoch) {
            const double part = std::min(epoch, count(total_iters)) / count(total_iters);
            return first * (start_factor + (end_factor - start_factor) * part);
          },
          nullptr, (check_positive("LinearLR", "total_iters", total_iters, site), site)) {}

ExponentialLR::ExponentialLR(Optimizer& of, double gamma, std::source_location site)
    : LRScheduler(
          "ExponentialLR", of, [=](double first, double epoch) { return first * std::pow(gamma, epoch); }, nullptr,
          site) {}

PolynomialLR::PolynomialLR(Optimizer& of, std::int64_t total_iters, double power, std::source_location site)
    : LRScheduler(
          "PolynomialLR", of,
          [=](double first, double epoch) {
            return first * std::pow(1.0 - std::min(count(total_iters), epoch) / count(total_iters), power);
          },
          nullptr, (check_positive("PolynomialLR", "total_iters", total_iters, site), site)) {}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& of, std::int64_t T_max, double eta_min, std::source_location site)
    : LRScheduler(
          "CosineAnnealingLR", of,
          [=](double first, double epoch) { return half_cosine(first, eta_min, epoch, count(T_max)); }, nullptr,
          (check_positive("CosineAnnealingLR", "T_max", T_max, site), site)) {}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& of, std::int64_t T_0, std::int64_t T_mult,
                                                         double eta_min, std::source_location site)
    : LRScheduler(
          "CosineAnnealingWarmRestarts", of,
          [=](double first, double epoch) {
            double length = count(T_0);
            double done = T_mult == 1 ? std::fmod(epoch, length) : epoch;
            while (done >= length) {
              done -= length;
              length *= count(T_mult);
            }
            return half_cosine(first, eta_min, done, length);
          },
          nullptr,
          (check_positive("CosineAnnealingWarmRestarts", "T_0", T_0, site),
           check_positive("CosineAnnealingWarmRestarts", "T_mult", T_mult, site), site)) {}

namespace {

/// The phases of a OneCycleLR: where each ends, and the rates and momenta there; the first is where it begins.
struct Phases {
  std::vector<double> ends, rates, momenta;
  bool is_linear;
  std::int64_t total;

  Phases(double max_lr, std::int64_t total_steps, const OneCycleLROptions& options, const std::source_location& site)
      : is_linear(options.anneal_strategy == "linear"), total(total_steps) {
    check_positive("OneCycleLR", "total_steps", total_steps, site);
    check_word("OneCycleLR", "anneal_strategy", options.anneal_strategy, {"cos", "linear"}, site);
    check_factors(options, site);
    const double start = max_lr / options.div_factor;
    const auto add = [&](double end, double rate, double momentum) {
      ends.push_back(end);
      rates.push_back(rate);
      momenta.push_back(momentum);
    };
    add(0.0, start, options.max_momentum);
    add(options.pct_start * count(total_steps) - 1, max_lr, options.base_momentum);
    if (options.three_phase) add(2 * options.pct_start * count(total_steps) - 2, start, options.max_momentum);
    add(count(total_steps) - 1, start / options.final_div_factor, options.max_momentum);
  }

  static void check_factors(const OneCycleLROptions& options, const std::source_location& site) {
    const CallScope scope("OneCycleLR", site);
    if (!(options.pct_start > 0 && options.pct_start <= 1)) {
      fail<ValueError>("pct_start is {}, which is not more than 0 and at most 1", Scalar(options.pct_start));
    }
    const auto check = [](std::string_view name, double factor) {
      if (!(factor > 0)) fail<ValueError>("{} is {}, which is not more than 0", name, Scalar(factor));
    };
    check("div_factor", options.div_factor);
    check("final_div_factor", options.final_div_factor);
  }

  double at(const std::vector<double>& values, double epoch) const {
    if (epoch > count(total)) fail<ValueError>("the cycle has {} steps, and this is step {}", total, epoch);
    std::size_t phase = 1;
    while (phase < values.size() - 1 && epoch > ends[phase]) ++phase;
    const double start = values[phase - 1];
    const double end = values[phase];
    const double length = ends[phase] - ends[phase - 1];
    if (length == 0) return end;
    const double part = (epoch - ends[phase - 1]) / length;
    if (is_linear) return start + (end - start) * part;
    return end + (start - end) / 2 * (1 + std::cos(std::numbers::pi * part));
  }
};

/// How high a CyclicLR is, from 0 to 1.
double height(const CyclicLROptions& options, double epoch) {
  const double up = count(options.step_size_up);
  const double down = count(options.step_size_down.value_or(options.step_size_up));
  const double size = up + down;
  const double done = std::fmod(epoch, size);
  double at = done <= up ? done / up : (size - done) / down;
  if (options.mode == "triangular2") {
    at *= std::pow(0.5, std::floor(epoch / size));
  } else if (options.mode == "exp_range") {
    at *= std::pow(options.gamma, epoch);
  }
  return at;
}

CyclicLROptions checked(CyclicLROptions options, const std::source_location& site) {
  check_positive("CyclicLR", "step_size_up", options.step_size_up, site);
  check_positive("CyclicLR", "step_size_down", options.step_size_down.value_or(1), site);
  check_word("CyclicLR", "mode", options.mode, {"triangular", "triangular2", "exp_range"}, site);
  return options;
}

}  // namespace

OneCycleLR::OneCycleLR(Optimizer& of, double max_lr, std::int64_t total_steps, OneCycleLROptions options,
                       std::source_location site)
    : LRScheduler(
          "OneCycleLR", of,
          [phases = Phases(max_lr, total_steps, options, site)](double /*first*/, double epoch) {
            return phases.at(phases.rates, epoch);
          },
          !options.cycle_momentum ? Momentum()
                                  : [phases = Phases(max_lr, total_steps, options, site)](
                                        double epoch) { return phases.at(phases.momenta, epoch); },
          site) {}

CyclicLR::CyclicLR(Optimizer& of, double base_lr, double max_lr, CyclicLROptions options, std::source_location site)
    : LRScheduler(
          "CyclicLR", of,
          [=, by = checked(options, site)](double /*first*/, double epoch) {
            return base_lr + (max_lr - base_lr) * height(by, epoch);
          },
          !options.cycle_momentum ? Momentum() : [options](double epoch) {
            return options.max_momentum - (options.max_momentum - options.base_momentum) * height(options, epoch);
          },
          site) {}

namespace {

using CheckParts = void(const std::vector<LRScheduler>&);

void check_sequence(const std::vector<LRScheduler>& schedulers, const std::vector<std::int64_t>& milestones,
                    CheckParts* check_parts, const std::source_location& site) {
  const CallScope scope("SequentialLR", site);
  if (schedulers.size() != milestones.size() + 1) {
    fail<ValueError>("there are {} schedulers and {} milestones; it needs one milestone fewer than schedulers",
                     schedulers.size(), milestones.size());
  }
  check_rising("milestones", milestones);
  check_parts(schedulers);
}

void check_chain(const std::vector<LRScheduler>& schedulers, CheckParts* check_parts,
                 const std::source_location& site) {
  const CallScope scope("ChainedScheduler", site);
  if (schedulers.empty()) fail<ValueError>("there are no schedulers");
  check_parts(schedulers);
}

}  // namespace

SequentialLR::SequentialLR(Optimizer& of, std::vector<LRScheduler> schedulers, std::vector<std::int64_t> milestones,
                           std::source_location site)
    : LRScheduler(
          "SequentialLR", of,
          [=](double first, double epoch) {
            const std::size_t i = reached(milestones, epoch);
            return schedulers[i].rate(first, i > 0 ? epoch - count(milestones[i - 1]) : epoch);
          },
          nullptr, (check_sequence(schedulers, milestones, check_parts, site), site)) {}

ChainedScheduler::ChainedScheduler(std::vector<LRScheduler> schedulers, Optimizer& of, std::source_location site)
    : LRScheduler(
          "ChainedScheduler", of,
          [=](double first, double epoch) {
            for (const LRScheduler& scheduler : schedulers) first = scheduler.rate(first, epoch);
            return first;
          },
          nullptr, (check_chain(schedulers, check_parts, site), site)) {}

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& of, ReduceLROnPlateauOptions options, std::source_location site)
    : LRScheduler(
          "ReduceLROnPlateau", of, [](double first, double /*epoch*/) { return first; }, nullptr, site),
      options_(std::move(options)) {
  check_word("ReduceLROnPlateau", "mode", options_.mode, {"min", "max"}, site);
  check_word("ReduceLROnPlateau", "threshold_mode", options_.threshold_mode, {"rel", "abs"}, site);
  const CallScope scope("ReduceLROnPlateau", site);
  if (!(options_.factor < 1)) fail<ValueError>("factor is {}, which is not less than 1", Scalar(options_.factor));
  const double worst = std::numeric_limits<double>::infinity();
  more_saved = {{"best", options_.mode == "min" ? worst : -worst},
                {"num_bad_epochs", 0.0},
                {"cooldown_counter", 0.0},
                {"times", 0.0}};
}

bool ReduceLROnPlateau::is_better(double metrics) const {
  const double sign = options_.mode == "min" ? -1 : 1;
  const double limit =
      options_.threshold_mode == "rel" ? best() * (1 + sign * options_.threshold) : best() + sign * options_.threshold;
  return options_.mode == "min" ? metrics < limit : metrics > limit;
}

void ReduceLROnPlateau::step(double metrics, std::source_location site) {
  double& best_one = more_saved[0].second;
  double& bad_epochs = more_saved[1].second;
  double& cooldown_counter = more_saved[2].second;
  double& times = more_saved[3].second;
  const bool better = is_better(metrics);
  if (better) best_one = metrics;
  bad_epochs = better ? 0 : bad_epochs + 1;
  if (cooldown_counter > 0) {
    --cooldown_counter;
    bad_epochs = 0;
  }
  if (bad_epochs > count(options_.patience)) {
    ++times;
    cooldown_counter = count(options_.cooldown);
    bad_epochs = 0;
  }
  set_rate();
  go_to(last_epoch + 1, site);
}

void ReduceLROnPlateau::load_state_dict(const TensorDict& state, std::source_location site) {
  load(state, {"last_epoch", "num_bad_epochs", "cooldown_counter", "times"}, [this] { set_rate(); }, site);
}

void ReduceLROnPlateau::set_rate() {
  rate = [by = options_, times = more_saved[3].second](double first, double /*epoch*/) {
    for (double i = 0; i < times; ++i) {
      const double lower = std::max(first * by.factor, by.min_lr);
      if (!(first - lower > by.eps)) break;  // as all that follow
      first = lower;
    }
    return first;
  };
}

}  // namespace lento::optim::lr_scheduler
