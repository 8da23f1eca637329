// What generated layers are made of: checks of what they are given, the values that parameters start as, and what is
// shown of them. python/lento/_layer_parts.py has the same for Python.
#pragma once

#include <lento/dtype.h>
#include <lento/nn/sizes.h>
#include <lento/scalar.h>
#include <lento/tensor.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lento::nn {

// --- checks; each throws ValueError ---

/// An argument, or all numbers of a list, must be `least` or more.
void check_at_least(std::int64_t least, std::string_view name, std::int64_t value);
void check_at_least(std::int64_t least, std::string_view name, const Ints& values);
/// `count` of something must come out even in `parts`.
void check_even(std::int64_t count, std::int64_t parts, std::string_view what, std::string_view kind);
void check_probability(std::string_view name, double value);
void check_choice(std::string_view name, std::string_view given, std::initializer_list<std::string_view> choices);

/// `count` numbers, or as many as there are for 0; a single number stands for all of them.
Ints numbers_of(std::string_view name, const Sizes& sizes, std::size_t count);
/// The numbers of sizes, if there are some.
OptionalInts numbers_in(const std::optional<Sizes>& sizes);
/// A row counted from the front.
std::optional<std::int64_t> row_of(std::string_view name, std::optional<std::int64_t> row, std::int64_t rows);

// --- shapes ---

inline void append(Shape& shape, std::int64_t extent) { shape.push_back(extent); }
inline void append(Shape& shape, const Ints& extents) { shape.append(extents); }

/// A shape of extents and lists of extents.
template <class... Parts>
Shape joined(const Parts&... parts) {
  Shape shape;
  (append(shape, parts), ...);
  return shape;
}

// --- what parameters start as: float32 where no dtype is given ---

namespace initial {

Tensor zeros(const Shape& shape, std::optional<DType> dtype);
Tensor ones(const Shape& shape, std::optional<DType> dtype);
Tensor full(const Shape& shape, double value, std::optional<DType> dtype);
Tensor normal(const Shape& shape, std::optional<DType> dtype);
/// Normal, except for one row of zeros.
Tensor normal_rows(const Shape& shape, std::optional<std::int64_t> zeros, std::optional<DType> dtype);
Tensor uniform(const Shape& shape, double bound, std::optional<DType> dtype);
/// Uniform between -b and b, where b is 1 / sqrt(inputs).
Tensor fan_in(const Shape& shape, std::int64_t inputs, std::optional<DType> dtype);

}  // namespace initial

// --- what is shown ---

/// The arguments of a layer as Python writes them.
class Looks {
 public:
  template <class T>
  Looks& value(const T& value) {
    return add(shown(value));
  }
  template <class T>
  Looks& named(std::string_view name, const T& value) {
    return add(std::string(name) + "=" + shown(value));
  }
  /// Only if it is not the default.
  template <class T>
  Looks& changed(std::string_view name, const T& value, const std::type_identity_t<T>& usual) {
    return value == usual ? *this : named(name, value);
  }
  const std::string& text() const { return text_; }

 private:
  static std::string shown(bool value) { return value ? "True" : "False"; }
  static std::string shown(std::int64_t value) { return std::to_string(value); }
  static std::string shown(double value);
  static std::string shown(const std::string& value) { return value; }
  static std::string shown(const Ints& values);
  static std::string shown(const Sizes& sizes);
  static std::string shown(const std::vector<Scalar>& numbers);
  static std::string shown(const Padding& padding);
  template <class T>
  static std::string shown(const std::optional<T>& value) {
    return value ? shown(*value) : "None";
  }
  Looks& add(const std::string& part);

  std::string text_;
};

}  // namespace lento::nn
