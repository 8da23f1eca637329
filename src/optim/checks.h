// What settings of optimizers and schedules have to be.
#pragma once

#include <lento/scalar.h>

#include "base/fail.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace lento::optim {

inline void check_not_negative(std::string_view what, double value) {
  if (!(value >= 0)) fail<ValueError>("{} is {}, which is less than 0 or no number", what, Scalar(value));
}

inline void check_count(std::string_view what, std::int64_t value) {
  if (value < 0) fail<ValueError>("{} is {}, which is less than 0", what, value);
}

inline void check_positive(std::string_view what, std::int64_t value) {
  if (value < 1) fail<ValueError>("{} is {}, which is less than 1", what, value);
}

inline void check_rising(std::string_view what, const std::vector<std::int64_t>& values) {
  if (!std::ranges::is_sorted(values)) fail<ValueError>("{} have to rise, and are [{}]", what, fmt::join(values, ", "));
}

/// What counts epochs, and is exact as a double.
inline void check_counted(std::string_view what, double value) {
  constexpr double kMost = 9007199254740992.0;  // 2**53
  if (!(value >= 0 && value <= kMost)) fail<ValueError>("{} is {}, which is not from 0 to 2**53", what, Scalar(value));
}

/// A number of steps that was read from a state dict.
inline void check_saved_count(std::string_view what, double value) {
  if (value < 0) fail<ValueError>("a {} of {:g} is less than none", what, value);
  check_counted(what, value);
  if (value != std::floor(value)) fail<ValueError>("{} is {}, which is no whole number", what, Scalar(value));
}

/// A factor by which old values fade.
inline void check_fraction(std::string_view what, double value) {
  if (!(value >= 0 && value <= 1)) fail<ValueError>("{} is {}, which is not from 0 to 1", what, Scalar(value));
}

inline void check_betas(const std::pair<double, double>& betas, std::string_view what = "betas") {
  const auto fits = [](double beta) { return beta >= 0 && beta < 1; };
  if (fits(betas.first) && fits(betas.second)) return;
  fail<ValueError>("{} are two numbers from 0 to less than 1, not ({}, {})", what, Scalar(betas.first),
                   Scalar(betas.second));
}

}  // namespace lento::optim
