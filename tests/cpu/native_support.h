// What the tests of native steps share: graphs of one op, elements with everything special in them, and the comparison
// with the reference backend, which must agree to the last bit and fail with the same words.
#pragma once

#include "ir/graph.h"

#include <lento/scalar.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace lento::test {

using Bytes = std::vector<std::byte>;

/// A graph of one op whose operands are `tensors`, then `numbers`; all its results are outputs.
Graph graph_of(Op op, AttrsId attrs, const std::vector<Meta>& tensors, const std::vector<ScalarArgument>& numbers = {});

/// Elements in a narrow range, so that many are equal, and among floating point ones -0, infinities and several nans.
Bytes random_elements(const Meta& meta, std::mt19937_64& random);
/// Numbers between -2 and 2 without anything special.
Bytes plain_elements(const Meta& meta, std::mt19937_64& random);
/// Indices from `low` up to `high`.
Bytes random_indices(const Meta& meta, std::int64_t low, std::int64_t high, std::mt19937_64& random);

/// Runs the graph on one, two and five threads, with and without donated inputs, and compares with the reference.
void expect_like_reference(const Graph& graph, const std::vector<Bytes>& inputs);

}  // namespace lento::test
