// What the tests of products and convolutions share: random elements, and how far from the reference backend a sum of
// products in the element type may be.
#pragma once

#include "backends/reference/array.h"

#include <lento/dtype.h>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace lento::cpu {

template <class T>
inline constexpr bool kIsHalf = std::same_as<T, float16> || std::same_as<T, bfloat16>;

/// Elements that std::vector can refer to.
template <class T>
using Cell = std::conditional_t<std::same_as<T, bool>, char, T>;

template <class T>
Cell<T> random_element(std::mt19937& random) {
  std::uniform_real_distribution<double> real(-1, 1);
  if constexpr (std::same_as<T, bool>) {
    return random() % 4 == 0 ? 1 : 0;
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(random() * 0x9e3779b97f4a7c15ULL >> 7);
  } else if constexpr (requires { typename T::value_type; }) {
    using Part = typename T::value_type;
    return T(static_cast<Part>(real(random)), static_cast<Part>(real(random)));
  } else {
    return static_cast<T>(real(random));
  }
}

template <class T>
std::vector<Cell<T>> random_elements(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Cell<T>> elements(static_cast<std::size_t>(count));
  for (Cell<T>& element : elements) element = random_element<T>(random);
  return elements;
}

/// How far two sums of the same `length` products may differ when elements are at most 1 (complex: sqrt 2) in
/// magnitude: each rounds every product and partial sum, an error of at most (length + 1) u a sum of magnitudes, in the
/// type it is accumulated in, and the result once. Halves are accumulated in float32 by both. Complex arithmetic takes
/// four real operations instead of one.
template <class T>
double error_bound(std::int64_t length) {
  const auto n = static_cast<double>(length);
  if constexpr (std::integral<T>) {
    return 0;
  } else if constexpr (kIsHalf<T>) {
    const double unit = std::same_as<T, float16> ? 0x1p-11 : 0x1p-8;
    return 2 * ((n + 1) * 0x1p-24 + unit) * n;
  } else if constexpr (requires { typename T::value_type; }) {
    return 2 * 4 * (n + 1) * static_cast<double>(std::numeric_limits<typename T::value_type>::epsilon()) / 2 * 2 * n;
  } else {
    return 2 * (n + 1) * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2 * n;
  }
}

template <class T>
double distance(T a, T b) {
  if constexpr (std::integral<T>) {
    return a == b ? 0 : 1;
  } else if constexpr (kIsHalf<T>) {
    return std::abs(static_cast<float>(a) - static_cast<float>(b));
  } else {
    return static_cast<double>(std::abs(a - b));
  }
}

/// The largest difference of two arrays; nan when one has a nan the other has not.
template <class T>
double largest_distance(const std::vector<T>& a, const std::vector<T>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = distance(a[i], b[i]);
    if (!(d <= most)) most = d;
    if (std::isnan(most)) return most;
  }
  return most;
}

}  // namespace lento::cpu
