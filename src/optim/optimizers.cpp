// The optimizers: their settings, what they keep, and which update they make.
#include <lento/optim/optimizers.h>

#include "base/fail.h"
#include "base/source.h"
#include "optim/checks.h"
#include "optim/optimizers.calls.gen.h"

#include <complex>
#include <string>

namespace lento::optim {
namespace {

Tensor nothing(const Tensor& /*parameter*/) { return {}; }

/// Zeros like a parameter where `is_kept`, otherwise nothing.
Kept kept_if(bool is_kept, std::string name) {
  return is_kept ? Kept(std::move(name)) : Kept(std::move(name), nothing);
}

using detail::if_kept;

/// A parameter's shape with one axis, counted from the back, of length 1; nothing for one of less than two axes.
Kept factor(std::string name, std::size_t from_back) {
  return {std::move(name), [from_back](const Tensor& parameter) {
            if (parameter.ndim() < 2) return Tensor();
            Ints shape(parameter.shape().begin(), parameter.shape().end());
            shape[shape.size() - from_back] = 1;
            return zeros(shape, parameter.dtype(), parameter.device());
          }};
}

}  // namespace

SGD::SGD(const Trained& parameters, SGDOptions options, const std::source_location& site)
    : Optimizer("SGD", parameters, std::move(options.lr), {kept_if(options.momentum != 0, "momentum_buffer")}, site),
      momentum(options.momentum),
      weight_decay(options.weight_decay),
      nesterov(options.nesterov) {
  const CallScope scope("SGD", site);
  if (nesterov && momentum == 0) fail<ValueError>("nesterov needs a momentum");
  check_not_negative("momentum", momentum);
  check_not_negative("weight_decay", weight_decay);
  if (momentum != 0) {
    set_groups(std::move(options.groups), parameters, {"weight_decay", "momentum"}, site);
  } else {
    set_groups(std::move(options.groups), parameters, {"weight_decay"}, site);
  }
}

void SGD::update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
                 std::int64_t /*step*/) {
  sgd_update(parameter, gradient, if_kept(kept[0]),
             {rate, of_group(&Group::momentum, momentum), of_group(&Group::weight_decay, weight_decay), nesterov});
}

RMSprop::RMSprop(const Trained& parameters, RMSpropOptions options, const std::source_location& site)
    : Optimizer(
          "RMSprop", parameters, std::move(options.lr),
          {"square_avg", kept_if(options.momentum != 0, "momentum_buffer"), kept_if(options.centered, "grad_avg")},
          site),
      alpha(options.alpha),
      eps(options.eps),
      weight_decay(options.weight_decay),
      momentum(options.momentum),
      centered(options.centered) {
  const CallScope scope("RMSprop", site);
  check_fraction("alpha", alpha);
  check_not_negative("eps", eps);
  check_not_negative("weight_decay", weight_decay);
  check_not_negative("momentum", momentum);
  if (momentum != 0) {
    set_groups(std::move(options.groups), parameters, {"weight_decay", "momentum", "eps"}, site);
  } else {
    set_groups(std::move(options.groups), parameters, {"weight_decay", "eps"}, site);
  }
}

void RMSprop::update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
                     std::int64_t /*step*/) {
  rmsprop_update(parameter, gradient, kept[0], if_kept(kept[1]), if_kept(kept[2]),
                 {rate, alpha, of_group(&Group::eps, eps), of_group(&Group::weight_decay, weight_decay),
                  of_group(&Group::momentum, momentum)});
}

