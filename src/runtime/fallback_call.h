// Ops that a device with queues has no code for: they run on the CPU device, with copies around them.
#pragma once

#include "backend/driver.h"
#include "backend/queues.h"
#include "compiler/compile_options.h"
#include "compiler/schedule.h"
#include "ir/graph.h"

#include <cstdint>
#include <memory>

namespace lento {

/// A call that is compiled for the CPU device. Its operands are contiguous; the thread that runs it waits for the
/// device.
std::unique_ptr<const PreparedCall> make_fallback_call(const Graph& graph, const Step& step, DeviceQueues& queues,
                                                       const CompileOptions& options);

/// A single node, with addresses of the device, by the CPU device's loops. Waits; throws Error.
void run_node_on_host(const NodeCall& call, DeviceQueues& queues);

}  // namespace lento
