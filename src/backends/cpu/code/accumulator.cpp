#include "backends/cpu/code/accumulator.h"

namespace lento::cpu {

llvm::Value* element_to_combine(KernelBody& body, const Accumulator& accumulator) {
  const std::uint16_t operand = body.kernel.body[accumulator.at].inputs[0];
  llvm::Value* value = body.values[operand];
  const DType dtype = body.kernel.body[operand].dtype;
  if (is_bool(accumulator.dtype)) return body.emitter.cast(value, dtype, DType::bool_);
  return is_bool(dtype) ? body.emitter.cast(value, dtype, accumulator.dtype) : value;
}

}  // namespace lento::cpu
