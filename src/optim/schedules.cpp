#include <lento/located.h>
#include <lento/schedules.h>

#include "base/fail.h"
#include "base/source.h"
#include "optim/checks.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

// Operation by operation as python/lento/optim/_schedules.py: the same steps have the same rates, to the bit.
namespace lento::optim {
namespace {

double quotient(std::int64_t a, std::int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

/// The number of the piece that a step is in, where each except the first begins at a boundary.
std::size_t piece_of(const std::vector<std::int64_t>& boundaries, std::int64_t step) {
  return static_cast<std::size_t>(std::ranges::upper_bound(boundaries, step) - boundaries.begin());
}

/// From value to value, each at its boundary; `eased` says how far it is at a part of the way.
Schedule between(std::vector<std::int64_t> boundaries, std::vector<double> values,
                 std::function<double(double)> eased) {
  return [=](std::int64_t step) {
    const std::size_t i = piece_of(boundaries, step);
    if (i == 0) return values.front();
    if (i == boundaries.size()) return values.back();
    const double part = quotient(step - boundaries[i - 1], boundaries[i] - boundaries[i - 1]);
    return values[i - 1] + (values[i] - values[i - 1]) * eased(part);
  };
}

std::int64_t part_of(double part, std::int64_t steps) {
  return static_cast<std::int64_t>(part * static_cast<double>(steps));
}

}  // namespace

Schedule constant(double value) {
  return [=](std::int64_t) { return value; };
}

Schedule linear(double start, double end, std::int64_t steps, std::source_location site) {
  const CallScope scope("linear", site);
  check_count("steps", steps);
  return [=](std::int64_t step) {
    if (step >= steps) return end;
    return start + (end - start) * (static_cast<double>(step) / static_cast<double>(steps));
  };
}

Schedule cosine(double peak, std::int64_t steps, double floor, std::source_location site) {
  const CallScope scope("cosine", site);
  check_count("steps", steps);
  return [=](std::int64_t step) {
    if (step >= steps) return floor;
    const double angle = std::numbers::pi * static_cast<double>(step) / static_cast<double>(steps);
    return floor + (peak - floor) * (1 + std::cos(angle)) / 2;
  };
}

Schedule steps(double value, std::int64_t every, double factor, std::source_location site) {
  const CallScope scope("steps", site);
  check_positive("every", every);
  return [=](std::int64_t step) {
    const std::int64_t times = step / every;
    return value * std::pow(factor, static_cast<double>(times));
  };
}

Schedule warmup(LearningRate schedule, std::int64_t steps, std::source_location site) {
  const CallScope scope("warmup", site);
  check_count("steps", steps);
  if (!schedule.defined()) fail<ValueError>("the schedule is an empty function");
  return [=, then = std::move(schedule)](std::int64_t step) {
    if (step >= steps) return then.at(step - steps);
    return then.at(0) * (static_cast<double>(step + 1) / static_cast<double>(steps));
  };
}

void detail::refuse_empty_schedule() { fail<ValueError>("the learning rate is an empty function"); }

Schedule constant_schedule(double value) { return constant(value); }

Schedule linear_schedule(double init_value, double end_value, std::int64_t transition_steps,
                         std::int64_t transition_begin, std::source_location site) {
  const CallScope scope("linear_schedule", site);
  return polynomial_schedule(init_value, end_value, 1.0, transition_steps, transition_begin, site);
}

Schedule polynomial_schedule(double init_value, double end_value, double power, std::int64_t transition_steps,
                             std::int64_t transition_begin, std::source_location site) {
  const CallScope scope("polynomial_schedule", site);
  if (transition_steps == 0) return constant(init_value);
  check_positive("transition_steps", transition_steps);
  return [=](std::int64_t step) {
    const std::int64_t done = std::min(std::max<std::int64_t>(step - transition_begin, 0), transition_steps);
    return (init_value - end_value) * std::pow(1 - quotient(done, transition_steps), power) + end_value;
  };
}

Schedule exponential_decay(double init_value, std::int64_t transition_steps, double decay_rate,
                           ExponentialDecayOptions options, std::source_location site) {
  const CallScope scope("exponential_decay", site);
  check_positive("transition_steps", transition_steps);
  return [=](std::int64_t step) {
    const std::int64_t done = step - options.transition_begin;
    if (done <= 0) return init_value;
    const std::int64_t whole = done / transition_steps;
    const double times = options.staircase ? static_cast<double>(whole) : quotient(done, transition_steps);
    const double value = init_value * std::pow(decay_rate, times);
    if (!options.end_value) return value;
    return decay_rate < 1 ? std::max(value, *options.end_value) : std::min(value, *options.end_value);
  };
}

Schedule cosine_decay_schedule(double init_value, std::int64_t decay_steps, double alpha, double exponent,
                               std::source_location site) {
  const CallScope scope("cosine_decay_schedule", site);
  check_positive("decay_steps", decay_steps);
  return [=](std::int64_t step) {
    const auto done = static_cast<double>(std::min(step, decay_steps));
    const double height = 0.5 * (1 + std::cos(std::numbers::pi * done / static_cast<double>(decay_steps)));
    return init_value * ((1 - alpha) * std::pow(height, exponent) + alpha);
  };
}

Schedule piecewise_constant_schedule(double init_value, std::map<std::int64_t, double> boundaries_and_scales) {
  return [=, all = std::move(boundaries_and_scales)](std::int64_t step) {
    double value = init_value;
    for (const auto& [boundary, scale] : all) {
      if (step >= boundary) value *= scale;
    }
    return value;
  };
}

Schedule warmup_constant_schedule(double init_value, double peak_value, std::int64_t warmup_steps,
                                  std::source_location site) {
  const CallScope scope("warmup_constant_schedule", site);
  return linear_schedule(init_value, peak_value, warmup_steps, 0, site);
}

Schedule warmup_cosine_decay_schedule(double init_value, double peak_value, std::int64_t warmup_steps,
                                      std::int64_t decay_steps, double end_value, double exponent,
                                      std::source_location site) {
  const CallScope scope("warmup_cosine_decay_schedule", site);
  const double alpha = peak_value == 0 ? 0.0 : end_value / peak_value;
  return join_schedules({linear_schedule(init_value, peak_value, warmup_steps, 0, site),
                         cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha, exponent, site)},
                        {warmup_steps}, site);
}

Schedule warmup_exponential_decay_schedule(double init_value, double peak_value, std::int64_t warmup_steps,
                                           std::int64_t transition_steps, double decay_rate,
                                           ExponentialDecayOptions options, std::source_location site) {
  const CallScope scope("warmup_exponential_decay_schedule", site);
  return join_schedules({linear_schedule(init_value, peak_value, warmup_steps, 0, site),
                         exponential_decay(peak_value, transition_steps, decay_rate, options, site)},
                        {warmup_steps}, site);
}

Schedule cosine_onecycle_schedule(std::int64_t transition_steps, double peak_value, double pct_start, double div_factor,
                                  double final_div_factor, std::source_location site) {
  const CallScope scope("cosine_onecycle_schedule", site);
  check_positive("transition_steps", transition_steps);
  const double first = peak_value / div_factor;
  return between({0, part_of(pct_start, transition_steps), transition_steps},
                 {first, peak_value, first / final_div_factor},
                 [](double part) { return 0.5 * (1 - std::cos(std::numbers::pi * part)); });
}

Schedule linear_onecycle_schedule(std::int64_t transition_steps, double peak_value, double pct_start, double pct_final,
                                  double div_factor, double final_div_factor, std::source_location site) {
  const CallScope scope("linear_onecycle_schedule", site);
  check_positive("transition_steps", transition_steps);
  const double first = peak_value / div_factor;
  return between({0, part_of(pct_start, transition_steps), part_of(pct_final, transition_steps), transition_steps},
                 {first, peak_value, first, first / final_div_factor}, [](double part) { return part; });
}

Schedule join_schedules(std::vector<Schedule> schedules, std::vector<std::int64_t> boundaries,
                        std::source_location site) {
  const CallScope scope("join_schedules", site);
  if (schedules.size() != boundaries.size() + 1) {
    fail<ValueError>("there are {} schedules and {} boundaries; one less is needed", schedules.size(),
                     boundaries.size());
  }
  check_rising("boundaries", boundaries);
  for (const Schedule& schedule : schedules) lento::detail::check_function("join_schedules", schedule, site);
  return [=](std::int64_t step) {
    const std::size_t i = piece_of(boundaries, step);
    return schedules[i](i > 0 ? step - boundaries[i - 1] : step);
  };
}

}  // namespace lento::optim
