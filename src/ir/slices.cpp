#include "ir/slices.h"

#include "base/fail.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/op_index_map.gen.h"
#include "ir/reach.h"

#include <cstddef>
#include <optional>

namespace lento {

void require_slice_inside(const Shape& whole, const Shape& part, std::span<const Scalar> starts, const Ints& axes,
                          const Ints& steps) {
  if (element_count(part) == 0) return;
  if (starts.size() != axes.size()) {
    fail<ValueError>("{} axes need {} starts, got {}", axes.size(), axes.size(), starts.size());
  }
  for (std::size_t j = 0; j < axes.size(); ++j) {
    const auto axis = static_cast<std::size_t>(axes[j]);
    const std::int64_t extent = whole[axis];
    const std::int64_t first = starts[j].to<std::int64_t>();
    const std::int64_t step = part[axis] == 1 ? 0 : steps[j];  // a single element takes no step, however large
    if (first < 0 || first >= extent) {
      fail<IndexError>("slice start {} is out of range for axis {} of length {}", first, axis, extent);
    }
    const std::int64_t last = first + (part[axis] - 1) * step;
    if (last < 0 || last >= extent) {
      fail<IndexError>("a slice of {} elements from {} with step {} leaves axis {} of length {}", part[axis], first,
                       step, axis, extent);
    }
  }
}

void require_strides_inside(std::int64_t length, std::int64_t first, const Ints& sizes, const Ints& strides) {
  const std::optional<Reach> reach = reach_of(sizes, strides);
  if (!reach || !reach->fits(first, length)) {
    fail<IndexError>("sizes {} with strides {} from {} on reach outside of the {} elements along the last axis", sizes,
                     strides, first, length);
  }
}

void require_inside(Op op, AttrsId attrs, std::span<const Meta> operands, std::span<const Meta> results,
                    std::span<const Scalar> numbers) {
  if (op == op::strided_slice) {
    const StridedSliceAttrs of = decode_strided_slice(attrs);
    require_slice_inside(operands[0].shape, results[0].shape, numbers, of.axes, of.steps);
  } else if (op == op::strided_update) {
    const StridedUpdateAttrs of = decode_strided_update(attrs);
    require_slice_inside(operands[0].shape, operands[1].shape, numbers, of.axes, of.steps);
  } else if (op == op::as_strided && element_count(results[0].shape) != 0) {
    const AsStridedAttrs of = decode_as_strided(attrs);
    require_strides_inside(operands[0].shape.back(), numbers[0].to<std::int64_t>(), of.sizes, of.strides);
  }
}

}  // namespace lento
