// View: a value as a part of another one that lies in memory: which element of the base is the element at a position.
// Index maps (permute_dims, broadcast_to, strided_slice, as_strided, most reshapes) are views and never run. What is
// made of positions alone needs no memory: its reader counts the position in the base, and makes the element.
#pragma once

#include <lento/ints.h>

#include "ir/graph.h"
#include "ir/reach.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace lento {

/// A start that is a number of the plan: known when the plan runs.
struct DynamicStart {
  std::uint32_t number = 0;  // scalar of the graph
  std::int64_t stride = 0;   // elements of the base by which it moves the view
  // The positions start + reach.low … start + reach.high must lie in 0 … extent - 1.
  Reach reach;
  std::int64_t extent = 0;

  friend bool operator==(const DynamicStart&, const DynamicStart&) = default;
};

/// Positions along an axis of the base that lie in memory: which part of the base each row of the view reads.
struct Picked {
  OperandRef positions;     // a graph input or a stored node, of integers, contiguous
  Ints strides;             // one per dimension of the view: how the positions are walked
  std::int64_t stride = 0;  // elements of the base from one position to the next
  std::int64_t extent = 0;  // positions are in -extent … extent - 1
  std::uint32_t node = 0;   // the take_axis that fails when one is not

  friend bool operator==(const Picked&, const Picked&) = default;
};

struct View {
  OperandRef base;                   // a graph input, or a node that is stored (unless it is counted)
  Ints strides;                      // one per dimension of the view, in elements of the base
  std::vector<DynamicStart> starts;  // what they add is the offset of the first element
  std::optional<Picked> picked;      // what else it adds for each row
  bool counted = false;              // the base is not read: it is an iota of integers, which are counted again

  friend bool operator==(const View&, const View&) = default;
};

/// The whole of a contiguous value.
View whole(OperandRef base, const Shape& shape);

/// What an index map makes of a view of its operand, or nothing when it is no index map or has no strides.
std::optional<View> apply(const Graph& graph, const Record& map, const View& view);

/// True for the ops that `apply` knows.
bool is_view_op(Op op);

/// The view as it is read while walking over a shape that it is broadcast to.
Ints broadcast_strides(const View& view, const Shape& own, const Shape& to);
/// How the positions of a view with picked rows are walked meanwhile.
Ints broadcast_positions(const View& view, const Shape& own, const Shape& to);

/// take_axis of a contiguous value as a view of it; nothing when its rows have less than this many elements.
std::optional<View> picked_rows(const Graph& graph, const Record& take, std::int64_t least_row);

}  // namespace lento
