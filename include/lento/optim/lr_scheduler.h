// PyTorch's classes that change the learning rate of an optimizer at each step(), with its names and arguments.
//
//     optim::lr_scheduler::StepLR scheduler(optimizer, 30, 0.1);
//     for (int epoch = 0; epoch < 90; ++epoch) {
//       train(model, optimizer);
//       scheduler.step();
//     }
//
// A class here is a formula of the first learning rate and the number of calls. So any of them can be saved, resumed
// and put after another. The optimizer has to stay where it is. Whoever does not need the class gives the optimizer a
// function: `{.lr = optim::cosine(…)}`.
#pragma once

#include <lento/export.h>
#include <lento/optim/optimizer.h>
#include <lento/tensor_dict.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lento::optim::lr_scheduler {

/// What all of them share. One of your own gives this base its formula.
class LENTO_API LRScheduler {
 public:
  /// The learning rate after `epoch` calls of step, where it was `first` before them.
  using Rate = std::function<double(double first, double epoch)>;
  /// The momentum then.
  using Momentum = std::function<double(double epoch)>;

  /// Throws ValueError when a learning rate of the optimizer is a function of the step already, and for an optimizer
  /// without a momentum where there is a formula for it.
  LRScheduler(std::string_view name, Optimizer& of, Rate formula, Momentum momentum_formula = nullptr,
              const std::source_location& site = std::source_location::current());

  /// How often step was called.
  double last_epoch = 0;
  Rate rate;

  /// Goes on to the next epoch, or to this one. Throws ValueError unless it is from 0 to 2^53.
  void step(std::source_location site = std::source_location::current()) { go_to(last_epoch + 1, site); }
  void step(double epoch, std::source_location site = std::source_location::current()) { go_to(epoch, site); }

  /// The learning rates of the optimizer's groups, and last that of the parameters in no group.
  std::vector<double> get_last_lr() const;

  /// What has to be saved beside the optimizer's state to go on later: the epoch, and the rates before the first one.
  TensorDict state_dict() const;
  /// Goes on from what state_dict gave, and sets the learning rates of that epoch: the optimizer's state may be loaded
  /// before this scheduler is made, or after. Throws ValueError, and changes nothing, where names differ or an epoch is
  /// none.
  void load_state_dict(const TensorDict& state, std::source_location site = std::source_location::current());

 protected:
  /// What is saved beside last_epoch, by name.
  std::vector<std::pair<std::string, double>> more_saved;
  void go_to(double epoch, const std::source_location& site);
  /// What load_state_dict does; `counts` are the names of what counts something, and `prepare` runs before the learning
  /// rates are set.
  void load(const TensorDict& state, std::initializer_list<std::string_view> counts,
            const std::function<void()>& prepare, const std::source_location& site);
  /// Throws ValueError for schedulers that others cannot have as parts: those of the momentum, and of a plateau.
  static void check_parts(const std::vector<LRScheduler>& schedulers);
  Optimizer& optimizer() const { return *optimizer_; }

 private:
  void check_groups() const;
  void take(const TensorDict& state, std::initializer_list<std::string_view> counts, const std::source_location& site);

  std::string_view name_;
  Optimizer* optimizer_;
  Momentum momentum_;
};

/// The first rate times `lr_lambda(epoch)`.
class LENTO_API LambdaLR : public LRScheduler {
 public:
  LambdaLR(Optimizer& of, std::function<double(std::int64_t)> lr_lambda,
           std::source_location site = std::source_location::current());
};

/// Times `lr_lambda(epoch)` at each epoch.
class LENTO_API MultiplicativeLR : public LRScheduler {
 public:
  MultiplicativeLR(Optimizer& of, std::function<double(std::int64_t)> lr_lambda,
                   std::source_location site = std::source_location::current());
};

/// Times `gamma` after every `step_size` epochs.
class LENTO_API StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& of, std::int64_t step_size, double gamma = 0.1,
         std::source_location site = std::source_location::current());
};

/// Times `gamma` at each of the milestones.
class LENTO_API MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& of, std::vector<std::int64_t> milestones, double gamma = 0.1,
              std::source_location site = std::source_location::current());
};

/// Times `factor` for the first `total_iters` epochs.
class LENTO_API ConstantLR : public LRScheduler {
 public:
  explicit ConstantLR(Optimizer& of, double factor = 1.0 / 3, std::int64_t total_iters = 5,
                      std::source_location site = std::source_location::current());
};

