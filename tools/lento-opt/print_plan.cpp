#include "print_plan.h"

#include "backends/cpu/prepared_call.h"
#include "base/format.h"
#include "ir/op.h"
#include "ir/print.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lento::opt {

namespace {

std::string name_of(OperandRef operand) {
  std::string name;
  append_operand(name, operand);
  return name;
}

/// " by (6, 1)", and by what numbers the start is moved.
std::string walk_text(std::span<const std::int64_t> strides, std::span<const DynamicStart> starts) {
  std::string text = fmt::format(" by ({})", fmt::join(strides, ", "));
  for (const DynamicStart& start : starts) text += fmt::format(" from ${} * {}", start.number, start.stride);
  return text;
}

std::string kernel_operands(const KernelStep& step, const Kernel& kernel) {
  std::string text;
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    const StepOperand& operand = step.operands[i];
    const KernelOperandInfo& info = kernel.operands[i];
    const std::span strides = std::span(step.strides).subspan(i * kernel.dims, kernel.dims);
    const std::string what =
        info.counted ? "counts" : fmt::format("{} {}", info.output ? "writes" : "reads", name_of(operand.base));
    text += fmt::format("  ${} {}{}", i, what, walk_text(strides, operand.starts));
    if (info.picked_by != kNotPicked) {
      const PickedRows& rows = step.picked[i];
      text += fmt::format(" at ${} * {} of {}", info.picked_by, rows.stride, rows.extent);
    }
    std::string_view before = ", may lie where";
    for (const InPlace& pair : step.in_place) {
      if (pair.result != i) continue;
      text += fmt::format("{} ${}", before, pair.operand);
      before = " or";
    }
    if (before == " or") text += " lies";
    text += '\n';
  }
  for (std::size_t i = 0; i < step.numbers.size(); ++i) {
    text += fmt::format("  #{} is {}\n", i, name_of(OperandRef::scalar(step.numbers[i])));
  }
  return text;
}

std::string call_operands(const Schedule& schedule, const Graph& graph, const Step& step) {
  std::string text;
  const std::span<const OperandRef> operands = graph.operands(graph.nodes[step.nodes[0]]);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].kind() == OperandRef::Kind::scalar) {
      text += fmt::format("  takes {}\n", name_of(operands[i]));
    } else if (step.call().views.empty()) {
      text += fmt::format("  reads {}\n", name_of(schedule.home(operands[i])));
    } else {
      const View& view = step.call().views[i];
      text += fmt::format("  reads {}{}\n", name_of(view.base), walk_text(view.strides.span(), view.starts));
    }
  }
  for (const std::uint32_t node : step.nodes) text += fmt::format("  writes %{}\n", node);
  return text;
}

/// Which steps write a node and are the last to read it.
struct Use {
  static constexpr std::uint32_t kNever = ~0U;
  std::uint32_t written = kNever;
  std::uint32_t read = kNever;
};

std::vector<Use> uses_of(const Schedule& schedule, const Graph& graph) {
  std::vector<Use> uses(graph.nodes.size());
  for (std::uint32_t s = 0; s < schedule.steps.size(); ++s) {
    for (const std::uint32_t node : schedule.steps[s].nodes) uses[node].written = s;
    for (const std::uint32_t node : nodes_read(graph, schedule, schedule.steps[s])) uses[node].read = s;
  }
  return uses;
}

std::string place_text(const Place& place) {
  switch (place.kind) {
    case Place::Kind::output:
      return fmt::format("output {}, {} bytes", place.output, place.bytes);
    case Place::Kind::temporary:
      return fmt::format("temporary at {}, {} bytes", place.offset, place.bytes);
    case Place::Kind::tile:
      return fmt::format("in a tile at {}, {} bytes", place.offset, place.bytes);
    case Place::Kind::none:
      break;
  }
  return {};
}

}  // namespace

std::string operands_text(const Schedule& schedule, const Graph& graph, const CompileOptions& options) {
  std::string text;
  for (std::uint32_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    if (step.is_kernel()) {
      const KernelStep& run = step.kernel();
      text += fmt::format("# step {}: kernel {}\n", s, run.kernel);
      text += kernel_operands(run, schedule.kernels[run.kernel]);
    } else {
      const bool own =
          !options.falls_back(graph.nodes[step.nodes[0]].op) && cpu::make_prepared_call(graph, step) != nullptr;
      text += fmt::format("# step {}: {}, {}\n", s, info(graph.nodes[step.nodes[0]].op).name,
                          own ? "a prepared call" : "left to the reference backend");
      text += call_operands(schedule, graph, step);
    }
  }
  return text;
}

std::string memory_text(const Schedule& schedule, const Graph& graph) {
  std::string text =
      fmt::format("# {} bytes of temporaries, {} of outputs\n", schedule.temporary_bytes, schedule.output_bytes);
  for (const Chain& chain : schedule.chains) {
    text += fmt::format("# steps {} to {} in tiles of {} elements, with {} bytes a thread\n", chain.first, chain.last,
                        chain.tile, chain.scratch_bytes);
  }
  const std::vector<Use> uses = uses_of(schedule, graph);
  for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
    const OperandRef home = schedule.same_as[node];
    const bool output = std::ranges::find(graph.outputs, node) != graph.outputs.end();
    if (home != OperandRef::record(node)) {
      if (output) text += fmt::format("%{}: {}\n", node, name_of(home));
      continue;
    }
    if (schedule.places[node].kind == Place::Kind::none) continue;
    text += fmt::format("%{}: {}", node, place_text(schedule.places[node]));
    if (uses[node].written != Use::kNever) text += fmt::format(", written by step {}", uses[node].written);
    if (uses[node].read != Use::kNever) text += fmt::format(", last read by step {}", uses[node].read);
    text += '\n';
  }
  return text;
}

}  // namespace lento::opt
