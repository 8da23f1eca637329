// Arguments to try: special values, all exponents, random bits, and around the places where functions change.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace lento::testing {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           L::denorm_min(),
                           3 * L::denorm_min(),
                           L::min() - L::denorm_min(),
                           L::min(),
                           L::epsilon() / 4,
                           T(0.25),
                           T(0.5),
                           T(1) - L::epsilon() / 2,
                           T(1),
                           T(1) + L::epsilon(),
                           T(1.5),
                           T(2),
                           T(3),
                           T(4),
                           T(0.1),
                           T(10),
                           T(100),
                           T(700),
                           T(750),
                           T(1e10),
                           T(1e30),
                           L::max(),
                           L::infinity(),
                           L::quiet_NaN()};
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

/// Numbers near which some function overflows, underflows, saturates, has a zero or changes its formula.
template <class T>
std::vector<T> landmarks() {
  return {T(0.35),
          T(0.41421356),
          T(0.55),
          T(0.70710678),
          T(0.92),
          T(1.0),
          T(1.41421356),
          T(1.5707963267948966),
          T(3.141592653589793),
          T(4.0),
          T(6.0),
          T(9.01),
          T(9.25),
          T(10.05),
          T(16.6),
          T(18.7),
          T(22),
          T(26.54),
          T(27.2),
          T(36.7),
          T(88.722839),
          T(87.336548),
          T(89.415985),
          T(103.97208),
          T(149),
          T(126),
          T(709.782712893384),
          T(708.3964185322641),
          T(745.1332191019411),
          T(710.4758600739439),
          T(1022),
          T(1074),
          T(32768),
          T(0x1p30)};
}

/// `count` arguments; equal seeds give equal ones.
template <class T>
std::vector<T> random_values(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values;
  values.reserve(count);
  const std::vector<T> marks = landmarks<T>();
  std::normal_distribution<T> normal(0, 1);
  while (values.size() < count) {
    const std::uint64_t word = random();
    switch (values.size() % 4) {
      case 0:  // any bits
        values.push_back(std::bit_cast<T>(static_cast<BitsOf<T>>(word >> (64 - 8 * sizeof(T)))));
        break;
      case 1: {  // around a landmark, at a distance of any size
        const T mark = marks[word % marks.size()];
        values.push_back(std::copysign(mark * (1 + std::ldexp(normal(random), -static_cast<int>((word >> 8) % 40))),
                                       (word >> 20) % 2 != 0 ? T(1) : T(-1)));
        break;
      }
      case 2:  // of usual size
        values.push_back(normal(random) * T(4));
        break;
      default:  // of sizes where most functions neither vanish nor overflow
        values.push_back(std::ldexp(normal(random), static_cast<int>(word % 40) - 25));
        break;
    }
  }
  return values;
}

}  // namespace lento::testing
