// The public functions that show what is pending and what is cached: dump and include/lento/cache.h.
#include <lento/cache.h>
#include <lento/eval.h>

#include "backend/background.h"
#include "backend/disk_cache.h"
#include "base/devices.h"
#include "base/fail.h"
#include "executor/evaluate.h"
#include "executor/plan_cache.h"
#include "ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace lento {

namespace {

std::vector<TensorState*> states_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorState*> states;
  for (const Tensor& tensor : tensors) states.push_back(&state_of(tensor));
  return states;
}

}  // namespace

std::string dump(const std::vector<Tensor>& tensors, DumpFormat format, std::source_location site) {
  const CallScope scope("dump", site);
  const PendingGraph pending = pending_graph(states_of(tensors));
  if (format != DumpFormat::backend) return to_string(pending.graph, static_cast<GraphFormat>(format));
  return pending.graph.nodes.empty() ? ""
                                     : plan_cache().find_or_compile(pending.graph, pending.device)->program->text();
}

std::uint64_t graph_key(const std::vector<Tensor>& tensors, std::source_location site) {
  const CallScope scope("graph_key", site);
  const PendingGraph pending = pending_graph(states_of(tensors));
  return pending.graph.nodes.empty() ? 0 : structure_hash(pending.graph, pending.device);
}

namespace cache {

Info info() {
  const PlanCache::Info now = plan_cache().info();
  wait_for_urgent_tasks();  // what is compiled counts as kept
  DiskCache& disk = disk_cache();
  return {now.entries, now.bytes, now.limit, disk.folder(), disk.enabled() ? disk.bytes() : 0, disk.limit()};
}
void clear(bool disk) {
  plan_cache().clear();
  if (!disk) return;
  wait_for_urgent_tasks();
  disk_cache().clear();
}
bool remove(std::uint64_t key) { return plan_cache().remove(key); }
void set_limit(std::size_t bytes) { plan_cache().set_limit(bytes); }
void set_disk_limit(std::size_t bytes) {
  wait_for_urgent_tasks();
  disk_cache().set_limit(bytes);
}

std::vector<PlanInfo> plans() {
  std::vector<PlanInfo> list;
  for (const PlanPtr& plan : plan_cache().plans(std::numeric_limits<std::size_t>::max())) {
    list.push_back({plan->hash, RegisteredDevice::of(plan->device), plan->graph.nodes.size(), plan->graph.inputs.size(),
                    plan->graph.outputs.size(), plan->program->launch_count(), plan->program->code_bytes(),
                    plan->program->planned_peak(), plan->compile_seconds});
  }
  return list;
}

}  // namespace cache

}  // namespace lento
