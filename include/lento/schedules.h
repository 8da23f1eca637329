// Schedules of the learning rate: functions from the number of a step, from 0, to a learning rate.
#pragma once

#include <lento/dtype.h>
#include <lento/export.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

namespace lento::optim {

using Schedule = std::function<double(std::int64_t step)>;

namespace detail {

/// Throws ValueError.
[[noreturn]] LENTO_API void refuse_empty_schedule();

}  // namespace detail

/// A number, or a function of the number of the step: `{.lr = 1e-3}`, `{.lr = cosine(1e-3, 1000)}`, `{.lr = [](auto i)
/// { return 1.0 / (i + 1); }}`.
class LearningRate {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  LearningRate(T number) : number_(static_cast<double>(number)) {}
  template <class F>
    requires(!std::is_arithmetic_v<F> && std::is_invocable_r_v<double, const F&, std::int64_t>)
  LearningRate(F schedule) : is_number_(false), schedule_(std::move(schedule)) {}

  bool is_number() const { return is_number_; }
  /// False for an empty std::function.
  bool defined() const { return is_number_ || schedule_ != nullptr; }
  /// The rate of a step.
  double at(std::int64_t step) const {
    if (is_number_) return number_;
    if (schedule_ == nullptr) detail::refuse_empty_schedule();
    return schedule_(step);
  }

 private:
  bool is_number_ = true;
  double number_ = 0.0;
  Schedule schedule_;
};

/// Always the same.
LENTO_API Schedule constant(double value);
/// From `start` to `end` in `steps` steps, then `end`; with no steps it is `end` at once. Throws ValueError when
/// `steps` is negative.
LENTO_API Schedule linear(double start, double end, std::int64_t steps,
                          std::source_location site = std::source_location::current());
/// From `peak` to `floor` along half a cosine of `steps` steps, then `floor`; with no steps it is `floor` at once.
/// Throws ValueError when `steps` is negative.
LENTO_API Schedule cosine(double peak, std::int64_t steps, double floor = 0.0,
                          std::source_location site = std::source_location::current());
/// `value`, times `factor` after every `every` steps. Throws ValueError unless `every` is 1 or more.
LENTO_API Schedule steps(double value, std::int64_t every, double factor = 0.1,
                         std::source_location site = std::source_location::current());
/// Rises in `steps` equal parts to where `schedule` begins and then follows it, or to a number and stays there; with no
/// steps it is `schedule`. Throws ValueError when `steps` is negative or `schedule` an empty function.
LENTO_API Schedule warmup(LearningRate schedule, std::int64_t steps,
                          std::source_location site = std::source_location::current());

// --- optax's names and arguments; numbers of steps less than 1 are a ValueError where nothing else is said ---

/// Always the same.
LENTO_API Schedule constant_schedule(double value);
/// From `init_value` to `end_value` in `transition_steps` steps, from step `transition_begin` on; with no steps it
/// stays at `init_value`.
LENTO_API Schedule linear_schedule(double init_value, double end_value, std::int64_t transition_steps,
                                   std::int64_t transition_begin = 0,
                                   std::source_location site = std::source_location::current());
/// The same; what is left to go falls as a power of the time that is left.
LENTO_API Schedule polynomial_schedule(double init_value, double end_value, double power, std::int64_t transition_steps,
                                       std::int64_t transition_begin = 0,
                                       std::source_location site = std::source_location::current());

struct ExponentialDecayOptions {
  std::int64_t transition_begin = 0;
  bool staircase = false;
  std::optional<double> end_value = std::nullopt;
};
/// `init_value`, times `decay_rate` in `transition_steps` steps, from step `transition_begin` on: little by little, or
/// all at once at their end (`staircase`). `end_value` is where it stops.
LENTO_API Schedule exponential_decay(double init_value, std::int64_t transition_steps, double decay_rate,
                                     ExponentialDecayOptions options = {},
                                     std::source_location site = std::source_location::current());
/// From `init_value` to `alpha` times that along half a cosine of `decay_steps` steps, to a power.
LENTO_API Schedule cosine_decay_schedule(double init_value, std::int64_t decay_steps, double alpha = 0.0,
                                         double exponent = 1.0,
                                         std::source_location site = std::source_location::current());
/// `init_value`, times each scale from its boundary on.
LENTO_API Schedule piecewise_constant_schedule(double init_value, std::map<std::int64_t, double> boundaries_and_scales);
/// From `init_value` to `peak_value` in `warmup_steps` steps, then that; with no steps it stays at `init_value`.
LENTO_API Schedule warmup_constant_schedule(double init_value, double peak_value, std::int64_t warmup_steps,
                                            std::source_location site = std::source_location::current());
/// From `init_value` to `peak_value` in `warmup_steps` steps, then to `end_value` along half a cosine, which ends at
/// step `decay_steps`.
LENTO_API Schedule warmup_cosine_decay_schedule(double init_value, double peak_value, std::int64_t warmup_steps,
                                                std::int64_t decay_steps, double end_value = 0.0, double exponent = 1.0,
                                                std::source_location site = std::source_location::current());
/// From `init_value` to `peak_value` in `warmup_steps` steps, then as exponential_decay.
LENTO_API Schedule warmup_exponential_decay_schedule(double init_value, double peak_value, std::int64_t warmup_steps,
                                                     std::int64_t transition_steps, double decay_rate,
                                                     ExponentialDecayOptions options = {},
                                                     std::source_location site = std::source_location::current());
/// One cycle of `transition_steps` steps along cosines: from `peak_value / div_factor` up to `peak_value` in the part
/// `pct_start` of them, then down to the first value divided by `final_div_factor`.
LENTO_API Schedule cosine_onecycle_schedule(std::int64_t transition_steps, double peak_value, double pct_start = 0.3,
                                            double div_factor = 25.0, double final_div_factor = 1e4,
                                            std::source_location site = std::source_location::current());
/// The same along lines: up, back to the first value at the part `pct_final` of the steps, then down.
LENTO_API Schedule linear_onecycle_schedule(std::int64_t transition_steps, double peak_value, double pct_start = 0.3,
                                            double pct_final = 0.85, double div_factor = 25.0,
                                            double final_div_factor = 1e4,
                                            std::source_location site = std::source_location::current());
/// One schedule after the other: each begins anew at its boundary. Throws ValueError unless boundaries rise and there
/// is one less of them.
LENTO_API Schedule join_schedules(std::vector<Schedule> schedules, std::vector<std::int64_t> boundaries,
                                  std::source_location site = std::source_location::current());

}  // namespace lento::optim
