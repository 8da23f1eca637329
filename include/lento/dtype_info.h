// Questions about dtypes and shapes, as in the Array API: what a dtype can hold, what operands are converted to, what
// shapes broadcast to.
#pragma once

#include <lento/dtype.h>
#include <lento/export.h>
#include <lento/ints.h>
#include <lento/scalar.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>

namespace lento {

class Tensor;
class Subscript;

/// What a floating-point dtype can hold.
struct FloatInfo {
  DType dtype;
  int bits;
  double eps;              // from 1 to the next larger number
  double max;              // the largest finite number
  double min;              // -max
  double smallest_normal;  // the smallest positive number with all digits
  double tiny;             // the same, by NumPy's other name
};
/// What this dtype can hold; of a complex one, its parts. Throws DTypeError unless it is floating or complex.
LENTO_API FloatInfo finfo(DType dtype, std::source_location site = std::source_location::current());

/// What an integer dtype can hold.
struct IntegerInfo {
  DType dtype;
  int bits;
  std::int64_t min;
  std::uint64_t max;
};
/// What this dtype can hold. Throws DTypeError unless it is an integer.
LENTO_API IntegerInfo iinfo(DType dtype, std::source_location site = std::source_location::current());

/// The dtype that operands of these two dtypes are converted to.
inline DType promote_types(DType a, DType b) { return promote(a, b); }

/// Whether every value of one dtype survives as the other: promotion of both gives `to`.
inline bool can_cast(DType from, DType to) { return promote(from, to) == to; }
/// The same for the elements of a tensor.
LENTO_API bool can_cast(const Tensor& from, DType to, std::source_location site = std::source_location::current());

/// What result_type takes: a tensor, a dtype, or a number, which is weak.
class LENTO_API DTypeSource {
 public:
  DTypeSource(DType dtype) : dtype_(dtype) {}
  DTypeSource(const Tensor& x, std::source_location site = std::source_location::current());
  DTypeSource(const Subscript& part, std::source_location site = std::source_location::current());
  DTypeSource(const Scalar& number) : number_(number) {}
  template <Number T>
  DTypeSource(T number) : number_(number) {}

  /// Nothing for a number.
  std::optional<DType> dtype() const { return dtype_; }
  const Scalar& number() const { return number_; }

 private:
  std::optional<DType> dtype_;
  Scalar number_;
};
/// The dtype of an operation on these; throws ValueError when there are none.
LENTO_API DType result_type(std::span<const DTypeSource> sources,
                            std::source_location site = std::source_location::current());
/// result_type(x, DType::float64, 1.5)
template <std::convertible_to<DTypeSource>... Sources>
DType result_type(const DTypeSource& first, const Sources&... rest) {
  const DTypeSource all[] = {first, rest...};
  return result_type(std::span<const DTypeSource>(all));
}

/// What isdtype asks for: a dtype, or one of the kinds "bool", "signed integer", "unsigned integer", "integral",
/// "real floating", "complex floating" and "numeric".
class LENTO_API DTypeKind {
 public:
  DTypeKind(DType dtype) : set_(dtype_bit(dtype)) {}
  /// Throws ValueError for other words.
  DTypeKind(std::string_view kind, std::source_location site = std::source_location::current());
  DTypeKind(const char* kind, std::source_location site = std::source_location::current())
      : DTypeKind(std::string_view(kind), site) {}

  DTypeSet set() const { return set_; }

 private:
  DTypeSet set_;
};
/// Whether a dtype is of a kind: isdtype(x.dtype(), "integral").
inline bool isdtype(DType dtype, const DTypeKind& kind) { return contains(kind.set(), dtype); }
/// Whether it is of one of these kinds.
inline bool isdtype(DType dtype, std::initializer_list<DTypeKind> kinds) {
  DTypeSet all = 0;
  for (const DTypeKind& kind : kinds) all |= kind.set();
  return contains(all, dtype);
}

/// The shape that tensors of these shapes broadcast to: broadcast_shapes({{2, 1}, {3}, {1, 1}}). Throws ShapeError when
/// they do not, or when no tensor can have that shape.
LENTO_API Shape broadcast_shapes(std::initializer_list<Shape> shapes,
                                 std::source_location site = std::source_location::current());
LENTO_API Shape broadcast_shapes(std::span<const Shape> shapes,
                                 std::source_location site = std::source_location::current());
/// broadcast_shapes({2, 1}, {3})
LENTO_API Shape broadcast_shapes(const Shape& a, const Shape& b,
                                 std::source_location site = std::source_location::current());

}  // namespace lento
