// Which shapes a tensor can have. intern_shape (ir/shape_table.h) asks once per shape, so that every result of every op
// is checked, and nothing behind it has to be.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lento {

/// The most elements of a tensor. Bytes of every dtype, strides, offsets and the sum of a few of them can then be
/// counted in 63 bits.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 57;

/// What keeps this from being the shape of a tensor; empty when nothing does. An empty tensor has strides too, so that
/// its other lengths count.
std::string broken_shape_rule(std::span<const std::int64_t> shape);

/// The number of elements of a tensor of this shape. Throws ShapeError when no tensor can have it: for composites that
/// multiply lengths before they record anything.
std::int64_t counted(std::span<const std::int64_t> shape);

}  // namespace lento
