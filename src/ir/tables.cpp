#include "base/fail.h"
#include "base/interner.h"
#include "ir/attrs.h"
#include "ir/shape_limit.h"
#include "ir/shape_table.h"

namespace lento {

namespace {

/// Never destroyed: other threads may still look ids up while the process exits.
IntListTable* make_table(IntListTable::Check check) {
  auto* table = new IntListTable(check);
  table->keep_free_in_forked_children();
  return table;
}

IntListTable& shapes() {
  static auto* table = make_table([](std::span<const std::int64_t> shape) { counted(shape); });
  return *table;
}

IntListTable& attributes() {
  static auto* table = make_table(nullptr);
  return *table;
}

}  // namespace

std::string broken_shape_rule(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool too_large = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return fmt::format("the shape {} has a negative length", Shape(shape));
    too_large = too_large || (extent > 1 && __builtin_mul_overflow(count, extent, &count));
  }
  if (!too_large && count <= kMostElements) return "";
  return fmt::format("the shape {} is too large: a tensor has at most {} elements", Shape(shape), kMostElements);
}

std::int64_t counted(std::span<const std::int64_t> shape) {
  if (const std::string rule = broken_shape_rule(shape); !rule.empty()) fail<ShapeError>("{}", rule);
  return element_count(shape);
}

ShapeId intern_shape(std::span<const std::int64_t> shape) { return ShapeId{shapes().intern(shape)}; }
const Shape& shape_of(ShapeId id) { return shapes().get(static_cast<std::uint32_t>(id)); }

AttrsId intern_attrs(std::span<const std::int64_t> values) { return AttrsId{attributes().intern(values)}; }
std::span<const std::int64_t> attrs_of(AttrsId id) { return attributes().get(static_cast<std::uint32_t>(id)).span(); }

}  // namespace lento
