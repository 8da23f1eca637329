// How Lento's values look in messages: shapes as Python tuples, dtypes by name, tensors as `float32(2, 3)`.
#pragma once

#include <lento/dtype.h>
#include <lento/ints.h>
#include <lento/scalar.h>

#include <fmt/format.h>

#include <span>
#include <string>

namespace lento {

/// "(2, 3)", "(2,)", "()".
std::string shape_text(std::span<const std::int64_t> shape);
/// "any number of bool, int8, …" of a set: the class names where they fit, else the dtypes.
std::string dtype_set_text(DTypeSet set);

}  // namespace lento

template <>
struct fmt::formatter<lento::DType> : fmt::formatter<std::string_view> {
  auto format(lento::DType d, format_context& out) const {
    return fmt::formatter<std::string_view>::format(name(d), out);
  }
};

template <>
struct fmt::formatter<lento::Ints> : fmt::formatter<std::string_view> {
  auto format(const lento::Ints& shape, format_context& out) const {
    return fmt::formatter<std::string_view>::format(lento::shape_text(shape), out);
  }
};

template <>
struct fmt::formatter<lento::Scalar> : fmt::formatter<std::string_view> {
  auto format(const lento::Scalar& scalar, format_context& out) const {
    return fmt::formatter<std::string_view>::format(scalar.to_string(), out);
  }
};
