// What is known of each primitive, as data: for printers, the parser, the verifier and whoever walks records without
// knowing the ops. The descriptors of the catalogue's ops are generated (ir/op_table.gen.cpp); others can be added
// while the program runs.
#pragma once

#include "ir/attrs.h"
#include "ir/op_number.h"
#include "ir/shape_table.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace lento {

struct ElementwiseRule;  // ir/infer_elementwise.h

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
  bool is_extent = false;  // an attribute that follows from the extents of operands and results, and says nothing else
  std::span<const std::string_view> choices = {};
};

/// Infers the results of a record from its tensor operands; numbers are left out. `results` has one element per result
/// and comes in as recorded. Returns the attributes as they are recorded: axes counted from the front, no lengths left
/// to be computed. Throws when the operands do not fit.
using InferNode = AttrsId (*)(std::span<const Meta> operands, AttrsId attrs, std::span<Meta> results);

struct OpInfo {
  std::string_view name;
  Family family = Family::bookkeeping;
  std::uint8_t result_count = 1;
  std::span<const ArgInfo> args = {};
  const ElementwiseRule* rule = nullptr;  // of elementwise ops
  InferNode infer = nullptr;              // of all others, except bookkeeping
  // The result is the first operand with some elements replaced: it may happen in the operand's memory.
  bool updates_first_operand = false;

  bool has_extents() const;
  bool elementwise() const { return rule != nullptr; }
};

/// The descriptor of an op. `op` must be one: see is_op.
const OpInfo& info(Op op);

/// True when this number is an op's.
bool is_op(Op op);

/// Every op there is now, in the order of their numbers; op::leaf and op::result are the first two.
std::vector<Op> all_ops();

/// The op of this name, or nothing.
std::optional<Op> find_op(std::string_view name);

/// Adds an op that the catalogue does not have and returns its number. What `op` refers to must live as long as the
/// process. Throws ValueError when the name is taken, when there is neither a rule nor a way to infer its results, or
/// when there is no number left. Safe while other threads record and compile.
Op add_op(const OpInfo& op);

/// The name of a family: "index_map".
std::string_view name(Family family);

}  // namespace lento
