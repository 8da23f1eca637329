// Schedule: a graph as a list of steps over values in memory, ready for a backend: kernels with their sizes and
// strides, and calls of single ops. What lies where, and for how long, is decided here, before anything runs.
#pragma once

#include "compiler/batches.h"
#include "compiler/chains.h"
#include "compiler/fuse.h"
#include "compiler/kernel.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace lento {

/// Operand of a kernel step: a view of a stored value, walked by the kernel's dimensions.
struct StepOperand {
  OperandRef base;  // a graph input or a stored node; of a counted one, which reads nothing, a number of no meaning
  std::vector<DynamicStart> starts;
};

/// A result of a kernel that may lie where one of its operands lies: the kernel reads every element of that before it
/// writes the same one, and nowhere else.
struct InPlace {
  std::uint16_t operand;
  std::uint16_t result;
};

/// A kernel that runs over its operands.
struct KernelStep {
  std::uint32_t kernel = 0;            // of Schedule::kernels
  std::vector<StepOperand> operands;   // of the kernel
  std::vector<std::int64_t> sizes;     // of its dimensions
  std::vector<std::int64_t> strides;   // [operand * dims + dimension]
  std::vector<std::uint32_t> numbers;  // graph scalars, as the kernel numbers them
  std::vector<PickedRows> picked;      // one per operand of the kernel, or none when it picks no rows
  std::vector<std::uint32_t> pickers;  // likewise: the node that fails when a position does not exist
  std::vector<InPlace> in_place;       // of the kernel's operands
};

/// A single op that runs alone.
struct CallStep {
  std::vector<View> views;  // one per operand of an op that takes views (Target::takes_views); of others none
};

struct Step {
  std::variant<KernelStep, CallStep> work;
  std::vector<std::uint32_t> nodes;  // what it computes, ascending; of a call: the op and its further results
  double cost = 0;                   // of a kernel: elements times instructions; of a call: a guess

  bool is_kernel() const { return std::holds_alternative<KernelStep>(work); }
  bool is_call() const { return !is_kernel(); }
  /// Only of a step that is one.
  const KernelStep& kernel() const { return std::get<KernelStep>(work); }
  const CallStep& call() const { return std::get<CallStep>(work); }
};

/// Where a stored node's value lies while the program runs.
struct Place {
  enum class Kind : std::uint8_t { none, output, temporary, tile };
  Kind kind = Kind::none;
  std::uint32_t output = 0;  // kind output: which one
  std::size_t offset = 0;    // kind temporary: in the block of temporaries; kind tile: in a chain's scratch memory
  std::size_t bytes = 0;
};

struct Schedule {
  std::vector<Kernel> kernels;  // each once
  std::vector<Step> steps;
  std::vector<Chain> chains;        // in the order of steps
  std::vector<Batch> batches;       // likewise; none has steps of a chain
  std::vector<OperandRef> same_as;  // one per node: the stored value that has its elements (Fusion::same_as)
  std::vector<Place> places;        // one per node
  std::size_t temporary_bytes = 0;  // of the block that all temporaries share
  std::size_t output_bytes = 0;

  /// The graph input or stored node in whose memory an operand lies.
  OperandRef home(OperandRef operand) const {
    return operand.kind() == OperandRef::Kind::record ? same_as[operand.index()] : operand;
  }
};

/// Steps that run together: one alone, those of a chain, or those of a batch.
struct Turn {
  enum class Kind : std::uint8_t { step, chain, batch };
  Kind kind;
  std::uint32_t first;  // step
  std::uint32_t last;   // step
};
/// All steps, in their order.
std::vector<Turn> turns(const Schedule& schedule);

/// The graph inputs and stored nodes that a step reads; one that it reads in several ways is there several times.
std::vector<OperandRef> reads(const Graph& graph, const Schedule& schedule, const Step& step);
/// The nodes among them.
std::vector<std::uint32_t> nodes_read(const Graph& graph, const Schedule& schedule, const Step& step);

Schedule make_schedule(const Graph& graph, const Target& target, const CompileOptions& options);

/// The steps in order, one per line; nodes are those of the trace (Graph::origin).
std::string steps_text(const Schedule& schedule, const Graph& graph);
/// The kernels, each under its number.
std::string kernels_text(const Schedule& schedule);
/// Both.
std::string to_string(const Schedule& schedule, const Graph& graph);

}  // namespace lento
