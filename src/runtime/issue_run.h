// Runs on devices with queues: what the host does now, and what it looks at when the device has ended.
#pragma once

#include "backend/backend.h"
#include "backend/queues.h"
#include "runtime/compiled_program.h"

#include <memory>

namespace lento {

/// Queues everything behind the inputs. When something throws, what is queued already keeps the inputs until it ends.
std::unique_ptr<IssuedRun> issue_run(const CompiledProgram& program, DeviceQueues& queues,
                                     const RunArguments& arguments);

}  // namespace lento
