// Operand: a tensor or a number, with the line of the call. What binary operators take, so that `x * 0.1` and `0.1 * x`
// need no overloads and both know where they stand in the user's code.
#pragma once

#include <lento/export.h>
#include <lento/scalar.h>

#include <cstdint>
#include <source_location>

namespace lento {

class Tensor;
class Subscript;

/// Lives only as an argument: it points at the tensor, which must outlive the call.
class Operand {
 public:
  Operand(const Tensor& tensor, const std::source_location& site = std::source_location::current())
      : tensor_(&tensor), unit_(site.file_name()), position_(site.line()) {}
  /// A part of a tensor, as in `x[{0}] + 1`.
  inline Operand(const Subscript& part, const std::source_location& site = std::source_location::current());
  template <Number T>
  Operand(T number, const std::source_location& site = std::source_location::current())
      : scalar_(number), unit_(site.file_name()), position_(site.line()) {}
  Operand(const Scalar& number, const std::source_location& site = std::source_location::current())
      : scalar_(number), unit_(site.file_name()), position_(site.line()) {}

  /// For front ends in other languages, whose lines std::source_location cannot see. Explicit, so that `x[0] = {1, 0,
  /// 2}` does not compile.
  explicit Operand(const Tensor& tensor, const void* unit, std::uint32_t position)
      : tensor_(&tensor), unit_(unit), position_(position) {}
  explicit Operand(const Scalar& number, const void* unit, std::uint32_t position)
      : scalar_(number), unit_(unit), position_(position) {}

  bool is_tensor() const { return tensor_ != nullptr; }
  const Tensor& tensor() const { return *tensor_; }
  const Scalar& scalar() const { return scalar_; }
  const void* unit() const { return unit_; }
  std::uint32_t position() const { return position_; }

 private:
  const Tensor* tensor_ = nullptr;  // null for a number
  Scalar scalar_;
  const void* unit_;        // file name or foreign code unit, see src/base/source.h
  std::uint32_t position_;  // line or foreign position
};

}  // namespace lento
