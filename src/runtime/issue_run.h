// Runs on devices with queues: what the host does now, and what it looks at when the device has ended.
#pragma once

#include "backend/backend.h"
#include "backend/queues.h"
#include "runtime/compiled_program.h"

#include <memory>

namespace lento {

/// Queues everything behind the inputs. What throws has queued nothing. A run that could not be queued to its end is
/// issued all the same, since the device may be at work for it: settling it throws.
std::unique_ptr<IssuedRun> issue_run(const CompiledProgram& program, DeviceQueues& queues,
                                     const RunArguments& arguments);

}  // namespace lento
