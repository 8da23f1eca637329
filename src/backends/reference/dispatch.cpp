#include "backends/reference/dispatch.h"

#include "backends/reference/bad_values.h"
#include "base/fail.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"

#include <cstring>

namespace lento::reference {

std::vector<Array> arrays_of(std::span<const Argument> arguments) {
  std::vector<Array> arrays;
  arrays.reserve(arguments.size());
  for (const Argument& argument : arguments) arrays.push_back(argument.array());
  return arrays;
}

std::vector<Scalar> numbers_of(std::span<const Argument> arguments) {
  std::vector<Scalar> numbers;
  numbers.reserve(arguments.size());
  for (const Argument& argument : arguments) numbers.push_back(argument.number());
  return numbers;
}

void run_node(const NodeCall& call, StatusWord* words) {
  std::vector<Argument> arguments;
  arguments.reserve(call.operands.size());
  for (const NodeCall::Tensor& operand : call.operands) {
    if (operand.number != nullptr) {
      arguments.emplace_back(operand.number->value, operand.number->dtype);
    } else {
      arguments.emplace_back(Array(operand.data, operand.dtype, *operand.shape));
    }
  }
  std::vector<Array> results;
  results.reserve(call.results.size());
  std::vector<std::vector<std::byte>> forgotten;
  for (const NodeCall::Tensor& result : call.results) {
    void* data = result.data;
    // One byte more, since an empty result has an address too.
    if (data == nullptr) data = forgotten.emplace_back(byte_size(result.dtype, *result.shape) + 1).data();
    results.emplace_back(data, result.dtype, *result.shape);
  }
  if (info(call.op).updates_first_operand && results[0].data() != call.operands[0].data) {
    std::memcpy(results[0].data(), call.operands[0].data, byte_size(call.results[0].dtype, *call.results[0].shape));
  }
  const TellInWords scope(words);
  run(call.op, results, arguments, call.attrs);
}

void run_elementwise_op(Op op, const Array& out, std::span<const Argument> arguments) {
  if (info(op).rule == nullptr) fail<BackendError>("there is no reference kernel");
  // All operands behind the condition have the dtype that the op computes in.
  const DType compute = arguments[info(op).rule->leading_condition ? 1 : 0].dtype();
  const ElementwiseLoop loop = find_elementwise(op, compute);
  if (loop == nullptr) fail<BackendError>("there is no reference kernel for {}", compute);
  std::vector<KernelOperand> operands;
  operands.reserve(arguments.size());
  for (const Argument& argument : arguments) {
    if (argument.is_array()) {
      operands.emplace_back(argument.array());
    } else {
      operands.emplace_back(argument.number(), argument.dtype());
    }
  }
  run_elementwise(loop, out, operands);
}

}  // namespace lento::reference
