// Op: the number of a primitive, an index of the table of descriptors (ir/op.h). Each family has a block of numbers of
// its own, so that they stay when another family grows. The constants are generated, one header per family
// (ir/op_elementwise.gen.h: op::add, op::exp, …); a file includes those of the families it names.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lento {

/// The kind of computation, which decides how an op may be scheduled.
enum class Family : std::uint8_t {
  bookkeeping,  // op::leaf, op::result
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

/// Has no enumerators: which ops there are is known at run time alone.
enum class Op : std::uint16_t;

/// Room for the ops of a family. The generator refuses a catalogue that needs more.
inline constexpr std::uint16_t kFamilyOps = 32;
inline constexpr std::uint16_t kElementwiseOps = 256;
inline constexpr std::uint16_t kFirstElementwiseOp = 512;
/// Ops that are added at run time (add_op) are numbered from here.
inline constexpr std::uint16_t kFirstAddedOp = kFirstElementwiseOp + kElementwiseOps;
/// Every op's number is below this.
inline constexpr std::uint16_t kMaxOps = 1024;

/// The number of the catalogue's op that stands at `index` in its family.
constexpr Op op_number(Family family, std::uint16_t index) {
  const int first = family == Family::elementwise ? kFirstElementwiseOp : static_cast<int>(family) * kFamilyOps;
  return static_cast<Op>(first + index);
}

static_assert(static_cast<std::uint16_t>(op_number(Family::random, kFamilyOps)) <= kFirstElementwiseOp);

namespace op {
inline constexpr Op leaf = op_number(Family::bookkeeping, 0);    // a value that is already there: a buffer
inline constexpr Op result = op_number(Family::bookkeeping, 1);  // a further result of an op that has several
}  // namespace op

}  // namespace lento
