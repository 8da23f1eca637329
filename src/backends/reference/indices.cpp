// Integer tensors as positions.
#include "backends/reference/indices.h"

#include "backends/reference/bad_values.h"
#include "base/dispatch.h"
#include "base/fail.h"

#include <concepts>
#include <utility>

namespace lento::reference {

std::vector<std::int64_t> resolved_indices(const Array& indices, std::int64_t axis, std::int64_t extent,
                                           std::size_t which) {
  std::vector<std::int64_t> positions;
  dispatch(indices.dtype(), [&]<class T>() {
    if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      for (std::int64_t i = 0; i < indices.size(); ++i) {
        const T index = indices.as<T>()[i];
        // An unsigned index beyond the signed range is out of range in any case; it must not turn negative.
        const bool in_range = std::cmp_greater_equal(index, -extent) && std::cmp_less(index, extent);
        if (!in_range) tell_bad_index(which, indices.dtype(), static_cast<std::uint64_t>(index), axis, extent);
        const auto position = in_range ? static_cast<std::int64_t>(index) : 0;
        positions.push_back(position < 0 ? position + extent : position);
      }
    } else {
      fail<DTypeError>("indices must be integers, got {}", indices.dtype());
    }
  });
  return positions;
}

std::vector<std::int64_t> offsets_along_axis(const Array& x, const Array& indices, std::int64_t axis) {
  std::vector<std::int64_t> offsets = resolved_indices(indices, axis, x.extent(axis));
  Ints strides = row_major_strides(x.shape());
  const std::int64_t stride = std::exchange(strides[static_cast<std::size_t>(axis)], 0);
  for_each_offset(indices.shape(), strides, [&](std::int64_t i, std::int64_t rest) {
    std::int64_t& offset = offsets[static_cast<std::size_t>(i)];
    offset = offset * stride + rest;
  });
  return offsets;
}

std::vector<std::int64_t> offsets_of_rows(const Array& x, std::span<const Array> indices,
                                          std::span<const std::int64_t> common) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(element_count(common)), 0);
  if (offsets.empty()) return offsets;
  const Ints strides = row_major_strides(x.shape());
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const auto along = static_cast<std::int64_t>(axis);
    const std::vector<std::int64_t> positions = resolved_indices(indices[axis], along, x.extent(along), axis);
    const Ints reading = broadcast_strides(indices[axis].shape(), common);
    for_each_offset(common, reading, [&](std::int64_t i, std::int64_t at) {
      offsets[static_cast<std::size_t>(i)] += positions[static_cast<std::size_t>(at)] * strides[axis];
    });
  }
  return offsets;
}

}  // namespace lento::reference
