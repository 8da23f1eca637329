// Kernel: one loop nest, the only thing a code generator reads. It runs over an iteration space of a few dimensions,
// loads elements through affine index maps, computes, reduces, and stores. Sizes, strides, addresses and numbers are
// arguments, so that one kernel serves every shape of its class.
//
// The body is a list in single-assignment form: an instruction uses values of instructions before it. In a kernel that
// reduces, a value is either an element value, different at every point, or a row value, the same all along the reduced
// dimension: a number, a load that does not move along that dimension, a reduction, or what is computed from such. What
// follows a reduction may use both, so softmax over rows is one kernel, run as three passes over each row:
//
//     kernel row dims=2 ($0: float32 one, $1: out float32 one) {
//       %0 = load $0 : float32
//       %1 = reduce_max(%0) : float32
//       %2 = subtract(%0, %1) : float32
//       %3 = exp(%2) : float32
//       %4 = reduce_sum(%3) : float32
//       %5 = divide(%3, %4) : float32
//       store $1, %5
//     }
//
// Rows of an operand may be picked by positions that another operand holds: `$1: float32 one at $0`.
//
// What is made of numbers and of where it stands, as iota and random_bits are, is made in the kernel. Its position is
// an operand without memory (`$0: counted one`), which is sliced, turned and broadcast as others are:
//
//     kernel map dims=2 ($0: counted zero, $1: counted one, $2: out bool one, #0: uint64, #1: uint64) {
//       %0 = number #0 : uint64
//       %1 = number #1 : uint64
//       %2 = iota(%0, %1) at $0 : int64
//       %3 = iota(%0, %1) at $1 : int64
//       %4 = less_equal(%3, %2) : bool
//       store $2, %4
//     }
//
// Elements are combined in the order that ir/reduction_order.h fixes for every backend; it depends on the number of
// reduced elements alone.
#pragma once

#include <lento/dtype.h>
#include <lento/scalar.h>

#include "ir/op_number.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lento {

inline constexpr std::size_t kMaxKernelDims = 8;
inline constexpr std::size_t kMaxKernelBody = 256;

enum class LoopForm : std::uint8_t {
  map,     // nothing is reduced
  row,     // the last dimension is reduced
  column,  // the last but one is reduced; its neighbours along the last one are independent of each other
};

/// How an operand moves along the last dimension; decides the code of a load or store. Other strides are arguments.
enum class InnerStride : std::uint8_t {
  zero,  // the same element all along
  one,   // neighbours in memory
  any,   // element by element
};

inline constexpr std::uint16_t kNotPicked = 0xffff;

/// A buffer the kernel reads or writes, or a position that it counts.
struct KernelOperandInfo {
  DType dtype = DType::float32;
  InnerStride inner = InnerStride::one;
  bool moves = true;  // along the reduced dimension; in a map it means nothing and is true
  bool output = false;
  // Another operand, of integers, whose element at a row says which part of this one the row reads: a row of an
  // embedding's table. It does not move along the inner dimension, nor along a reduced one.
  std::uint16_t picked_by = kNotPicked;
  // Not memory: its address is a number, and its element at a point is that number plus the strides to there. The dtype
  // is uint8, so that bytes and positions are the same.
  bool counted = false;

  friend bool operator==(const KernelOperandInfo&, const KernelOperandInfo&) = default;
};

struct Instruction {
  enum class Kind : std::uint8_t {
    load,     // the element of operand `index` at this point
    number,   // number `index` of the arguments, given in this dtype
    compute,  // elementwise primitive `op` of the inputs, with the rules of the graph: inputs have the dtype computed
              // in
    cast,     // inputs[0] converted to `dtype`, as op::astype does
    create,   // the element of `op`, iota or random_bits, at the position that operand `index` counts. Its inputs are
              // the op's two numbers: uint64, and of an iota of floating or complex numbers float64 or complex128
    reduce,   // inputs[0], an element value, combined over the reduced dimension by `op`
    store,    // inputs[0] into operand `index`
  };

  Kind kind = Kind::compute;
  Op op{};                       // of compute, create and reduce
  DType dtype = DType::float32;  // of the value, or of what is stored
  std::uint8_t input_count = 0;
  std::uint16_t index = 0;
  std::uint16_t inputs[3] = {};

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

struct Kernel {
  LoopForm form = LoopForm::map;
  std::uint8_t dims = 1;  // of the iteration space; the last is innermost. row: at least 1, column: at least 2
  std::vector<KernelOperandInfo> operands;
  std::vector<DType> numbers;
  std::vector<Instruction> body;

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// One flag per instruction: its value is a row value. All zero in a map.
std::vector<std::uint8_t> row_values(const Kernel& kernel);

/// The pass over the reduced dimension in which each instruction's value is first known: how many reductions stand
/// before it on its longest way. A reduction that runs in pass p has its value in pass p + 1.
std::vector<std::uint16_t> passes(const Kernel& kernel);

/// The dtype that an iota of this dtype is computed in, and its numbers have.
DType iota_dtype(DType dtype);

/// Throws BackendError naming the instruction and the rule: operands and inputs exist, dtypes fit, reductions read
/// element values, only element values are stored into operands that move, everything but stores is used.
void verify(const Kernel& kernel);

std::string to_string(const Kernel& kernel);
/// Of everything that decides the code.
std::uint64_t hash(const Kernel& kernel);

/// How an operand is read whose rows are picked: position p, or p + extent when it is negative, is that many strides
/// from the address. Positions are in range.
struct PickedRows {
  std::int64_t stride = 0;  // in elements
  std::int64_t extent = 0;
};

/// What a call of a kernel gets, as generated code reads it.
struct KernelArguments {
  const std::int64_t* sizes;    // one per dimension
  void* const* addresses;       // one per operand: of the element at position 0, …, 0; of a counted one that number
  const std::int64_t* strides;  // [operand * dims + dimension], in elements
  const void* numbers;          // 16 bytes each, as elements of their dtypes
  const PickedRows* picked;     // one per operand; of a kernel that picks no rows it may be null
};

/// The part of the iteration space a call does: points `begin` … `end` of the outer dimensions, flattened in row-major
/// order, and in a map or column kernel `inner_begin` … `inner_end` of the last one. The outer dimensions are all but
/// the last, and in a column kernel all but the last two. A part writes nothing that another one writes.
struct KernelRange {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t inner_begin;
  std::int64_t inner_end;
};

}  // namespace lento
