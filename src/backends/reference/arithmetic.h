// The few operations that reductions, scans, scatters and sorts need, total on every element type: integers wrap,
// nan has a place in the order, and 16-bit floats are combined in float32.
#pragma once

#include <lento/half.h>

#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace lento::reference {

template <class T>
concept Half = std::same_as<T, float16> || std::same_as<T, bfloat16>;

template <class T>
concept Complex = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

/// What elements of T are accumulated in: float for the 16-bit floats, else T itself.
template <class T>
using Accumulator = std::conditional_t<Half<T>, float, T>;

/// What is combined: an element as it is, except that 16-bit floats are widened.
template <class T>
Accumulator<T> widen(T value) {
  return static_cast<Accumulator<T>>(value);
}

/// Whether the element differs from zero; nan does.
template <class T>
bool is_nonzero(T value) {
  return widen(value) != Accumulator<T>(0);
}

/// Whether the element is nan, or has a nan in it.
template <class T>
bool is_nan(T value) {
  if constexpr (std::integral<T>) {
    return false;
  } else if constexpr (Complex<T>) {
    return std::isnan(value.real()) || std::isnan(value.imag());
  } else {
    return std::isnan(widen(value));
  }
}

/// The order of sorting: numbers by value, -0 equal to +0, nan behind every number. Complex numbers are in four groups,
/// by what is nan in them: nothing, the imaginary part, the real part, both; within a group by real, then by imaginary
/// part.
template <class T>
bool comes_before(T a, T b) {
  if constexpr (Complex<T>) {
    const int group_a = 2 * std::isnan(a.real()) + std::isnan(a.imag());
    const int group_b = 2 * std::isnan(b.real()) + std::isnan(b.imag());
    if (group_a != group_b) return group_a < group_b;
    if (comes_before(a.real(), b.real())) return true;
    if (comes_before(b.real(), a.real())) return false;
    return comes_before(a.imag(), b.imag());
  } else {
    if (is_nan(b)) return !is_nan(a);
    return widen(a) < widen(b);
  }
}

struct Add {
  template <class A>
  A operator()(A a, A b) const {
    if constexpr (std::same_as<A, bool>) {
      return a || b;
    } else if constexpr (std::integral<A>) {
      // Unsigned 64-bit arithmetic wraps, and its low bits are those of every narrower type's.
      return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else {
      return a + b;
    }
  }
};

struct Multiply {
  template <class A>
  A operator()(A a, A b) const {
    if constexpr (std::same_as<A, bool>) {
      return a && b;
    } else if constexpr (std::integral<A>) {
      return static_cast<A>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
      return a * b;
    }
  }
};

/// The larger one; nan if either is, and +0 rather than -0.
struct Maximum {
  template <class A>
  A operator()(A a, A b) const {
    if (is_nan(a)) return a;
    if constexpr (std::floating_point<A>) {
      if (a == b) return std::signbit(a) ? b : a;
    }
    return comes_before(a, b) ? b : a;  // nan comes last, so that a nan b wins
  }
};

/// The smaller one; nan if either is, and -0 rather than +0.
struct Minimum {
  template <class A>
  A operator()(A a, A b) const {
    if (is_nan(a) || is_nan(b)) return is_nan(a) ? a : b;
    if constexpr (std::floating_point<A>) {
      if (a == b) return std::signbit(a) ? a : b;
    }
    return comes_before(b, a) ? b : a;
  }
};

}  // namespace lento::reference
