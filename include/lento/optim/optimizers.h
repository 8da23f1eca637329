// The optimizers. Names, defaults and updates are PyTorch's; Lion is not there.
#pragma once

#include <lento/export.h>
#include <lento/optim/optimizer.h>
#include <lento/optim/updates.h>

#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace lento::optim {

struct SGDOptions {
  LearningRate lr;
  double momentum = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
  std::vector<Group> groups = {};
};

/// Gradient descent, as PyTorch's: with `momentum`, a running sum of gradients that old ones fade from.
class LENTO_API SGD : public Optimizer {
 public:
  template <tree::Tree T>
  SGD(const T& parameters, SGDOptions options, std::source_location site = std::source_location::current())
      : SGD(Trained(parameters), std::move(options), site) {}

  double momentum;
  double weight_decay;
  bool nesterov;

 private:
  SGD(const Trained& parameters, SGDOptions options, const std::source_location& site);
  void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
              std::int64_t step) override;
  double* momentum_place() override { return momentum != 0 ? &momentum : nullptr; }
};

struct RMSpropOptions {
  LearningRate lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.0;
  bool centered = false;
  std::vector<Group> groups = {};
};

/// RMSprop: divides by the root of a running mean of squares, of the variance where it is `centered`.
class LENTO_API RMSprop : public Optimizer {
 public:
  template <tree::Tree T>
  explicit RMSprop(const T& parameters, RMSpropOptions options = {},
                   std::source_location site = std::source_location::current())
      : RMSprop(Trained(parameters), std::move(options), site) {}

  double alpha;
  double eps;
  double weight_decay;
  double momentum;
  bool centered;

 private:
  RMSprop(const Trained& parameters, RMSpropOptions options, const std::source_location& site);
  void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
              std::int64_t step) override;
  double* momentum_place() override { return momentum != 0 ? &momentum : nullptr; }
};

struct AdagradOptions {
  LearningRate lr = 1e-2;
  double lr_decay = 0.0;
  double weight_decay = 0.0;
  double initial_accumulator_value = 0.0;
  double eps = 1e-10;
  std::vector<Group> groups = {};
};

/// Adagrad: divides by the root of the sum of all squares so far.
class LENTO_API Adagrad : public Optimizer {
 public:
  template <tree::Tree T>
  explicit Adagrad(const T& parameters, AdagradOptions options = {},
                   std::source_location site = std::source_location::current())
      : Adagrad(Trained(parameters), std::move(options), site) {}

  double lr_decay;
  double weight_decay;
  double eps;

 private:
  Adagrad(const Trained& parameters, AdagradOptions options, const std::source_location& site);
  void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
              std::int64_t step) override;
};

struct AdadeltaOptions {
  LearningRate lr = 1.0;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0.0;
  std::vector<Group> groups = {};
};

/// Adadelta: sizes of steps come from those of the steps before.
class LENTO_API Adadelta : public Optimizer {
 public:
  template <tree::Tree T>
  explicit Adadelta(const T& parameters, AdadeltaOptions options = {},
                    std::source_location site = std::source_location::current())
      : Adadelta(Trained(parameters), std::move(options), site) {}

  double rho;
  double eps;
  double weight_decay;

 private:
  Adadelta(const Trained& parameters, AdadeltaOptions options, const std::source_location& site);
  void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
              std::int64_t step) override;
};

struct AdamOptions {
  LearningRate lr = 1e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  std::vector<Group> groups = {};
};

/// Adam; `weight_decay` is added to the gradient.
class LENTO_API Adam : public Optimizer {
 public:
  template <tree::Tree T>
  explicit Adam(const T& parameters, AdamOptions options = {},
                std::source_location site = std::source_location::current())
      : Adam("Adam", Trained(parameters), std::move(options), false, site) {}

  Betas betas;
  double eps;
  double weight_decay;

 protected:
  Adam(std::string_view name, const Trained& parameters, AdamOptions options, bool decoupled,
       const std::source_location& site);

 private:
  void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
              std::int64_t step) override;
  double* momentum_place() override { return &betas.first; }
  bool decoupled_;
};

struct AdamWOptions {
  LearningRate lr = 1e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;
  std::vector<Group> groups = {};
};

