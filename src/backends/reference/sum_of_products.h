// What matrix products, convolutions and window sums are accumulated in: wider than the elements, so that a result is
// rounded once.
#pragma once

#include "backends/reference/arithmetic.h"

namespace lento::reference {

template <class T>
struct SumTypeOf {
  using type = T;  // integers wrap, bool is or-and, double and complex128 have nothing wider
};
template <>
struct SumTypeOf<float16> {
  using type = float;
};
template <>
struct SumTypeOf<bfloat16> {
  using type = float;
};
template <>
struct SumTypeOf<float> {
  using type = double;
};
template <>
struct SumTypeOf<std::complex<float>> {
  using type = std::complex<double>;
};
template <class T>
using SumType = typename SumTypeOf<T>::type;

/// sum += a * b
template <class T>
void add_product(SumType<T>& sum, T a, T b) {
  sum = Add{}(sum, Multiply{}(static_cast<SumType<T>>(a), static_cast<SumType<T>>(b)));
}

}  // namespace lento::reference
