// How the function of a kernel is called: once for each row of rows of the part of the iteration space that is wanted.
// Nothing of LLVM is in here, so that code for another processor is called by the same loops (tests/isa).
#pragma once

#include "compiler/kernel.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lento::cpu {

struct CallFrame;
using KernelFunction = void (*)(const CallFrame*);

/// Some passes of a kernel that reduces, over a part of the reduced dimension, at one point of the outer dimensions and
/// along all of a column kernel's last one. The parts of a pass make partial results, which whoever runs them combines
/// before the next pass (long_reduction.h).
struct KernelPart {
  std::int64_t row = 0;    // the point of the outer dimensions, flattened
  std::int64_t begin = 0;  // along the reduced dimension: a multiple of kReductionBlock
  std::int64_t end = 0;
  std::int64_t first_pass = 0;
  std::int64_t end_pass = 0;
  bool store_rows = false;
  std::byte* results = nullptr;  // slots as result_slots() tells, `result_stride` bytes apart: of passes before they
                                 // are read, of these passes written
  std::int64_t result_stride = 0;
};

/// Calls the function of one kernel, of which only the form, the dimensions and the operands are looked at.
class KernelCalls {
 public:
  KernelCalls(const Kernel& kernel, KernelFunction function);

  /// As KernelCode::run and KernelCode::run_part (jit.h).
  void run(const KernelArguments& arguments, const KernelRange& range, bool stream) const;
  void run_part(const KernelArguments& arguments, const KernelPart& part) const;

 private:
  struct Frame;
  std::int64_t stride(const KernelArguments& arguments, std::size_t operand, std::size_t dimension) const;
  void move_to(std::byte** addresses, const KernelArguments& arguments, std::int64_t row, std::int64_t* position) const;
  bool can_stream(std::byte* const* addresses, const KernelArguments& arguments) const;
  void prepare(Frame& to, const KernelArguments& arguments, std::int64_t inner_begin) const;

  LoopForm form_;
  std::size_t dims_;
  std::vector<std::int64_t> element_bytes_;  // one per operand
  std::vector<std::size_t> outputs_;         // operands
  KernelFunction function_;
};

}  // namespace lento::cpu
