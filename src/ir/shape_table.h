// Interned shapes: a record names its shape by a 32-bit id, and equal shapes have equal ids.
#pragma once

#include <lento/dtype.h>
#include <lento/ints.h>

#include <cstdint>
#include <span>

namespace lento {

enum class ShapeId : std::uint32_t {};  // ShapeId{} is ()

ShapeId intern_shape(std::span<const std::int64_t> shape);
const Shape& shape_of(ShapeId id);

/// What is known of a value before it is computed.
struct Meta {
  DType dtype = DType::float32;
  Shape shape;

  friend bool operator==(const Meta&, const Meta&) = default;
};

}  // namespace lento
