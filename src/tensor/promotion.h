// Which dtype operands have together (clause T3): tensors promote, numbers are weak. Recording, the generated
// functions, the helpers of composites and result_type all ask here.
#pragma once

#include <lento/operand.h>
#include <lento/tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace lento {

/// The dtype of a number on its own: bool, int64 (uint64 from 2^63 on), float32 or complex64.
DType default_dtype(const Scalar& number);

/// The dtype a number gives together with tensors of `dtype`. The kind of the number decides, not its value: an integer
/// of 2^63 or more gives int64 beside bool tensors, like any other, and does not fit.
inline DType weak_promote(DType dtype, const Scalar& number) {
  if (number.is_complex()) return is_inexact(dtype) ? complex_type(dtype) : kDefaultComplex;
  if (number.is_floating()) return is_inexact(dtype) ? dtype : kDefaultFloat;
  if (number.is_integer()) return is_bool(dtype) ? kDefaultInt : dtype;
  return dtype;
}

/// False for an integer that an integer dtype does not hold. Other numbers are converted, whatever is lost.
inline bool fits(const Scalar& number, DType dtype) {
  if (!number.is_integer() || !is_integer(dtype)) return true;
  if (dtype == DType::uint64) return number.kind() == Scalar::Kind::uint_ || number.to<std::int64_t>() >= 0;
  if (number.kind() == Scalar::Kind::uint_) return false;
  const std::int64_t value = number.to<std::int64_t>();
  const int bits = static_cast<int>(size_of(dtype) * 8);
  if (is_unsigned_integer(dtype)) return value >= 0 && value < (std::int64_t{1} << bits);
  return bits == 64 || (value >= -(std::int64_t{1} << (bits - 1)) && value < (std::int64_t{1} << (bits - 1)));
}

/// Collects the dtypes of operands, in any order: tensors promote, numbers are weak; numbers alone promote like tensors
/// of their default dtypes.
class DTypeJoin {
 public:
  void add(DType dtype) { tensors_ = tensors_ ? promote(*tensors_, dtype) : dtype; }
  void add(const Scalar& number);
  void add(const Tensor& tensor) { add(tensor.dtype()); }
  void add(const Operand& operand) {
    if (operand.is_tensor()) {
      add(operand.tensor());
    } else {
      add(operand.scalar());
    }
  }
  template <class T>
  void add(const std::optional<T>& argument) {
    if (argument) add(*argument);
  }
  template <class T>
  void add(const std::vector<T>& arguments) {
    for (const T& argument : arguments) add(argument);
  }
  /// The default float when there was nothing to collect.
  DType result() const;

 private:
  std::optional<DType> tensors_;
  std::optional<DType> numbers_;     // their default dtypes, promoted
  std::optional<Scalar> strongest_;  // the number of the highest kind: beside tensors no other one counts
};

}  // namespace lento
