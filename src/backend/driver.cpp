#include "backend/driver.h"

#include "base/fail.h"
#include "base/format.h"

namespace lento {

std::vector<std::size_t> own_calls(const Graph& graph, const Schedule& schedule, const CompileOptions& options) {
  std::vector<std::size_t> own;
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    if (step.is_call() && !options.falls_back(graph.nodes[step.nodes[0]].op)) own.push_back(s);
  }
  return own;
}

void Driver::launch_chain(std::span<const KernelLaunch>, std::span<const TileOperand>, const Chain&) {
  fail<BackendError>("this device has no chains of kernels");
}

void Driver::launch_batch(std::span<const KernelLaunch> launches) {
  for (const KernelLaunch& each : launches) launch(each);
}

BadValue PreparedCall::explain(std::size_t, StatusWord word) const {
  return {ErrorKind::backend, fmt::format("the device failed with status {}", word)};
}

std::unique_ptr<StatusWords> Driver::status_words(std::size_t) {
  fail<BackendError>("this device has no status words");
}

void Driver::run_node(const NodeCall&) { fail<BackendError>("this device runs no op alone"); }

}  // namespace lento
