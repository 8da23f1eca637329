// What a step of the optimizers that divide by running roots of squares does to one parameter. Numbers are as in
// updates.cpp.
#include <lento/dtype_info.h>
#include <lento/optim/updates.h>

#include "base/fail.h"
#include "base/source.h"
#include "optim/square_updates.calls.gen.h"
#include "optim/update_parts.h"

#include <algorithm>
#include <cmath>

namespace lento::optim {
namespace {

Tensor decayed(const Tensor& parameter, const Tensor& gradient, double weight_decay) {
  return weight_decay == 0 ? gradient : add(gradient, multiply(weight_decay, parameter));
}

/// The root of the mean square of all elements, as a number.
Tensor size_of_elements(const Tensor& x) {
  const double count = std::max(1.0, static_cast<double>(x.size()));
  return divide(sqrt(sum(square(x))), std::sqrt(count));
}

}  // namespace

void rmsprop_update(Tensor& parameter, const Tensor& gradient, Tensor& square_avg, Tensor* momentum_buffer,
                    Tensor* grad_avg, const RMSpropUpdate& by, std::source_location site) {
  const CallScope scope("rmsprop_update", site);
  by_parts<3>(parameter, gradient, {&square_avg, momentum_buffer, grad_avg},
              [&](Tensor& p, const Tensor& given, const auto& kept) {
                const Tensor g = decayed(p, given, by.weight_decay);
                Tensor& mean_square = *kept[0];
                Tensor* const velocity = kept[1];
                Tensor* const mean = kept[2];
                move_mean_square(mean_square, g, by.alpha);
                Tensor variance = mean_square;
                if (mean != nullptr) {
                  move_mean(*mean, g, 1 - by.alpha);
                  variance = subtract(variance, multiply(*mean, *mean));
                }
                Tensor direction = divide(g, add(sqrt(variance), by.eps));
                if (velocity != nullptr) {
                  set(*velocity, add(multiply(*velocity, by.momentum), direction));
                  direction = *velocity;
                }
                set(p, subtract(p, multiply(Scalar(HostStep::rate(by.lr)), direction)));
              });
}

void adadelta_update(Tensor& parameter, const Tensor& gradient, Tensor& square_avg, Tensor& acc_delta,
                     const AdadeltaUpdate& by, std::source_location site) {
  const CallScope scope("adadelta_update", site);
  by_parts<2>(parameter, gradient, {&square_avg, &acc_delta}, [&](Tensor& p, const Tensor& given, const auto& kept) {
    const Tensor g = decayed(p, given, by.weight_decay);
    Tensor &mean_square = *kept[0], &mean_change = *kept[1];
    move_mean_square(mean_square, g, by.rho);
    const Tensor change = multiply(divide(sqrt(add(mean_change, by.eps)), sqrt(add(mean_square, by.eps))), g);
    move_mean_square(mean_change, change, by.rho);
    set(p, subtract(p, multiply(Scalar(HostStep::rate(by.lr)), change)));
  });
}

void adagrad_update(Tensor& parameter, const Tensor& gradient, Tensor& squares, const AdagradUpdate& by,
                    std::source_location site) {
  const CallScope scope("adagrad_update", site);
  const HostNumber rate = HostStep::rate(by.lr) / (1 + (HostStep::step(by.step) - 1) * by.lr_decay);
  by_parts<1>(parameter, gradient, {&squares}, [&](Tensor& p, const Tensor& given, const auto& kept) {
    const Tensor g = decayed(p, given, by.weight_decay);
    Tensor& total = *kept[0];
    set(total, add(total, multiply(g, g)));
    set(p, subtract(p, multiply(Scalar(rate), divide(g, add(sqrt(total), by.eps)))));
  });
}

void adafactor_update(Tensor& parameter, const Tensor& gradient, Tensor& row_var, Tensor& col_var, Tensor& variance,
                      const AdafactorUpdate& by, std::source_location site) {
  const CallScope scope("adafactor_update", site);
  const DType dtype = parameter.dtype();
  if (is_complex(dtype)) fail<DTypeError>("a parameter is {}, but only real ones are taken", dtype);
  const HostNumber step = HostStep::step(by.step);
  const HostNumber weight = pow(step, by.beta2_decay);
  const double least = by.eps.first.value_or(finfo(dtype).eps);
  const HostNumber lr = HostStep::rate(by.lr);
  const HostNumber largest = 1 / sqrt(step);
  const Tensor magnitude = maximum(size_of_elements(widened(parameter)), by.eps.second);
  const Tensor size = multiply(magnitude, Scalar(lr > largest ? largest : lr));
  if (by.weight_decay != 0) set(parameter, multiply(parameter, Scalar(1 - lr * by.weight_decay)));
  const Tensor g = widened(gradient);
  const Tensor squares = multiply(g, g);
  Tensor estimate;
  if (parameter.ndim() > 1) {
    move_mean(row_var, mean(squares, Ints{-1}, true), weight);
    move_mean(col_var, mean(squares, Ints{-2}, true), weight);
    const Tensor rows = widened(row_var);
    estimate = divide(multiply(rows, widened(col_var)), maximum(mean(rows, Ints{-2}, true), least));
  } else {
    move_mean(variance, squares, weight);
    estimate = widened(variance);
  }
  const Tensor direction = divide(g, sqrt(maximum(estimate, least * least)));
  const Tensor too_large = maximum(divide(size_of_elements(direction), by.d), 1.0);
  set(parameter, subtract(parameter, multiply(divide(size, too_large), direction)));
}

}  // namespace lento::optim
