#include "ir/infer.h"

#include "ir/infer_elementwise.h"
#include "ir/op.h"

namespace lento {

AttrsId infer_node(Op op, std::span<const Meta> operands, AttrsId id, std::span<Meta> results) {
  const OpInfo& described = info(op);
  if (described.infer != nullptr) return described.infer(operands, id, results);
  results[0] = infer_elementwise(*described.rule, operands, results[0].dtype);
  return id;
}

}  // namespace lento
