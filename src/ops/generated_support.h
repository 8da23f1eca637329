// What the generated functions share: checks of their arguments, and conversions to a common dtype.
#pragma once

#include <lento/operand.h>
#include <lento/tensor.h>

#include "base/source.h"
#include "tensor/promotion.h"
#include "tensor/record.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace lento {

/// The line of a call that starts with an operand, which carries it.
inline Source source_of(const Operand& operand) { return {operand.unit(), operand.position(), 0}; }

/// The tensor of an argument that may have none: for CallOperands.
inline const Tensor* tensor_in(const Tensor& tensor) { return &tensor; }
inline const Tensor* tensor_in(const Operand& operand) { return operand.is_tensor() ? &operand.tensor() : nullptr; }
template <class T>
const Tensor* tensor_in(const std::optional<T>& argument) {
  return argument ? tensor_in(*argument) : nullptr;
}

// --- choices ---

/// Throws ValueError with the list of choices unless `given` is one of them; returns which.
std::size_t find_choice(std::string_view argument, std::string_view given, std::span<const std::string_view> choices);

inline void check_choice(std::string_view argument, std::string_view given,
                         std::initializer_list<std::string_view> choices) {
  find_choice(argument, given, {choices.begin(), choices.size()});
}
inline void check_choice(std::string_view argument, std::optional<std::string_view> given,
                         std::initializer_list<std::string_view> choices) {
  if (given) check_choice(argument, *given, choices);
}

/// The enumerator of an attribute whose values stand in the order of `choices`.
template <class E>
E choose(std::string_view argument, std::string_view given, std::span<const std::string_view> choices) {
  return static_cast<E>(find_choice(argument, given, choices));
}
template <class E>
std::optional<E> choose(std::string_view argument, std::optional<std::string_view> given,
                        std::span<const std::string_view> choices) {
  return given ? std::optional(choose<E>(argument, *given, choices)) : std::nullopt;
}

// --- dtypes ---

/// The dtype that all of these are converted to.
template <class... Arguments>
DType common_dtype(const Arguments&... arguments) {
  DTypeJoin join;
  (join.add(arguments), ...);
  return join.result();
}

/// The same, with integers and bools as the default float.
template <class... Arguments>
DType common_float_dtype(const Arguments&... arguments) {
  const DType common = common_dtype(arguments...);
  return is_inexact(common) ? common : kDefaultFloat;
}

/// Throws DTypeError naming the argument unless the dtype is in the set.
void check_dtype(std::string_view argument, DType dtype, DTypeSet allowed);
inline void check_dtype(std::string_view argument, const Tensor& x, DTypeSet allowed) {
  check_dtype(argument, x.dtype(), allowed);
}
inline void check_dtype(std::string_view argument, const Operand& x, DTypeSet allowed) {
  check_dtype(argument, x.is_tensor() ? x.tensor().dtype() : default_dtype(x.scalar()), allowed);
}
inline void check_dtype(std::string_view argument, const Scalar& x, DTypeSet allowed) {
  check_dtype(argument, default_dtype(x), allowed);
}
template <class T>
void check_dtype(std::string_view argument, const std::optional<T>& x, DTypeSet allowed) {
  if (x) check_dtype(argument, *x, allowed);
}
template <class T>
void check_dtype(std::string_view argument, const std::vector<T>& xs, DTypeSet allowed) {
  for (const T& x : xs) check_dtype(argument, x, allowed);
}

inline std::optional<Tensor> cast(const std::optional<Tensor>& x, DType dtype) {
  return x ? std::optional(cast(*x, dtype)) : std::nullopt;
}
std::vector<Tensor> cast(const std::vector<Tensor>& xs, DType dtype);

/// An operand with its tensor converted; a number stays as it is. Lives as an argument, like the operand it stands for.
class CastOperand {
 public:
  CastOperand(const Operand& operand, DType dtype)
      : tensor_(operand.is_tensor() ? cast(operand.tensor(), dtype) : Tensor()),
        operand_(operand.is_tensor() ? Operand(tensor_, operand.unit(), operand.position()) : operand) {}
  CastOperand(const CastOperand&) = delete;
  CastOperand& operator=(const CastOperand&) = delete;

  operator const Operand&() const { return operand_; }

 private:
  Tensor tensor_;
  Operand operand_;
};

/// The same for an operand that may be missing.
class CastOptionalOperand {
 public:
  CastOptionalOperand(const std::optional<Operand>& operand, DType dtype) {
    if (!operand) return;
    if (operand->is_tensor()) {
      tensor_ = cast(operand->tensor(), dtype);
      operand_.emplace(tensor_, operand->unit(), operand->position());
    } else {
      operand_ = operand;
    }
  }
  CastOptionalOperand(const CastOptionalOperand&) = delete;
  CastOptionalOperand& operator=(const CastOptionalOperand&) = delete;

  operator const std::optional<Operand>&() const { return operand_; }

 private:
  Tensor tensor_;
  std::optional<Operand> operand_;
};

// --- operands of records ---

/// The operands of a record that has a list among them.
class OperandList {
 public:
  void add(const Tensor& tensor) { operands_.emplace_back(tensor); }
  void add(const std::vector<Tensor>& tensors) { operands_.insert(operands_.end(), tensors.begin(), tensors.end()); }
  void add(const Scalar& number, DType dtype) { operands_.push_back(RecordOperand::number(number, dtype)); }
  void add(const std::vector<Scalar>& numbers, DType dtype) {
    for (const Scalar& number : numbers) add(number, dtype);
  }
  operator std::span<const RecordOperand>() const { return operands_; }

 private:
  std::vector<RecordOperand> operands_;
};

}  // namespace lento
