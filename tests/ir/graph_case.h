// A random graph with its inputs as a case of a fuzzer: made small when it fails, and printed as text that can be run
// again.
#pragma once

#include "ir/random_graph.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace lento::test {

struct GraphCase {
  RandomGraph random;
  std::uint64_t seed = 0;  // of the values of its inputs
};

/// The smallest case for which `fails` still holds: outputs left out, nodes replaced by inputs or by their operands.
GraphCase reduce(GraphCase graph, const std::function<bool(const GraphCase&)>& fails);

/// The graph as text below a comment that says how its inputs are made. parse_case(to_text(c)) is c again.
std::string to_text(const GraphCase& graph);
GraphCase parse_case(std::string_view text);

}  // namespace lento::test
