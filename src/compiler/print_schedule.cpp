// Schedules as text, for people: the steps in order, the kernels by number.
#include "base/format.h"
#include "compiler/schedule.h"
#include "ir/op.h"

#include <algorithm>

namespace lento {

std::string steps_text(const Schedule& schedule, const Graph& graph) {
  std::string text =
      fmt::format("# {} steps, {} kernels, {} bytes of temporaries, {} of outputs\n", schedule.steps.size(),
                  schedule.kernels.size(), schedule.temporary_bytes, schedule.output_bytes);
  for (std::uint32_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    if (step.is_kernel()) {
      text += fmt::format("run kernel {} over ({})", step.kernel().kernel, fmt::join(step.kernel().sizes, ", "));
    } else {
      text += fmt::format("call {}", info(graph.nodes[step.nodes[0]].op).name);
    }
    std::vector<std::uint32_t> traced;
    for (const std::uint32_t node : step.nodes) traced.push_back(graph.origin(node));
    text += fmt::format(" for %{}", fmt::join(traced, ", %"));
    const auto chain =
        std::ranges::find_if(schedule.chains, [&](const Chain& c) { return s >= c.first && s <= c.last; });
    if (chain != schedule.chains.end()) {
      text += fmt::format(" in tiles together with steps {} to {}", chain->first, chain->last);
    }
    const auto batch =
        std::ranges::find_if(schedule.batches, [&](const Batch& b) { return s >= b.first && s <= b.last; });
    if (batch != schedule.batches.end()) {
      text += fmt::format(" in one launch with steps {} to {}", batch->first, batch->last);
    }
    text += '\n';
  }
  return text;
}

std::string kernels_text(const Schedule& schedule) {
  std::string text;
  for (std::size_t i = 0; i < schedule.kernels.size(); ++i) {
    text += fmt::format("# kernel {}\n{}", i, to_string(schedule.kernels[i]));
  }
  return text;
}

std::string to_string(const Schedule& schedule, const Graph& graph) {
  return steps_text(schedule, graph) + kernels_text(schedule);
}

}  // namespace lento
