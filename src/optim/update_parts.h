// What the updates of one parameter share.
#pragma once

#include "executor/host_numbers.h"
#include "ops/composite_helpers.h"
#include "optim/update_parts.calls.gen.h"

#include <array>
#include <cstddef>
#include <utility>

namespace lento::optim {

/// Gives `x` the value of `result`, in its own dtype.
inline void set(Tensor& x, Tensor result) {
  // Shapes are interned: equal ones have one address.
  if (result.dtype() == x.dtype() && &result.shape() == &x.shape()) {
    x = std::move(result);
  } else {
    x.assign(result);
  }
}

/// In float32 at least: squares of float16 overflow beyond 256, and sums of them have few bits.
inline Tensor widened(const Tensor& x) { return size_of(x.dtype()) < 4 ? composite::converted(x, DType::float32) : x; }

/// `mean` as the running mean in which each new value counts with `weight`.
inline void move_mean(Tensor& mean, const Tensor& value, const HostNumber& weight) {
  const Tensor way = subtract(value, mean);
  set(mean, add(mean, multiply(Scalar(weight), way)));
}

/// `mean` as the running mean of squares of which `kept` is kept at each new value.
inline void move_mean_square(Tensor& mean, const Tensor& value, double kept) {
  set(mean, multiply(mean, kept));
  set(mean, add(mean, multiply(1 - kept, multiply(value, value))));
}

/// Calls `update(parameter, gradient, kept)` with real tensors: those given, or both parts of complex ones. Of what is
/// kept some may be null.
template <std::size_t count, class Update>
void by_parts(Tensor& parameter, const Tensor& gradient, const std::array<Tensor*, count>& kept, Update update) {
  if (!is_complex(parameter.dtype())) {
    update(parameter, gradient, kept);
    return;
  }
  const Tensor g = is_complex(gradient.dtype()) ? gradient : composite::converted(gradient, parameter.dtype());
  std::array<Tensor, 2> parameters = {real(parameter), imag(parameter)};
  const std::array<Tensor, 2> gradients = {real(g), imag(g)};
  std::array<std::array<Tensor, count>, 2> parts;
  for (std::size_t part = 0; part < 2; ++part) {
    std::array<Tensor*, count> of_part{};
    for (std::size_t i = 0; i < count; ++i) {
      if (kept[i] == nullptr) continue;
      parts[part][i] = part == 0 ? real(*kept[i]) : imag(*kept[i]);
      of_part[i] = &parts[part][i];
    }
    update(parameters[part], gradients[part], of_part);
  }
  set(parameter, complex(parameters[0], parameters[1]));
  for (std::size_t i = 0; i < count; ++i) {
    if (kept[i] != nullptr) set(*kept[i], complex(parts[0][i], parts[1][i]));
  }
}

}  // namespace lento::optim
