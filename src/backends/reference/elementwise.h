// The loop around every elementwise kernel. The generated code gives the inner function; this gives broadcasting.
#pragma once

#include "backends/reference/array.h"

#include <cstdint>
#include <span>

namespace lento::reference {

/// A generated inner loop: computes `count` elements of `out`, which is contiguous. Operand j is read at
/// `inputs[j]` + k * `strides[j]` elements for k = 0 … count - 1; a stride may be 0 or anything else.
using ElementwiseLoop = void (*)(std::int64_t count, void* out, const void* const* inputs, const std::int64_t* strides);

/// Runs `loop` over the shape of `out`, to which every operand's shape can be broadcast.
void run_elementwise(ElementwiseLoop loop, const Array& out, std::span<const KernelOperand> operands);

}  // namespace lento::reference
