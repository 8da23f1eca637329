// Interned attributes: the structural arguments of a record (axes, sizes, modes) as a flat list of integers.
// The generated ir/attrs_<family>.gen.h give each op a struct with named members on top of this.
#pragma once

#include <cstdint>
#include <span>

namespace lento {

enum class AttrsId : std::uint32_t {};  // AttrsId{} is "no attributes"

AttrsId intern_attrs(std::span<const std::int64_t> values);
std::span<const std::int64_t> attrs_of(AttrsId id);

}  // namespace lento
