// Recording an op whose type, shape and attributes are decided and interned already: what is left is to append it.
#pragma once

#include <lento/tensor.h>

#include "ir/graph.h"
#include "ir/record.h"
#include "tensor/state.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace lento {

struct KnownOp {
  Op op;
  DType dtype;
  std::uint8_t device;
  ShapeId shape;
  AttrsId attrs;
};
inline constexpr std::size_t kMostKnownOperands = 12;

/// Appends an op of one result; its operands are the tensors, then the integers, kMostKnownOperands at most. Gives an
/// undefined tensor, and records nothing, where a closer look is needed: somebody watches what is recorded, or a tensor
/// is pending in another thread, has failed, or is on another device. Never waits.
Tensor record_known(const KnownOp& known, std::span<TensorState* const> tensors,
                    std::span<const std::int64_t> integers);
/// The same for an op of a number.
Tensor record_known(const KnownOp& known, const ScalarArgument& number);

}  // namespace lento
