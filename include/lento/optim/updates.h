// One parameter's step of each optimizer, as functions: what is kept for the parameter from one step to the next gets
// new values too. A complex number is two real ones, except in SGD and Lion, whose formulas need no parts.
#pragma once

#include <lento/export.h>
#include <lento/tensor.h>

#include <cstdint>
#include <optional>
#include <source_location>
#include <utility>

namespace lento::optim {

using Betas = std::pair<double, double>;

namespace detail {

/// What is kept as the updates take it: null where there is nothing.
inline Tensor* if_kept(Tensor& tensor) { return tensor.defined() ? &tensor : nullptr; }

}  // namespace detail

struct SGDUpdate {
  double lr;
  double momentum = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
};
/// Gradient descent. `momentum_buffer` is null where there is no momentum.
LENTO_API void sgd_update(Tensor& parameter, const Tensor& gradient, Tensor* momentum_buffer, const SGDUpdate& by,
                          std::source_location site = std::source_location::current());

struct AdamUpdate {
  double lr;
  std::int64_t step;  ///< from 1
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decoupled = false;  ///< AdamW: the decay shrinks the parameter instead of being added to the gradient
};
/// Adam and AdamW.
LENTO_API void adam_update(Tensor& parameter, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_avg_sq,
                           const AdamUpdate& by, std::source_location site = std::source_location::current());

struct AdamaxUpdate {
  double lr;
  std::int64_t step;  ///< from 1
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
};
/// Adamax.
LENTO_API void adamax_update(Tensor& parameter, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_inf,
                             const AdamaxUpdate& by, std::source_location site = std::source_location::current());

struct NAdamUpdate {
  double lr;
  std::int64_t step;  ///< from 1
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum_decay = 4e-3;
  bool decoupled = false;  ///< as in AdamUpdate
};
/// NAdam. `mu_product`, a number in float64, begins as 1.
LENTO_API void nadam_update(Tensor& parameter, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_avg_sq,
                            Tensor& mu_product, const NAdamUpdate& by,
                            std::source_location site = std::source_location::current());

struct RAdamUpdate {
  double lr;
  std::int64_t step;  ///< from 1
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decoupled = false;  ///< as in AdamUpdate
};
/// RAdam.
LENTO_API void radam_update(Tensor& parameter, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_avg_sq,
                            const RAdamUpdate& by, std::source_location site = std::source_location::current());

struct RMSpropUpdate {
  double lr;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.0;
};
/// RMSprop. `momentum_buffer` is null where there is no momentum, `grad_avg` unless it is centered.
LENTO_API void rmsprop_update(Tensor& parameter, const Tensor& gradient, Tensor& square_avg, Tensor* momentum_buffer,
                              Tensor* grad_avg, const RMSpropUpdate& by,
                              std::source_location site = std::source_location::current());

struct AdadeltaUpdate {
  double lr = 1.0;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0.0;
};
/// Adadelta.
LENTO_API void adadelta_update(Tensor& parameter, const Tensor& gradient, Tensor& square_avg, Tensor& acc_delta,
                               const AdadeltaUpdate& by, std::source_location site = std::source_location::current());

struct AdagradUpdate {
  double lr;
  std::int64_t step;  ///< from 1
  double lr_decay = 0.0;
  double weight_decay = 0.0;
  double eps = 1e-10;
};
/// Adagrad. `squares` is the sum of them so far.
LENTO_API void adagrad_update(Tensor& parameter, const Tensor& gradient, Tensor& squares, const AdagradUpdate& by,
                              std::source_location site = std::source_location::current());

struct AdafactorUpdate {
  double lr;
  std::int64_t step;  ///< from 1
  double beta2_decay = -0.8;
  /// The first keeps roots away from 0 (none: the parameter's smallest step from 1), the second is the least size that
  /// a parameter counts as.
  std::pair<std::optional<double>, double> eps = {std::nullopt, 1e-3};
  double d = 1.0;
  double weight_decay = 0.0;
};
/// Adafactor. A parameter of two axes or more has `row_var` (its last axis is 1) and `col_var` (the one before is 1),
/// any other `variance`; those that it does not have are empty handles. Throws DTypeError for complex numbers.
LENTO_API void adafactor_update(Tensor& parameter, const Tensor& gradient, Tensor& row_var, Tensor& col_var,
                                Tensor& variance, const AdafactorUpdate& by,
                                std::source_location site = std::source_location::current());

struct LionUpdate {
  double lr;
  Betas betas = {0.9, 0.99};
  double weight_decay = 0.0;
};
/// Lion.
LENTO_API void lion_update(Tensor& parameter, const Tensor& gradient, Tensor& exp_avg, const LionUpdate& by,
                           std::source_location site = std::source_location::current());

}  // namespace lento::optim
