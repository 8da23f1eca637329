// Attributes of any op by name: a view of the flat list of integers (ArgKind in ir/op.h) through the op's table of
// arguments. For what must work with every op (printers, parser, verifier); code that knows its op uses the structs of
// ir/attrs.gen.h.
#pragma once

#include "ir/op.h"
#include "ir/record.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lento {

struct Attribute {
  const ArgInfo* arg = nullptr;
  bool present = true;                   // false: optional and not given
  std::span<const std::int64_t> values;  // ints: all of them; otherwise one, a float as its bits
};

/// Splits an encoded list into the attributes of the op, in the order of its arguments. False when the list is not one
/// of this op's: too short, too long, or a value that its argument cannot have.
bool split_attributes(Op op, std::span<const std::int64_t> encoded, std::vector<Attribute>& result);

/// The attributes of a record, which must be well formed.
std::vector<Attribute> attributes_of(const Record& record);

/// Appends one attribute to a list in the making; the arguments of the op must be appended in their order.
void encode_attribute(const Attribute& attribute, std::vector<std::int64_t>& encoded);

}  // namespace lento
