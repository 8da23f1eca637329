// Record: one op as it stands in a tape or a graph. Plain bytes: compared, hashed and copied as such.
#pragma once

#include <lento/dtype.h>
#include <lento/scalar.h>

#include "ir/attrs.h"
#include "ir/op_number.h"
#include "ir/shape_table.h"

#include <cstdint>
#include <type_traits>

namespace lento {

/// An operand: an earlier record, a leaf (a buffer) or a number, by index in the owner's column of that kind.
struct OperandRef {
  enum class Kind : std::uint32_t { record = 0, leaf = 1, scalar = 2 };

  std::uint32_t bits = 0;

  static constexpr std::uint32_t kMaxIndex = (1U << 30) - 1;
  static constexpr OperandRef record(std::uint32_t index) { return {index}; }
  static constexpr OperandRef leaf(std::uint32_t index) { return {index | (1U << 30)}; }
  static constexpr OperandRef scalar(std::uint32_t index) { return {index | (2U << 30)}; }
  constexpr Kind kind() const { return static_cast<Kind>(bits >> 30); }
  constexpr std::uint32_t index() const { return bits & kMaxIndex; }
  friend constexpr bool operator==(OperandRef, OperandRef) = default;
};

struct Record {
  static constexpr std::uint8_t kInlineOperands = 3;
  static constexpr std::uint8_t kOperandList = 255;  // operands[0].bits = offset, operands[1].bits = count in the list

  Op op;                           // what is computed; op::leaf once it has been, op::result for a further result
  DType dtype;                     // of the result
  std::uint8_t operand_count = 0;  // 0 to 3 inline, or kOperandList
  ShapeId shape{};                 // of the result
  AttrsId attrs{};                 // structural arguments
  OperandRef operands[3] = {};     // unused ones are zero
  std::uint32_t result_index = 0;  // op::result: which further result (1, 2, …) of operands[0]
  std::uint32_t padding = 0;       // always zero: records are compared as bytes
};
static_assert(sizeof(Record) == 32);
static_assert(std::is_trivially_copyable_v<Record>);
static_assert(std::has_unique_object_representations_v<Record>);

/// A number operand: its value is an argument of the plan, its dtype is part of the structure.
struct ScalarArgument {
  Scalar value;
  DType dtype = DType::float32;
};

}  // namespace lento
