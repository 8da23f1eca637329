// What is known of each primitive, as data: for printers, the parser, the verifier and whoever walks records without
// knowing the ops. The table itself is generated (ir/op_table.gen.cpp) from the catalogue.
#pragma once

#include <lento/export.h>

#include "ir/op.gen.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lento {

struct ElementwiseRule;  // ir/infer_elementwise.h

/// The kind of computation, which decides how an op may be scheduled.
enum class Family : std::uint8_t {
  bookkeeping,  // Op::leaf, Op::result
  elementwise,
  creation,
  cast,
  reduction,
  scan,
  index_map,
  gather,
  scatter,
  sort,
  contraction,
  window,
  linalg,
  fft,
  random,
};

/// How a record holds an argument. The first five are operands, in the order of the arguments; a list takes what the
/// others leave, and an op has at most one. The rest are attributes, encoded one after the other as described; an
/// optional attribute starts with 1 when it is there and is a single 0 when it is not.
enum class ArgKind : std::uint8_t {
  tensor,
  tensor_list,
  operand,      // a tensor or a number
  number,       // an argument of the plan
  number_list,  // several of them
  int_,         // the value
  ints,         // the length, then the values
  bool_,        // 0 or 1
  dtype,        // the value of the enum
  float_,       // the bits of the double
  choice,       // the index in `choices`
  device,       // neither: where the record is made
};

constexpr bool is_operand(ArgKind kind) { return kind <= ArgKind::number_list; }
constexpr bool is_attribute(ArgKind kind) { return kind > ArgKind::number_list && kind < ArgKind::device; }

struct ArgInfo {
  std::string_view name;
  ArgKind kind = ArgKind::tensor;
  bool optional = false;
  std::span<const std::string_view> choices = {};
};

struct OpInfo {
  std::string_view name;
  Family family = Family::bookkeeping;
  std::uint8_t result_count = 1;
  std::span<const ArgInfo> args = {};
  const ElementwiseRule* rule = nullptr;  // of elementwise ops

  bool elementwise() const { return rule != nullptr; }
};

LENTO_API const OpInfo& info(Op op);

/// The op of this name, or nothing.
LENTO_API std::optional<Op> find_op(std::string_view name);

/// Ops whose result is their first operand with some elements replaced: they may happen in its memory.
LENTO_API bool updates_first_operand(Op op);

/// The name of a family: "index_map".
LENTO_API std::string_view name(Family family);

}  // namespace lento
