// Calls on a toy device, by the loops of the reference backend.
#pragma once

#include "backend/driver.h"
#include "ir/graph.h"

#include <memory>

namespace lento::toy {

class ToyDevice;

std::unique_ptr<const PreparedCall> make_call(const Graph& graph, const Record& record, ToyDevice& device);

}  // namespace lento::toy
