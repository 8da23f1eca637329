// How an op is repeated for a batch of examples: the `batch` entries of the catalogue.
#pragma once

#include "autograd/log.h"
#include "ir/op_number.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lento {

/// In each way the examples of a batched operand lie along its first axis.
enum class BatchRule : std::uint8_t {
  align,    // operands broadcast: axes of length 1 behind the batch axis where one has fewer
  shift,    // all operands batched; axes counted one further, shapes and paddings one longer
  leading,  // all operands batched; the op takes any number of leading axes
  product,  // matrix product: leading axes broadcast
  merge,    // (N, …): examples and N as one axis, when the first operand alone is batched
  index,    // indices over the first axes: one more, which counts the examples
  take,     // slices along an axis at indices
  search,   // the sorted values are the same for all
  draw,     // random numbers: other ones for each example
  steps,    // recurrence: (length, N, …) and (N, …); examples and N as one axis, when the weights are the same for all
  each,     // example by example
};

/// Generated from the catalogue.
BatchRule batch_rule(Op op);

/// An operand of an op that is repeated: for all examples, or the same for each.
struct BatchedOperand {
  LoggedOperand one;  // as it was for one example
  Tensor all;         // undefined when it is the same for each
  bool batched() const { return all.defined(); }
};

/// A value that is the same for each example, for all of them.
Tensor for_each_example(const Tensor& one, std::int64_t size);

/// The results of the op for all examples, along their first axis.
std::vector<Tensor> repeat_batched(const LoggedOp& op, std::span<const BatchedOperand> operands, std::int64_t size);

}  // namespace lento
