// Where two memories of elements differ.
#pragma once

#include <lento/dtype.h>

#include "backends/reference/arithmetic.h"
#include "base/dispatch.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace lento::testing {

/// The first element in which the memory of an operand differs, or -1. All nans are equal.
inline std::int64_t first_difference(DType dtype, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return dispatch(real_type(dtype), [&]<class T>() -> std::int64_t {
    for (std::size_t at = 0; at < a.size(); at += sizeof(T)) {
      if (std::memcmp(a.data() + at, b.data() + at, sizeof(T)) == 0) continue;
      if constexpr (!std::integral<T>) {
        T x, y;
        std::memcpy(static_cast<void*>(&x), a.data() + at, sizeof(T));
        std::memcpy(static_cast<void*>(&y), b.data() + at, sizeof(T));
        if (reference::is_nan(x) && reference::is_nan(y)) continue;
      }
      return static_cast<std::int64_t>(at / size_of(dtype));
    }
    return -1;
  });
}

}  // namespace lento::testing
