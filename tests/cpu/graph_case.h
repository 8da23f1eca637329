// Cases of the fuzzer on the CPU device: run in every way it has, and compared.
#pragma once

#include "ir/graph_case.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lento::test {

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

}  // namespace lento::test
