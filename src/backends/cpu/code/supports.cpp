// What the code generator takes.
#include "backends/cpu/code/jit.h"

#include "backends/reference/dispatch.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_reduction.gen.h"

#include <algorithm>

namespace lento::cpu {

bool supports(Op op, DType dtype) {
  switch (op) {
    case op::reduce_sum:
    case op::reduce_any:
    case op::reduce_all:
      return true;
    case op::arg_max:
    case op::arg_min:
    case op::reduce_prod:  // of complex numbers has no identity to fill lanes with
    case op::reduce_max:
    case op::reduce_min:
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