/// Adam whose `weight_decay` shrinks the parameters directly.
class LENTO_API AdamW : public Adam {
 public:
  template <tree::Tree T>
  explicit AdamW(const T& parameters, AdamWOptions options = {},
                 std::source_location site = std::source_location::current())
      : Adam("AdamW", Trained(parameters),
             {std::move(options.lr), options.betas, options.eps, options.weight_decay, std::move(options.groups)}, true,
             site) {}
};

struct AdamaxOptions {
  LearningRate lr = 2e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  std::vector<Group> groups = {};
};

/// Adamax: Adam with the greatest gradient, which fades, instead of the mean square.
class LENTO_API Adamax : public Optimizer {
 public:
  template <tree::Tree T>
  explicit Adamax(const T& parameters, AdamaxOptions options = {},
                  std::source_location site = std::source_location::current())
      : Adamax(Trained(parameters), std::move(options), site) {}

  Betas betas;
  double eps;
  double weight_decay;

 private:
  Adamax(const Trained& parameters, AdamaxOptions options, const std::source_location& site);
  void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
              std::int64_t step) override;
  double* momentum_place() override { return &betas.first; }
};

struct NAdamOptions {
  LearningRate lr = 2e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum_decay = 4e-3;
  bool decoupled_weight_decay = false;
  std::vector<Group> groups = {};
};

/// NAdam: Adam with Nesterov's momentum.
class LENTO_API NAdam : public Optimizer {
 public:
  template <tree::Tree T>
  explicit NAdam(const T& parameters, NAdamOptions options = {},
                 std::source_location site = std::source_location::current())
      : NAdam(Trained(parameters), std::move(options), site) {}

  Betas betas;
  double eps;
  double weight_decay;
  double momentum_decay;
  bool decoupled_weight_decay;

 private:
  NAdam(const Trained& parameters, NAdamOptions options, const std::source_location& site);
  void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
              std::int64_t step) override;
  double* momentum_place() override { return &betas.first; }
};

struct RAdamOptions {
  LearningRate lr = 1e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decoupled_weight_decay = false;
  std::vector<Group> groups = {};
};

/// RAdam: Adam that steps without squares until it has seen enough of them.
class LENTO_API RAdam : public Optimizer {
 public:
  template <tree::Tree T>
  explicit RAdam(const T& parameters, RAdamOptions options = {},
                 std::source_location site = std::source_location::current())
      : RAdam(Trained(parameters), std::move(options), site) {}

  Betas betas;
  double eps;
  double weight_decay;
  bool decoupled_weight_decay;

 private:
  RAdam(const Trained& parameters, RAdamOptions options, const std::source_location& site);
  void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
              std::int64_t step) override;
  double* momentum_place() override { return &betas.first; }
};

struct AdafactorOptions {
  LearningRate lr = 1e-2;
  double beta2_decay = -0.8;
  std::pair<std::optional<double>, double> eps = {std::nullopt, 1e-3};
  double d = 1.0;
  double weight_decay = 0.0;
  std::vector<Group> groups = {};
};

/// Adafactor: keeps a row and a column of mean squares instead of a matrix. Steps are relative to a parameter's
/// size.
class LENTO_API Adafactor : public Optimizer {
 public:
  template <tree::Tree T>
  explicit Adafactor(const T& parameters, AdafactorOptions options = {},
                     std::source_location site = std::source_location::current())
      : Adafactor(Trained(parameters), std::move(options), site) {}

  double beta2_decay;
  std::pair<std::optional<double>, double> eps;
  double d;
  double weight_decay;

 private:
  Adafactor(const Trained& parameters, AdafactorOptions options, const std::source_location& site);
  void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
              std::int64_t step) override;
};

struct LionOptions {
  LearningRate lr = 1e-4;
  Betas betas = {0.9, 0.99};
  double weight_decay = 0.0;
  std::vector<Group> groups = {};
};

/// Lion: steps of one size, in the direction of the sign of a mixture of momentum and gradient.
class LENTO_API Lion : public Optimizer {
 public:
  template <tree::Tree T>
  explicit Lion(const T& parameters, LionOptions options = {},
                std::source_location site = std::source_location::current())
      : Lion(Trained(parameters), std::move(options), site) {}

  Betas betas;
  double weight_decay;

 private:
  Lion(const Trained& parameters, LionOptions options, const std::source_location& site);
  void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
              std::int64_t step) override;
  double* momentum_place() override { return &betas.first; }
};

}  // namespace lento::optim
