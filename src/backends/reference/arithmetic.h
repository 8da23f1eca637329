// The few operations that reductions, scans, scatters and sorts need, total on every element type: integers wrap,
// nan has a place in the order, and 16-bit floats are combined in float32.
#pragma once

#include "backends/reference/element_types.h"
#include "backends/reference/scalar_math.h"

#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>

namespace lento::reference {

/// What is combined: an element as it is, except that 16-bit floats are widened.
template <class T>
ComputeType<T> widen(T value) {
  return static_cast<ComputeType<T>>(value);
}

/// Whether the element differs from zero; nan does.
template <class T>
bool is_nonzero(T value) {
  return widen(value) != ComputeType<T>(0);
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

// What reductions, scans and scatters combine two elements with: the scalar functions of the elementwise ops of these
// names. They take every type, so that one dispatch serves all; what makes no sense, such as the maximum of complex
// numbers, is refused by inference.

struct Add {
  template <class A>
  A operator()(A a, A b) const {
    if constexpr (std::same_as<A, bool>) {
      return a || b;
    } else if constexpr (std::integral<A>) {
      return math::wrapping_add(a, b);
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
      return math::wrapping_multiply(a, b);
    } else if constexpr (Complex<A>) {
      return math::multiply(a, b);
    } else {
      return a * b;
    }
  }
};

/// The larger one; nan if either is, and +0 rather than -0.
struct Maximum {
  template <class A>
  A operator()(A a, A b) const {
    if constexpr (Complex<A>) {
      return comes_before(a, b) ? b : a;
    } else {
      return math::maximum(a, b);
    }
  }
};

/// The smaller one; nan if either is, and -0 rather than +0.
struct Minimum {
  template <class A>
  A operator()(A a, A b) const {
    if constexpr (Complex<A>) {
      return comes_before(b, a) ? b : a;
    } else {
      return math::minimum(a, b);
    }
  }
};

}  // namespace lento::reference
