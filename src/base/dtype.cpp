#include <lento/dtype.h>

#include <array>
#include <ostream>

namespace lento {

namespace {

constexpr std::array<std::string_view, kDTypeCount> kNames = {
    "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",     "uint32",
    "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
};

constexpr DType signed_of_size(std::size_t bytes) {
  return bytes == 1 ? DType::int8 : bytes == 2 ? DType::int16 : bytes == 4 ? DType::int32 : DType::int64;
}

constexpr DType promote_floating(DType a, DType b) {
  if (a == b) return a;
  if (is_half(a) && is_half(b)) return DType::float32;  // neither holds the other
  return size_of(a) > size_of(b) ? a : b;
}

constexpr DType promote_integer(DType a, DType b) {
  if (is_signed_integer(a) == is_signed_integer(b)) return size_of(a) >= size_of(b) ? a : b;
  const DType s = is_signed_integer(a) ? a : b;
  const DType u = is_signed_integer(a) ? b : a;
  if (size_of(s) > size_of(u)) return s;
  if (u == DType::uint64) return DType::float64;  // no integer type holds both
  return signed_of_size(size_of(u) * 2);
}

}  // namespace

std::string_view name(DType dtype) {
  const auto number = static_cast<std::size_t>(dtype);
  return number < kNames.size() ? kNames[number] : "no dtype";
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }

std::optional<DType> dtype_from_name(std::string_view wanted) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == wanted) return static_cast<DType>(i);
  }
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b || is_bool(b)) return a;
  if (is_bool(a)) return b;
  if (is_integer(a) && is_integer(b)) return promote_integer(a, b);
  if (is_complex(a) || is_complex(b)) {
    const auto part = [](DType d) { return is_integer(d) ? DType::float16 : real_type(d); };
    return complex_type(promote_floating(part(a), part(b)));
  }
  if (is_integer(a)) return b;
  if (is_integer(b)) return a;
  return promote_floating(a, b);
}

}  // namespace lento
