// Calls on a toy device, by the loops of the reference backend.
#pragma once

#include "backend/driver.h"
#include "ir/graph.h"

#include <memory>

namespace lento::toy {

class ToyDevice;

/// Null when the device has no code for the op: its failures would be texts, and a device has only words.
std::unique_ptr<const PreparedCall> make_call(const Graph& graph, const Record& record, ToyDevice& device);

}  // namespace lento::toy
