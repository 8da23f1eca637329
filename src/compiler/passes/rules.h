// The rules of simplification: patterns of a few nodes and what they are instead, as a table. A rule keeps every bit of
// every result, for all inputs (nan, infinities, -0, integers that wrap); the one exception is a signalling nan, which
// may stay one where ops would have made it quiet. A rule also keeps every operand that may have failed: a value is
// poisoned with and without it. tests/compiler/rules_test.cpp tries each on all of that.
//
// Numbers are arguments of a plan, so no rule knows that x is multiplied by 1.
#pragma once

#include "compiler/passes/match.h"
#include "ir/op_number.h"

#include <span>
#include <string_view>

namespace lento {

/// Stands for all elementwise ops in a rule. No op has this number.
inline constexpr Op kEveryElementwiseOp = static_cast<Op>(kMaxOps);

struct Rule {
  /// The op of the outermost node; kEveryElementwiseOp for all elementwise ones.
  Op op;
  /// As people read it: "negative(negative(x)) = x".
  std::string_view name;
  /// Says what the node is instead and returns true, or leaves it alone.
  bool (*apply)(Match& node);
};

/// All rules; those of one op are tried in this order.
std::span<const Rule> all_rules();
/// Those of all rules whose outermost node is of this op.
std::span<const Rule* const> rules_of(Op op);

}  // namespace lento
