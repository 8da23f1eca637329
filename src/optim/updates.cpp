// What a step of SGD, Lion and the optimizers of Adam's family does to one parameter. The numbers are made here in
// double precision and are arguments of the plan.
#include <lento/optim/updates.h>

#include "base/source.h"
#include "optim/update_parts.h"
#include "optim/updates.calls.gen.h"

#include <limits>

namespace lento::optim {
namespace {

/// Applies weight decay: to the parameter where it is decoupled, otherwise to the gradient, which is returned.
template <class Update>
Tensor decayed(Tensor& parameter, const Tensor& gradient, const Update& by, bool decoupled) {
  if (by.weight_decay == 0) return gradient;
  if (!decoupled) return add(gradient, multiply(by.weight_decay, parameter));
  set(parameter, multiply(parameter, Scalar(1 - HostStep::rate(by.lr) * by.weight_decay)));
  return gradient;
}

}  // namespace

void sgd_update(Tensor& parameter, const Tensor& gradient, Tensor* momentum_buffer, const SGDUpdate& by,
                std::source_location site) {
  const CallScope scope("sgd_update", site);
  Tensor g = decayed(parameter, gradient, by, false);
  if (momentum_buffer != nullptr) {
    Tensor& velocity = *momentum_buffer;
    set(velocity, multiply(velocity, by.momentum));
    set(velocity, add(velocity, g));
    g = by.nesterov ? add(g, multiply(by.momentum, velocity)) : velocity;
  }
  set(parameter, subtract(parameter, multiply(Scalar(HostStep::rate(by.lr)), g)));
}

void adam_update(Tensor& parameter, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_avg_sq, const AdamUpdate& by,
                 std::source_location site) {
  const CallScope scope("adam_update", site);
  const double beta1 = by.betas.first, beta2 = by.betas.second;
  const HostNumber step = HostStep::step(by.step);
  const HostNumber size = HostStep::rate(by.lr) / (1 - pow(beta1, step));
  const HostNumber root = sqrt(1 - pow(beta2, step));
  by_parts<2>(parameter, gradient, {&exp_avg, &exp_avg_sq}, [&](Tensor& p, const Tensor& given, const auto& kept) {
    const Tensor g = decayed(p, given, by, by.decoupled);
    Tensor &mean = *kept[0], &mean_square = *kept[1];
    move_mean(mean, g, 1 - beta1);
    move_mean_square(mean_square, g, beta2);
    const Tensor direction = divide(mean, add(divide(sqrt(mean_square), Scalar(root)), by.eps));
    set(p, subtract(p, multiply(Scalar(size), direction)));
  });
}

void adamax_update(Tensor& parameter, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_inf, const AdamaxUpdate& by,
                   std::source_location site) {
  const CallScope scope("adamax_update", site);
  const double beta1 = by.betas.first, beta2 = by.betas.second;
  const HostNumber size = HostStep::rate(by.lr) / (1 - pow(beta1, HostStep::step(by.step)));
  by_parts<2>(parameter, gradient, {&exp_avg, &exp_inf}, [&](Tensor& p, const Tensor& given, const auto& kept) {
    const Tensor g = decayed(p, given, by, false);
    Tensor &mean = *kept[0], &greatest = *kept[1];
    move_mean(mean, g, 1 - beta1);
    set(greatest, maximum(multiply(greatest, beta2), add(abs(g), by.eps)));
    set(p, subtract(p, multiply(Scalar(size), divide(mean, greatest))));
  });
}

void nadam_update(Tensor& parameter, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_avg_sq, Tensor& mu_product,
                  const NAdamUpdate& by, std::source_location site) {
  const CallScope scope("nadam_update", site);
  const double beta1 = by.betas.first, beta2 = by.betas.second;
  const HostNumber step = HostStep::step(by.step);
  const HostNumber correction = 1 - pow(beta2, step);
  const HostNumber mu = beta1 * (1 - 0.5 * pow(0.96, step * by.momentum_decay));
  const HostNumber next_mu = beta1 * (1 - 0.5 * pow(0.96, (step + 1) * by.momentum_decay));
  set(mu_product, multiply(mu_product, Scalar(mu)));
  // A tensor of 64 bits would make the whole update one of 64 bits.
  const DType dtype =
      size_of(parameter.dtype()) < 8 || parameter.dtype() == DType::complex64 ? DType::float32 : DType::float64;
  const auto sized = [&](const HostNumber& number, const Tensor& product) {
    const Tensor rest = subtract(1.0, product);
    return composite::converted(divide(Scalar(HostStep::rate(by.lr) * number), rest), dtype);
  };
  const Tensor of_gradient = sized(1 - mu, mu_product);
  const Tensor of_mean = sized(next_mu, multiply(mu_product, Scalar(next_mu)));
  by_parts<2>(parameter, gradient, {&exp_avg, &exp_avg_sq}, [&](Tensor& p, const Tensor& given, const auto& kept) {
    const Tensor g = decayed(p, given, by, by.decoupled);
    Tensor &mean = *kept[0], &mean_square = *kept[1];
    move_mean(mean, g, 1 - beta1);
    move_mean_square(mean_square, g, beta2);
    const Tensor root = add(sqrt(divide(mean_square, Scalar(correction))), by.eps);
    set(p, subtract(p, divide(add(multiply(of_gradient, g), multiply(of_mean, mean)), root)));
  });
}

void radam_update(Tensor& parameter, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_avg_sq, const RAdamUpdate& by,
                  std::source_location site) {
  const CallScope scope("radam_update", site);
  const double beta1 = by.betas.first, beta2 = by.betas.second;
  const HostNumber step = HostStep::step(by.step);
  const HostNumber correction = 1 - pow(beta2, step);
  const double longest = 2 / (1 - beta2) - 1;
  const HostNumber length = longest - 2 * step * pow(beta2, step) / correction;
  // The first steps, which know too little of the squares, divide by 1 instead of a root: by min(root, 0) + 1, so that
  // they are the same graph as the others, and a root that is infinite does not matter.
  const bool is_adaptive = length > 5;
  HostNumber size = HostStep::rate(by.lr) / (1 - pow(beta1, step));
  if (is_adaptive) {
    size = size *
           (sqrt(correction) * sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)));
  }
  const double greatest = is_adaptive ? std::numeric_limits<double>::infinity() : 0.0;
  const double offset = is_adaptive ? by.eps : 1.0;
  by_parts<2>(parameter, gradient, {&exp_avg, &exp_avg_sq}, [&](Tensor& p, const Tensor& given, const auto& kept) {
    const Tensor g = decayed(p, given, by, by.decoupled);
    Tensor &mean = *kept[0], &mean_square = *kept[1];
    move_mean(mean, g, 1 - beta1);
    move_mean_square(mean_square, g, beta2);
    set(p, subtract(p, divide(multiply(Scalar(size), mean), add(minimum(sqrt(mean_square), greatest), offset))));
  });
}

void lion_update(Tensor& parameter, const Tensor& gradient, Tensor& exp_avg, const LionUpdate& by,
                 std::source_location site) {
  const CallScope scope("lion_update", site);
  const double beta1 = by.betas.first, beta2 = by.betas.second;
  const Tensor direction = sign(add(multiply(beta1, exp_avg), multiply(1 - beta1, gradient)));
  set(exp_avg, multiply(exp_avg, beta2));
  set(exp_avg, add(exp_avg, multiply(1 - beta2, gradient)));
  const HostNumber lr = HostStep::rate(by.lr);
  if (by.weight_decay != 0) set(parameter, multiply(parameter, Scalar(1 - lr * by.weight_decay)));
  set(parameter, subtract(parameter, multiply(Scalar(lr), direction)));
}

}  // namespace lento::optim
