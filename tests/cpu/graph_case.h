// A random graph with its inputs as a case of the fuzzer: run in every way the CPU device has, compared, made small
// when it differs, and printed as text that can be run again.
#pragma once

#include "ir/random_graph.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lento::test {

struct GraphCase {
  RandomGraph random;
  std::uint64_t seed = 0;  // of the values of its inputs
};

/// Small graphs, and now and then one of long rows, over all primitives.
GraphCase random_case(std::uint64_t seed);

/// Runs the graph on the CPU device fused and not, now and then in tiles, on one thread and two, with inputs that may
/// be overwritten, and with code of both tiers, which must agree to the bit; and on the reference backend, with which
/// values must agree to the bit as far as they are computed exactly, and by `kUlps` units where a function was computed
/// of such. All nans are equal, and values that depend on the sign of one are not compared. Says where and how the
/// first two differ; "" when none do.
std::string difference(const GraphCase& graph);
inline constexpr std::uint64_t kUlps = 4;  // two for each side

/// How well a node's value on the CPU device is known from the reference backend's.
enum class Agreement : std::uint8_t {
  bits,   // the same
  ulps,   // an elementary function of values that are the same
  rough,  // anything computed from those; products and transforms, which are compared by tests of their own
};
std::vector<Agreement> agreements(const Graph& graph);

/// One flag a node: its bits are promised, except for nans being nans. Not where it shows the sign of a nan that was
/// computed, or is made of such.
std::vector<std::uint8_t> promised(const Graph& graph);

/// The smallest case for which `fails` still holds: outputs left out, nodes replaced by inputs or by their operands.
GraphCase reduce(GraphCase graph, const std::function<bool(const GraphCase&)>& fails);

/// The graph as text below a comment that says how its inputs are made. parse_case(to_text(c)) is c again.
std::string to_text(const GraphCase& graph);
GraphCase parse_case(std::string_view text);

}  // namespace lento::test