Adagrad::Adagrad(const Trained& parameters, AdagradOptions options, const std::source_location& site)
    : Optimizer("Adagrad", parameters, std::move(options.lr),
                {Kept("sum",
                      [value = options.initial_accumulator_value](const Tensor& parameter) {
                        if (!is_complex(parameter.dtype())) return full_like(parameter, value);
                        return full_like(parameter, std::complex<double>(value, value));
                      })},
                site),
      lr_decay(options.lr_decay),
      weight_decay(options.weight_decay),
      eps(options.eps) {
  const CallScope scope("Adagrad", site);
  check_not_negative("lr_decay", lr_decay);
  check_not_negative("weight_decay", weight_decay);
  check_not_negative("initial_accumulator_value", options.initial_accumulator_value);
  check_not_negative("eps", eps);
  set_groups(std::move(options.groups), parameters, {"weight_decay", "eps"}, site);
}

void Adagrad::update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
                     std::int64_t step) {
  adagrad_update(parameter, gradient, kept[0],
                 {rate, step, lr_decay, of_group(&Group::weight_decay, weight_decay), of_group(&Group::eps, eps)});
}

Adadelta::Adadelta(const Trained& parameters, AdadeltaOptions options, const std::source_location& site)
    : Optimizer("Adadelta", parameters, std::move(options.lr), {"square_avg", "acc_delta"}, site),
      rho(options.rho),
      eps(options.eps),
      weight_decay(options.weight_decay) {
  const CallScope scope("Adadelta", site);
  check_fraction("rho", rho);
  check_not_negative("eps", eps);
  check_not_negative("weight_decay", weight_decay);
  set_groups(std::move(options.groups), parameters, {"weight_decay", "eps"}, site);
}

void Adadelta::update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
                      std::int64_t /*step*/) {
  adadelta_update(parameter, gradient, kept[0], kept[1],
                  {rate, rho, of_group(&Group::eps, eps), of_group(&Group::weight_decay, weight_decay)});
}

Adam::Adam(std::string_view name, const Trained& parameters, AdamOptions options, bool decoupled,
           const std::source_location& site)
    : Optimizer(name, parameters, std::move(options.lr), {"exp_avg", "exp_avg_sq"}, site),
      betas(options.betas),
      eps(options.eps),
      weight_decay(options.weight_decay),
      decoupled_(decoupled) {
  const CallScope scope(detail::lasting(name), site);
  check_betas(betas);
  check_not_negative("eps", eps);
  check_not_negative("weight_decay", weight_decay);
  set_groups(std::move(options.groups), parameters, {"weight_decay", "betas", "eps"}, site);
}

void Adam::update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate, std::int64_t step) {
  adam_update(parameter, gradient, kept[0], kept[1],
              {rate, step, of_group(&Group::betas, betas), of_group(&Group::eps, eps),
               of_group(&Group::weight_decay, weight_decay), decoupled_});
}

Adamax::Adamax(const Trained& parameters, AdamaxOptions options, const std::source_location& site)
    : Optimizer("Adamax", parameters, std::move(options.lr), {"exp_avg", "exp_inf"}, site),
      betas(options.betas),
      eps(options.eps),
      weight_decay(options.weight_decay) {
  const CallScope scope("Adamax", site);
  check_betas(betas);
  check_not_negative("eps", eps);
  check_not_negative("weight_decay", weight_decay);
  set_groups(std::move(options.groups), parameters, {"weight_decay", "betas", "eps"}, site);
}

void Adamax::update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate, std::int64_t step) {
  adamax_update(parameter, gradient, kept[0], kept[1],
                {rate, step, of_group(&Group::betas, betas), of_group(&Group::eps, eps),
                 of_group(&Group::weight_decay, weight_decay)});
}

NAdam::NAdam(const Trained& parameters, NAdamOptions options, const std::source_location& site)
    : Optimizer(
          "NAdam", parameters, std::move(options.lr),
          {"exp_avg", "exp_avg_sq",
           Kept("mu_product", [](const Tensor& parameter) { return ones({}, DType::float64, parameter.device()); })},
          site),
      betas(options.betas),
      eps(options.eps),
      weight_decay(options.weight_decay),
      momentum_decay(options.momentum_decay),
      decoupled_weight_decay(options.decoupled_weight_decay) {
  const CallScope scope("NAdam", site);
  check_betas(betas);
  check_not_negative("eps", eps);
  check_not_negative("weight_decay", weight_decay);
  check_not_negative("momentum_decay", momentum_decay);
  set_groups(std::move(options.groups), parameters, {"weight_decay", "betas", "eps"}, site);
}

