#include "compiler/passes/exact_casts.h"

#include <cstddef>

namespace lento {

namespace {

/// Bits of the largest integer up to which a dtype has all of them; of a complex one, its parts.
std::size_t whole_bits(DType dtype) {
  switch (real_type(dtype)) {
    case DType::bool_:
      return 1;
    case DType::bfloat16:
      return 8;
    case DType::float16:
      return 11;
    case DType::float32:
      return 24;
    case DType::float64:
      return 53;
    default:
      return size_of(dtype) * 8 - (is_signed_integer(dtype) ? 1 : 0);
  }
}

}  // namespace

bool holds_every(DType to, DType from) {
  if (to == from || is_bool(from)) return true;
  if (is_bool(to) || (is_complex(from) && !is_complex(to))) return false;
  if (is_integer(from)) {
    const bool loses_sign = is_signed_integer(from) && is_unsigned_integer(to);
    return !loses_sign && whole_bits(to) >= whole_bits(from);
  }
  if (is_integer(to)) return false;
  // float16 and bfloat16 do not hold each other: one has the digits, the other the range.
  return whole_bits(to) >= 24 && whole_bits(to) >= whole_bits(from);
}

bool middle_cast_is_exact(DType from, DType middle, DType to) {
  if (!holds_every(middle, from)) return false;
  if (to == from || is_bool(from)) return true;
  // Floats saturate where integers wrap.
  return !(is_integer(from) && !is_integer(middle) && is_integer(to));
}

}  // namespace lento
