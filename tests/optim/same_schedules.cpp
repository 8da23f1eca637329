// Prints the learning rates of all schedules and schedulers, bit by bit. test_optim_cpp.py does the same in Python and
// compares.
#include <lento/lento.h>

#include <cstdio>
#include <string>
#include <vector>

using namespace lento;
using namespace lento::optim;
using namespace lento::optim::lr_scheduler;

namespace {

void print(const std::string& name, const Schedule& schedule) {
  std::printf("%s", name.c_str());
  for (std::int64_t i = 0; i < 20; ++i) std::printf(" %a", schedule(i));
  std::printf("\n");
}

/// The rates and momenta of an optimizer with a group, while a scheduler changes them.
template <class Make>
void print_rates(const std::string& name, const Make& make) {
  const std::vector<Tensor> parameters{ones({1}), ones({1})};
  Adam optimizer(parameters, {.lr = 0.5, .groups = {{.params = "1", .lr = 0.25, .betas = std::pair(0.7, 0.8)}}});
  auto scheduler = make(optimizer);
  std::printf("%s", name.c_str());
  for (int i = 0; i < 20; ++i) {
    for (const double rate : scheduler.get_last_lr()) std::printf(" %a", rate);
    std::printf(" %a %a", optimizer.groups[0].betas->first, optimizer.betas.first);
    if constexpr (std::is_same_v<decltype(scheduler), ReduceLROnPlateau>) {
      scheduler.step(i % 7 == 0 ? 1.0 / (i + 1) : 1.0);
    } else {
      scheduler.step();
    }
  }
  std::printf("\n");
}

}  // namespace

int main() {
  print("constant_schedule", constant_schedule(0.3));
  print("linear_schedule", linear_schedule(1.0, 0.2, 8, 2));
  print("polynomial_schedule", polynomial_schedule(1.0, 0.2, 3.0, 8));
  print("exponential_decay", exponential_decay(2.0, 4, 0.5));
  print("exponential_decay-staircase",
        exponential_decay(2.0, 4, 0.5, {.transition_begin = 2, .staircase = true, .end_value = 0.3}));
  print("exponential_decay-growth", exponential_decay(2.0, 4, 1.5, {.end_value = 5.0}));
  print("cosine_decay_schedule", cosine_decay_schedule(2.0, 10, 0.1, 2.0));
  print("piecewise_constant_schedule", piecewise_constant_schedule(2.0, {{9, 0.1}, {5, 0.5}}));
  print("warmup_constant_schedule", warmup_constant_schedule(0.1, 0.9, 4));
  print("warmup_cosine_decay_schedule", warmup_cosine_decay_schedule(0.1, 0.9, 4, 12, 0.3));
  print("warmup_exponential_decay_schedule", warmup_exponential_decay_schedule(0.1, 0.9, 4, 2, 0.5));
  print("cosine_onecycle_schedule", cosine_onecycle_schedule(10, 1.0, 0.3, 5.0, 10.0));
  print("linear_onecycle_schedule", linear_onecycle_schedule(10, 1.0, 0.3, 0.8, 5.0, 10.0));
  print("join_schedules", join_schedules({linear_schedule(0.0, 1.0, 4), exponential_decay(1.0, 1, 0.5)}, {4}));

  const auto falling = [](std::int64_t i) { return 1 / static_cast<double>(i + 1); };
  const auto growing = [](std::int64_t i) { return 0.9 + static_cast<double>(i) / 100; };
  print_rates("lambda", [&](Optimizer& o) { return LambdaLR(o, falling); });
  print_rates("multiplicative", [&](Optimizer& o) { return MultiplicativeLR(o, growing); });
  print_rates("step", [](Optimizer& o) { return StepLR(o, 3, 0.5); });
  print_rates("multi-step", [](Optimizer& o) { return MultiStepLR(o, {2, 5, 5, 11}, 0.3); });
  print_rates("constant", [](Optimizer& o) { return ConstantLR(o, 0.2, 4); });
  print_rates("constant-defaults", [](Optimizer& o) { return ConstantLR(o); });
  print_rates("linear", [](Optimizer& o) { return LinearLR(o, 0.1, 0.7, 6); });
  print_rates("linear-defaults", [](Optimizer& o) { return LinearLR(o); });
  print_rates("exponential", [](Optimizer& o) { return ExponentialLR(o, 0.8); });
  print_rates("polynomial", [](Optimizer& o) { return PolynomialLR(o, 7, 2.0); });
  print_rates("polynomial-defaults", [](Optimizer& o) { return PolynomialLR(o); });
  print_rates("cosine", [](Optimizer& o) { return CosineAnnealingLR(o, 6, 0.05); });
  print_rates("restarts", [](Optimizer& o) { return CosineAnnealingWarmRestarts(o, 4, 1, 0.01); });
  print_rates("longer-restarts", [](Optimizer& o) { return CosineAnnealingWarmRestarts(o, 2, 2); });
  print_rates("one-cycle", [](Optimizer& o) { return OneCycleLR(o, 0.9, 20); });
  print_rates("one-cycle-linear",
              [](Optimizer& o) { return OneCycleLR(o, 0.9, 20, {.anneal_strategy = "linear", .three_phase = true}); });
  print_rates("cyclic", [](Optimizer& o) { return CyclicLR(o, 0.1, 0.6, {.step_size_up = 3, .step_size_down = 5}); });
  print_rates("cyclic-halves",
              [](Optimizer& o) { return CyclicLR(o, 0.1, 0.6, {.step_size_up = 3, .mode = "triangular2"}); });
  print_rates("cyclic-range", [](Optimizer& o) {
    return CyclicLR(o, 0.1, 0.6, {.step_size_up = 3, .mode = "exp_range", .gamma = 0.9});
  });
  print_rates("sequential", [](Optimizer& o) {
    return SequentialLR(o, {ConstantLR(o, 0.1, 2), ExponentialLR(o, 0.9), StepLR(o, 2)}, {3, 9});
  });
  print_rates("chained", [](Optimizer& o) {
    return ChainedScheduler({ConstantLR(o, 0.1, 4), ExponentialLR(o, 0.9), CosineAnnealingLR(o, 50)}, o);
  });
  print_rates("plateau", [](Optimizer& o) {
    return ReduceLROnPlateau(o, {.factor = 0.3, .patience = 1, .cooldown = 1, .min_lr = 0.01});
  });
}
