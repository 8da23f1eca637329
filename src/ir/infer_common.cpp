// Checks that the inference functions of several families share.
#include "ir/infer_common.h"

#include "base/fail.h"

#include <algorithm>
#include <utility>

namespace lento {

std::string type_text(const Meta& meta) { return fmt::format("{}{}", meta.dtype, meta.shape); }

std::int64_t normalized_axis(std::int64_t axis, const Meta& x) {
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  if (axis < -rank || axis >= rank) {
    if (rank == 0) fail<IndexError>("axis {} is out of range: {} has no axes", axis, type_text(x));
    fail<IndexError>("axis {} is out of range for {}: it must be from {} to {}", axis, type_text(x), -rank, rank - 1);
  }
  return axis < 0 ? axis + rank : axis;
}

Ints normalized_axes(std::span<const std::int64_t> axes, const Meta& x) {
  Ints result;
  for (const std::int64_t given : axes) {
    const std::int64_t axis = normalized_axis(given, x);
    if (std::find(result.begin(), result.end(), axis) != result.end()) {
      fail<ValueError>("axis {} is given twice in {}", axis, Ints(axes));
    }
    result.push_back(axis);
  }
  return result;
}

void require_integer(const Meta& x, std::string_view what) {
  if (!is_integer(x.dtype)) fail<DTypeError>("{} must be integers, got {}", what, type_text(x));
}

void require_same_dtype(const Meta& a, std::string_view what_a, const Meta& b, std::string_view what_b) {
  if (a.dtype != b.dtype) {
    fail<DTypeError>("{} and {} must have one dtype, got {} and {}", what_a, what_b, type_text(a), type_text(b));
  }
}

Shape broadcast_all(std::span<const Meta> operands) {
  Shape result;
  for (const Meta& operand : operands) {
    const Shape& shape = operand.shape;
    while (result.size() < shape.size()) result.insert(0, 1);
    const std::size_t leading = result.size() - shape.size();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      std::int64_t& extent = result[leading + axis];
      if (extent == 1) extent = shape[axis];
      if (shape[axis] != 1 && shape[axis] != extent) {
        std::string shapes;
        for (const Meta& each : operands) shapes += fmt::format("{}{}", shapes.empty() ? "" : ", ", each.shape);
        fail<ShapeError>("shapes {} cannot be broadcast together", shapes);
      }
    }
  }
  return result;
}

}  // namespace lento
