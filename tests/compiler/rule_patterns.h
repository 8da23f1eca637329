// A pattern for every rule of simplification: the smallest graph it fits, in every dtype.
#pragma once

#include "ir/graph_maker.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lento::test {

struct RulePattern {
  std::string_view rule;  // its name
  /// Builds the pattern on inputs of this dtype and returns its outermost node. Throws where the ops are not defined.
  OperandRef (*build)(GraphMaker& maker, DType dtype);
  /// The dtypes in which the ops are defined but the rule must not be used.
  DTypeSet except = 0;
};

std::span<const RulePattern> rule_patterns();

/// All numbers that are hard for somebody: 0 and -0, the smallest and largest, subnormal ones, infinities, nans with a
/// sign and a payload, integers that wrap when negated, halves between integers.
std::vector<std::byte> special_values(DType dtype, std::size_t count, std::size_t first);

/// The inputs of a graph, filled with special values, each beginning with another one.
std::vector<std::vector<std::byte>> special_inputs(const Graph& graph);

}  // namespace lento::test
