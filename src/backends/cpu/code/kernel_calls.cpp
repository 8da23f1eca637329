#include "backends/cpu/code/kernel_calls.h"

#include "backends/cpu/code/kernel_loops.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace lento::cpu {

namespace {

/// The address of a counted operand is a number, and may be 0.
void move(std::byte*& address, std::int64_t bytes) {
  address = std::bit_cast<std::byte*>(std::bit_cast<std::int64_t>(address) + bytes);
}

}  // namespace

/// Strides and addresses for one call; a body of kMaxKernelBody instructions can use no more operands than that.
struct KernelCalls::Frame {
  CallFrame frame{};
  std::byte* addresses[kMaxKernelBody];
  std::int64_t strides[3][kMaxKernelBody];
};

KernelCalls::KernelCalls(const Kernel& kernel, KernelFunction function)
    : form_(kernel.form), dims_(kernel.dims), function_(function) {
  for (const KernelOperandInfo& operand : kernel.operands) {
    if (operand.output) outputs_.push_back(element_bytes_.size());
    element_bytes_.push_back(static_cast<std::int64_t>(size_of(operand.dtype)));
  }
}

/// In bytes.
std::int64_t KernelCalls::stride(const KernelArguments& arguments, std::size_t operand, std::size_t dimension) const {
  return arguments.strides[operand * dims_ + dimension] * element_bytes_[operand];
}

/// Moves addresses to the point of the outer dimensions whose number is `row`.
void KernelCalls::move_to(std::byte** addresses, const KernelArguments& arguments, std::int64_t row,
                          std::int64_t* position) const {
  for (std::size_t d = dims_ - (form_ == LoopForm::column ? 2 : 1); d-- > 0;) {
    position[d] = row % arguments.sizes[d];
    row /= arguments.sizes[d];
    for (std::size_t j = 0; j < element_bytes_.size(); ++j) move(addresses[j], position[d] * stride(arguments, j, d));
  }
}

/// Whether all rows of all outputs begin at lines of the cache.
bool KernelCalls::can_stream(std::byte* const* addresses, const KernelArguments& arguments) const {
  constexpr std::uintptr_t kLine = 64;
  return std::all_of(outputs_.begin(), outputs_.end(), [&](std::size_t j) {
    std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(addresses[j]);
    for (std::size_t d = 0; d + 1 < dims_; ++d) bits |= static_cast<std::uintptr_t>(stride(arguments, j, d));
    return bits % kLine == 0;
  });
}

/// What all calls with these arguments have in common, standing at the first point of the outer dimensions.
void KernelCalls::prepare(Frame& to, const KernelArguments& arguments, std::int64_t inner_begin) const {
  const std::size_t inside = form_ == LoopForm::column ? 2 : 1;
  const std::size_t outer = dims_ - inside;
  CallFrame& frame = to.frame;
  frame.numbers = static_cast<const std::byte*>(arguments.numbers);
  frame.picked = arguments.picked;
  frame.addresses = to.addresses;
  frame.row_strides = to.strides[0];
  frame.inner_strides = to.strides[1];
  frame.reduced_strides = to.strides[2];
  frame.rows = 1;
  frame.count = arguments.sizes[dims_ - 1];
  frame.reduced_end = arguments.sizes[dims_ - inside];
  frame.end_pass = std::numeric_limits<std::int64_t>::max();
  frame.store_rows = 1;
  for (std::size_t j = 0; j < element_bytes_.size(); ++j) {
    to.strides[0][j] = outer > 0 ? stride(arguments, j, outer - 1) : 0;
    to.strides[1][j] = stride(arguments, j, dims_ - 1);
    to.strides[2][j] = inside == 2 ? stride(arguments, j, dims_ - 2) : 0;
    to.addresses[j] = static_cast<std::byte*>(arguments.addresses[j]);
    move(to.addresses[j], inner_begin * to.strides[1][j]);
  }
}

void KernelCalls::run(const KernelArguments& arguments, const KernelRange& range, bool stream) const {
  const std::size_t operands = element_bytes_.size();
  const std::size_t outer = dims_ - (form_ == LoopForm::column ? 2 : 1);
  std::int64_t left = range.end - range.begin;
  const bool by_rows = form_ == LoopForm::row;
  if (left <= 0 || (!by_rows && range.inner_end <= range.inner_begin)) return;
  Frame whole;
  prepare(whole, arguments, by_rows ? 0 : range.inner_begin);
  CallFrame& frame = whole.frame;
  if (!by_rows) frame.count = range.inner_end - range.inner_begin;
  std::int64_t position[kMaxKernelDims] = {};
  move_to(whole.addresses, arguments, range.begin, position);
  frame.stream = stream && can_stream(whole.addresses, arguments) ? 1 : 0;
  if (outer == 0) {
    function_(&frame);
    return;
  }
  const std::size_t last = outer - 1;
  while (true) {
    frame.rows = std::min(left, arguments.sizes[last] - position[last]);
    function_(&frame);
    left -= frame.rows;
    if (left == 0) return;
    // On to the next row of rows: back to the start of the last dimension, and one further in those before it.
    for (std::size_t j = 0; j < operands; ++j) move(whole.addresses[j], -position[last] * whole.strides[0][j]);
    position[last] = 0;
    for (std::size_t d = last; d-- > 0;) {
      const bool carry = ++position[d] == arguments.sizes[d];
      const std::int64_t moved = carry ? 1 - arguments.sizes[d] : 1;
      for (std::size_t j = 0; j < operands; ++j) move(whole.addresses[j], moved * stride(arguments, j, d));
      if (!carry) break;
      position[d] = 0;
    }
  }
}

void KernelCalls::run_part(const KernelArguments& arguments, const KernelPart& part) const {
  Frame whole;
  prepare(whole, arguments, 0);
  std::int64_t position[kMaxKernelDims] = {};
  move_to(whole.addresses, arguments, part.row, position);
  CallFrame& frame = whole.frame;
  frame.reduced_begin = part.begin;
  frame.reduced_end = part.end;
  frame.first_pass = part.first_pass;
  frame.end_pass = part.end_pass;
  frame.store_rows = part.store_rows ? 1 : 0;
  frame.results = part.results;
  frame.result_stride = part.result_stride;
  function_(&frame);
}

}  // namespace lento::cpu
