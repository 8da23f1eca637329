// Element types by kind, and what elements are computed in.
#pragma once

#include <lento/half.h>

#include <complex>
#include <concepts>
#include <type_traits>

namespace lento::reference {

template <class T>
concept Half = std::same_as<T, float16> || std::same_as<T, bfloat16>;

template <class T>
concept Complex = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

/// What elements stored as T are computed and accumulated in: float for the 16-bit floats, else T itself.
template <class T>
using ComputeType = std::conditional_t<Half<T>, float, T>;

}  // namespace lento::reference