void NAdam::update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate, std::int64_t step) {
  nadam_update(parameter, gradient, kept[0], kept[1], kept[2],
               {rate, step, of_group(&Group::betas, betas), of_group(&Group::eps, eps),
                of_group(&Group::weight_decay, weight_decay), momentum_decay, decoupled_weight_decay});
}

RAdam::RAdam(const Trained& parameters, RAdamOptions options, const std::source_location& site)
    : Optimizer("RAdam", parameters, std::move(options.lr), {"exp_avg", "exp_avg_sq"}, site),
      betas(options.betas),
      eps(options.eps),
      weight_decay(options.weight_decay),
      decoupled_weight_decay(options.decoupled_weight_decay) {
  const CallScope scope("RAdam", site);
  check_betas(betas);
  check_not_negative("eps", eps);
  check_not_negative("weight_decay", weight_decay);
  set_groups(std::move(options.groups), parameters, {"weight_decay", "betas", "eps"}, site);
}

void RAdam::update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate, std::int64_t step) {
  radam_update(parameter, gradient, kept[0], kept[1],
               {rate, step, of_group(&Group::betas, betas), of_group(&Group::eps, eps),
                of_group(&Group::weight_decay, weight_decay), decoupled_weight_decay});
}

Adafactor::Adafactor(const Trained& parameters, AdafactorOptions options, const std::source_location& site)
    : Optimizer("Adafactor", parameters, std::move(options.lr),
                {factor("row_var", 1), factor("col_var", 2),
                 Kept("variance",
                      [](const Tensor& parameter) { return parameter.ndim() < 2 ? zeros_like(parameter) : Tensor(); })},
                site),
      beta2_decay(options.beta2_decay),
      eps(options.eps),
      d(options.d),
      weight_decay(options.weight_decay) {
  const CallScope scope("Adafactor", site);
  if (!(beta2_decay <= 0))
    fail<ValueError>("beta2_decay is {}, which is more than 0 or no number", Scalar(beta2_decay));
  check_not_negative("eps", eps.first.value_or(0));
  check_not_negative("eps", eps.second);
  if (!(d >= 1)) fail<ValueError>("d is {}, which is less than 1 or no number", Scalar(d));
  check_not_negative("weight_decay", weight_decay);
  for (const auto& [name, tensor, leaf] : parameters.places) {
    if (is_complex(tensor->dtype())) fail<DTypeError>("{} is {}, but only real ones are taken", name, tensor->dtype());
  }
  set_groups(std::move(options.groups), parameters, {"weight_decay"}, site);
}

void Adafactor::update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
                       std::int64_t step) {
  adafactor_update(parameter, gradient, kept[0], kept[1], kept[2],
                   {rate, step, beta2_decay, eps, d, of_group(&Group::weight_decay, weight_decay)});
}

Lion::Lion(const Trained& parameters, LionOptions options, const std::source_location& site)
    : Optimizer("Lion", parameters, std::move(options.lr), {"exp_avg"}, site),
      betas(options.betas),
      weight_decay(options.weight_decay) {
  const CallScope scope("Lion", site);
  check_betas(betas);
  check_not_negative("weight_decay", weight_decay);
  set_groups(std::move(options.groups), parameters, {"weight_decay", "betas"}, site);
}

void Lion::update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> kept, double rate,
                  std::int64_t /*step*/) {
  lion_update(parameter, gradient, kept[0],
              {rate, of_group(&Group::betas, betas), of_group(&Group::weight_decay, weight_decay)});
}

}  // namespace lento::optim
