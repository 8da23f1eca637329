// What the code generator takes.
#include "backends/cpu/code/jit.h"

#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "reference/kernels.gen.h"

#include <algorithm>

namespace lento::cpu {

bool supports(Op op, DType dtype) {
  switch (op) {
    case Op::reduce_sum:
    case Op::reduce_any:
    case Op::reduce_all:
      return true;
    case Op::arg_max:
    case Op::arg_min:
    case Op::reduce_prod:  // of complex numbers has no identity to fill lanes with
    case Op::reduce_max:
    case Op::reduce_min:
      return !is_complex(dtype);
    default:
      // What has no code of its own calls the reference's loop.
      return info(op).elementwise() && reference::find_elementwise(op, dtype) != nullptr;
  }
}

bool can_generate(const Kernel& kernel) {
  return kernel.operands.size() <= kMaxKernelBody &&
         std::all_of(kernel.body.begin(), kernel.body.end(), [&](const Instruction& i) {
           const bool has_op = i.kind == Instruction::Kind::compute || i.kind == Instruction::Kind::reduce;
           return !has_op || supports(i.op, kernel.body[i.inputs[i.input_count - 1]].dtype);
         });
}

}  // namespace lento::cpu
