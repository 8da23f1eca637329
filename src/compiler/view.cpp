#include "compiler/view.h"

#include "ir/attrs_gather.gen.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_index_map.gen.h"

namespace lento {

namespace {

/// Strides of `view`, which has shape `from`, seen with shape `to`; nothing when one stride a dimension is not enough.
std::optional<Ints> reshaped_strides(const Shape& from, const Ints& strides, const Shape& to) {
  // Runs of dimensions of `from` that lie in memory like one are matched with dimensions of `to` of the same product.
  Ints result(to.size(), 0);
  if (element_count(to) == 0) return result;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && from[i] == 1) {
      ++i;
      continue;
    }
    if (j < to.size() && to[j] == 1) {
      ++j;
      continue;
    }
    if (i == from.size() || j == to.size()) return std::nullopt;  // cannot happen: the element counts agree
    std::size_t last_i = i;
    std::size_t last_j = j;
    std::int64_t old_size = from[i];
    std::int64_t new_size = to[j];
    while (old_size != new_size) {
      if (old_size < new_size) {
        if (++last_i == from.size()) return std::nullopt;
        old_size *= from[last_i];
      } else {
        if (++last_j == to.size()) return std::nullopt;
        new_size *= to[last_j];
      }
    }
    // The run i … last_i must be contiguous in itself: each dimension's stride is the next one's times its length.
    std::int64_t inner = 0;
    bool has_inner = false;
    std::int64_t expected = 0;
    for (std::size_t d = last_i + 1; d-- > i;) {
      if (from[d] == 1) continue;
      if (!has_inner) {
        inner = strides[d];
        has_inner = true;
      } else if (strides[d] != expected) {
        return std::nullopt;
      }
      expected = strides[d] * from[d];
    }
    std::int64_t stride = inner;
    for (std::size_t d = last_j + 1; d-- > j;) {
      result[d] = to[d] == 1 ? 0 : stride;
      stride *= to[d];
    }
    i = last_i + 1;
    j = last_j + 1;
  }
  return result;
}

Ints broadcast(const Ints& strides, const Shape& own, const Shape& to) {
  Ints result(to.size(), 0);
  const std::size_t leading = to.size() - own.size();
  for (std::size_t d = 0; d < own.size(); ++d) {
    if (own[d] != 1) result[leading + d] = strides[d];
  }
  return result;
}

View sliced(const Graph& graph, const Record& map, const View& view, const Shape& from) {
  const StridedSliceAttrs attrs = decode_strided_slice(map.attrs);
  View result = view;
  const std::span<const OperandRef> operands = graph.operands(map);
  for (std::size_t j = 0; j < attrs.axes.size(); ++j) {
    const auto axis = static_cast<std::size_t>(attrs.axes[j]);
    // Of a node that was inferred, so that the reach can be counted.
    const Reach reach = reach_of(attrs.sizes.span().subspan(j, 1), attrs.steps.span().subspan(j, 1)).value();
    result.starts.push_back({operands[1 + j].index(), view.strides[axis], reach, from[axis]});
    result.strides[axis] = view.strides[axis] * attrs.steps[j];
  }
  return result;
}

/// The last axis read by strides.
View strided(const Graph& graph, const Record& map, const View& view, const Shape& from) {
  const AsStridedAttrs attrs = decode_as_strided(map.attrs);
  View result = view;
  const Reach reach = reach_of(attrs.sizes, attrs.strides).value();
  const std::int64_t unit = result.strides.back();
  result.strides.resize(result.strides.size() - 1);
  for (std::size_t d = 0; d < attrs.sizes.size(); ++d) {
    // What is never stepped along may have any stride.
    result.strides.push_back(reach.empty() || attrs.sizes[d] == 1 ? 0 : unit * attrs.strides[d]);
  }
  result.starts.push_back({graph.operands(map)[1].index(), unit, reach, from.back()});
  return result;
}

}  // namespace

View whole(OperandRef base, const Shape& shape) {
  View view{base, Ints(shape.size(), 0), {}, {}};
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    view.strides[d] = shape[d] == 1 ? 0 : stride;
    stride *= shape[d];
  }
  return view;
}

bool is_view_op(Op op) {
  return op == op::permute_dims || op == op::broadcast_to || op == op::strided_slice || op == op::as_strided ||
         op == op::reshape || op == op::barrier;
}

std::optional<View> apply(const Graph& graph, const Record& map, const View& view) {
  if (view.picked) return std::nullopt;
  const Shape from = graph.meta_of(graph.operands(map)[0]).shape;
  const Shape& to = shape_of(map.shape);
  switch (map.op) {
    case op::permute_dims: {
      const PermuteDimsAttrs attrs = decode_permute_dims(map.attrs);
      View result = view;
      for (std::size_t d = 0; d < attrs.axes.size(); ++d) {
        result.strides[d] = view.strides[static_cast<std::size_t>(attrs.axes[d])];
      }
      return result;
    }
    case op::broadcast_to:
      return View{view.base, broadcast_strides(view, from, to), view.starts, {}, view.counted};
    case op::strided_slice:
      return sliced(graph, map, view, from);
    case op::as_strided:
      return strided(graph, map, view, from);
    case op::reshape: {
      std::optional<Ints> strides = reshaped_strides(from, view.strides, to);
      if (!strides) return std::nullopt;
      return View{view.base, *std::move(strides), view.starts, {}, view.counted};
    }
    case op::barrier:
      return view;
    default:
      return std::nullopt;
  }
}

Ints broadcast_strides(const View& view, const Shape& own, const Shape& to) { return broadcast(view.strides, own, to); }

Ints broadcast_positions(const View& view, const Shape& own, const Shape& to) {
  return broadcast(view.picked->strides, own, to);
}

std::optional<View> picked_rows(const Graph& graph, const Record& take, std::int64_t least_row) {
  const std::span<const OperandRef> operands = graph.operands(take);
  const Meta x = graph.meta_of(operands[0]);
  const Meta positions = graph.meta_of(operands[1]);
  if (positions.dtype != DType::int32 && positions.dtype != DType::int64) return std::nullopt;
  const std::int64_t given = decode_take_axis(take.attrs).axis;
  const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(x.shape.size()) : given);
  const View from = whole(operands[0], x.shape);
  const View read = whole(operands[1], positions.shape);
  std::int64_t row = 1;
  for (std::size_t d = axis + 1; d < x.shape.size(); ++d) row *= x.shape[d];
  if (row < least_row || element_count(positions.shape) == 0 || element_count(x.shape) == 0) return std::nullopt;
  View view{operands[0], {}, {}, Picked{operands[1], {}, row, x.shape[axis]}};
  for (std::size_t d = 0; d < axis; ++d) view.strides.push_back(from.strides[d]);
  for (std::size_t d = 0; d < positions.shape.size(); ++d) view.strides.push_back(0);
  for (std::size_t d = axis + 1; d < x.shape.size(); ++d) view.strides.push_back(from.strides[d]);
  view.picked->strides = Ints(view.strides.size(), 0);
  for (std::size_t d = 0; d < positions.shape.size(); ++d) view.picked->strides[axis + d] = read.strides[d];
  return view;
}

}  // namespace lento
