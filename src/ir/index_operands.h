// Operands that are positions: which ones an op has, and what is wrong with a position that does not exist. The same
// for every device, so that all of them raise the same error (clause E7).
#pragma once

#include <lento/dtype.h>

#include "ir/bad_values.h"
#include "ir/graph.h"

#include <cstdint>
#include <vector>

namespace lento {

/// An operand whose elements are indices along an axis of the op's first operand: -extent … extent - 1. The extent is
/// not 0 when there are any indices, since ops refuse empty axes when they are recorded.
struct IndexOperand {
  std::uint32_t operand;
  std::int64_t axis;
  std::int64_t extent;
};

/// Those of a node, in the order in which their indices are checked: of gathers and scatters; other ops have none.
std::vector<IndexOperand> index_operands(const Graph& graph, const Record& record);

/// Why an index is refused, which is of this dtype, extended to 64 bits.
BadValue bad_index(DType dtype, std::uint64_t bits, std::int64_t axis, std::int64_t extent);

}  // namespace lento
