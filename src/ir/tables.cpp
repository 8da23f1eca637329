#include "base/interner.h"
#include "ir/attrs.h"
#include "ir/shape_table.h"

namespace lento {

namespace {

/// Never destroyed: other threads may still look ids up while the process exits.
IntListTable* make_table() {
  auto* table = new IntListTable;
  table->keep_free_in_forked_children();
  return table;
}

IntListTable& shapes() {
  static auto* table = make_table();
  return *table;
}

IntListTable& attributes() {
  static auto* table = make_table();
  return *table;
}

}  // namespace

ShapeId intern_shape(std::span<const std::int64_t> shape) { return ShapeId{shapes().intern(shape)}; }
const Shape& shape_of(ShapeId id) { return shapes().get(static_cast<std::uint32_t>(id)); }

AttrsId intern_attrs(std::span<const std::int64_t> values) { return AttrsId{attributes().intern(values)}; }
std::span<const std::int64_t> attrs_of(AttrsId id) { return attributes().get(static_cast<std::uint32_t>(id)).span(); }

}  // namespace lento
