// The worst error of a function over many arguments.
#pragma once

#include "codegen/math_code.h"
#include "codegen/oracle.h"
#include "codegen/samples.h"
#include "ir/op_elementwise.gen.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace lento::testing {

template <class T>
using OracleOf = std::conditional_t<std::is_same_v<T, float>, double, Wide>;

template <class T>
OracleOf<T> true_value(const MathFunction& function, T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    return function.in_double(a, b);
  } else {
    return function.in_wide(a, b);
  }
}

template <class T>
double error_of(const MathFunction& function, T a, T b, T got) {
  using W = OracleOf<T>;
  return ulp_distance<T, W>(got, true_value<T>(function, a, b), scale_of<W>(function.op, a, b));
}

struct WorstError {
  double ulp = 0.5;  // what correct rounding has anyway
  std::size_t index = 0;
};

template <class T>
WorstError worst_error(const MathFunction& function, std::span<const T> a, std::span<const T> b,
                       std::span<const T> got) {
  WorstError worst;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const OracleOf<T> want = true_value<T>(function, a[i], b[i]);
    if (got[i] == static_cast<T>(want)) continue;  // nearly always, and far cheaper than the distance
    const OracleOf<T> scale = scale_of<OracleOf<T>>(function.op, a[i], b[i]);
    const double error = ulp_distance<T, OracleOf<T>>(got[i], want, scale);
    if (error > worst.ulp) worst = {error, i};
  }
  return worst;
}

template <class T>
struct Arguments {
  std::vector<T> a;
  std::vector<T> b;
};

/// Random arguments that suit the function: bases close to 1 with large exponents, sums of terms of like size, and what
/// has an inverse.
template <class T>
Arguments<T> arguments_for(const MathFunction& function, std::size_t count, std::uint64_t seed) {
  Arguments<T> arguments{random_values<T>(count, seed), random_values<T>(count, seed + 1)};
  auto& [a, b] = arguments;
  for (std::size_t i = 0; i < count; ++i) {
    if (function.op == op::general_pow) {
      if (i % 4 != 0) a[i] = std::abs(a[i]);
      if (i % 8 == 3) {
        const int power = static_cast<int>(i / 8 % 30);
        a[i] = 1 + std::ldexp(a[i] - std::floor(a[i]), -power);
        b[i] = std::ldexp(b[i], power);
      }
      if (i % 8 == 5) b[i] = std::round(b[i]);
    }
    if (function.op == op::logaddexp && i % 3 != 0) b[i] = a[i] + b[i] / 4;
    if (function.op == op::erfinv && i % 4 >= 2) {
      a[i] = std::copysign(-std::expm1(-std::abs(a[i]) * (sizeof(T) == 4 ? 1 : 3)), a[i]);
    }
    if (function.op == op::atan2 && i % 3 == 0) b[i] = a[i] * (1 + b[i] / 16);
  }
  return arguments;
}

/// How many differ; all nans are the same.
template <class T>
std::size_t differing(const std::vector<T>& a, const std::vector<T>& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
    count += !both_nan && std::memcmp(&a[i], &b[i], sizeof(T)) != 0 ? 1 : 0;
  }
  return count;
}

}  // namespace lento::testing