/// Times a factor that goes from `start_factor` to `end_factor` in `total_iters` epochs.
class LENTO_API LinearLR : public LRScheduler {
 public:
  explicit LinearLR(Optimizer& of, double start_factor = 1.0 / 3, double end_factor = 1.0, std::int64_t total_iters = 5,
                    std::source_location site = std::source_location::current());
};

/// Times `gamma` at each epoch.
class LENTO_API ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& of, double gamma, std::source_location site = std::source_location::current());
};

/// Down to 0 in `total_iters` epochs, as a power of those that are left.
class LENTO_API PolynomialLR : public LRScheduler {
 public:
  explicit PolynomialLR(Optimizer& of, std::int64_t total_iters = 5, double power = 1.0,
                        std::source_location site = std::source_location::current());
};

/// Along a cosine: down to `eta_min` in `T_max` epochs, and up again in as many.
class LENTO_API CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& of, std::int64_t T_max, double eta_min = 0.0,
                    std::source_location site = std::source_location::current());
};

/// Down to `eta_min` along half a cosine, again and again: in `T_0` epochs, then in `T_mult` times as many.
class LENTO_API CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& of, std::int64_t T_0, std::int64_t T_mult = 1, double eta_min = 0.0,
                              std::source_location site = std::source_location::current());
};

struct OneCycleLROptions {
  double pct_start = 0.3;
  std::string anneal_strategy = "cos";
  bool cycle_momentum = true;
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  double div_factor = 25.0;
  double final_div_factor = 1e4;
  bool three_phase = false;
};

/// One cycle of `total_steps` steps: up to `max_lr`, then far down.
class LENTO_API OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& of, double max_lr, std::int64_t total_steps, OneCycleLROptions options = {},
             std::source_location site = std::source_location::current());
};

struct CyclicLROptions {
  std::int64_t step_size_up = 2000;
  std::optional<std::int64_t> step_size_down = std::nullopt;
  std::string mode = "triangular";
  double gamma = 1.0;
  bool cycle_momentum = true;
  double base_momentum = 0.8;
  double max_momentum = 0.9;
};

/// Up from `base_lr` to `max_lr` in `step_size_up` steps and down in `step_size_down`, again and again: to the same
/// height
/// ("triangular"), to half of the last ("triangular2"), lower by `gamma` at each step ("exp_range").
class LENTO_API CyclicLR : public LRScheduler {
 public:
  CyclicLR(Optimizer& of, double base_lr, double max_lr, CyclicLROptions options = {},
           std::source_location site = std::source_location::current());
};

/// One scheduler after the other: each begins anew at its milestone. None may change the momentum or be a
/// ReduceLROnPlateau.
class LENTO_API SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& of, std::vector<LRScheduler> schedulers, std::vector<std::int64_t> milestones,
               std::source_location site = std::source_location::current());
};

/// Schedulers together: each one takes what the one before it gives for the first rate. None may change the momentum or
/// be a ReduceLROnPlateau.
class LENTO_API ChainedScheduler : public LRScheduler {
 public:
  ChainedScheduler(std::vector<LRScheduler> schedulers, Optimizer& of,
                   std::source_location site = std::source_location::current());
};

struct ReduceLROnPlateauOptions {
  std::string mode = "min";
  double factor = 0.1;
  std::int64_t patience = 10;
  double threshold = 1e-4;
  std::string threshold_mode = "rel";
  std::int64_t cooldown = 0;
  double min_lr = 0.0;
  double eps = 1e-8;
};

/// Times `factor` where the number given to `step` was not better for more than `patience` epochs.
class LENTO_API ReduceLROnPlateau : public LRScheduler {
 public:
  explicit ReduceLROnPlateau(Optimizer& of, ReduceLROnPlateauOptions options = {},
                             std::source_location site = std::source_location::current());

  /// Takes the number of an epoch in.
  void step(double metrics, std::source_location site = std::source_location::current());
  double best() const { return more_saved[0].second; }
  /// As that of LRScheduler.
  void load_state_dict(const TensorDict& state, std::source_location site = std::source_location::current());

 private:
  bool is_better(double metrics) const;
  /// Makes the formula one of how often the rate was lowered.
  void set_rate();
  ReduceLROnPlateauOptions options_;
};

}  // namespace lento::optim::lr_scheduler
