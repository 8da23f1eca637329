// NodeCall: one op of a graph with the memory of everything it reads and writes. It is how an op runs that has neither
// code nor a call of its own on a device, and how the reference backend runs every op.
#pragma once

#include <lento/dtype.h>
#include <lento/ints.h>

#include "base/function_ref.h"
#include "base/source.h"
#include "ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lento {

/// Everything lies contiguous in the memory of one device.
struct NodeCall {
  struct Tensor {
    void* data = nullptr;
    DType dtype = DType::float32;
    const Shape* shape = nullptr;
    const ScalarArgument* number = nullptr;  // if not null, the operand is this number and there is no data
  };

  Op op{};
  AttrsId attrs{};
  std::vector<Tensor> operands;
  /// One per result that the op declares. The first one of an op that updates its first operand may lie where that
  /// does.
  std::vector<Tensor> results;
};

/// All results that an op has, also those that no record stands for.
std::vector<Meta> declared_results(const Graph& graph, const Record& record);

/// Calls `run` with everything that a node reads and writes. `input` says where an operand lies, `result` where the
/// value of a node (this one or one of its further results) is to lie, `scratch` gives memory for a result that nobody
/// asked for, which is computed all the same.
void call_node(const Graph& graph, std::uint32_t node, std::span<const ScalarArgument> scalars,
               FunctionRef<void*(OperandRef)> input, FunctionRef<void*(std::uint32_t)> result,
               FunctionRef<void*(std::size_t)> scratch, FunctionRef<void(const NodeCall&)> run);

/// While one lives, messages start with this op; the line is added when somebody reads the failure.
class NodeContext {
 public:
  explicit NodeContext(Op op);
  ~NodeContext() { call_context() = saved_; }
  NodeContext(const NodeContext&) = delete;
  NodeContext& operator=(const NodeContext&) = delete;

 private:
  CallContext saved_;
};

}  // namespace lento
