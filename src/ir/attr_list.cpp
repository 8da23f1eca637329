#include "ir/attr_list.h"

#include <lento/dtype.h>

namespace lento {

namespace {

/// Whether a single value is one that its argument can have.
bool is_valid(const ArgInfo& arg, std::int64_t value) {
  switch (arg.kind) {
    case ArgKind::bool_:
      return value == 0 || value == 1;
    case ArgKind::dtype:
      return value >= 0 && value < kDTypeCount;
    case ArgKind::choice:
      return value >= 0 && static_cast<std::size_t>(value) < arg.choices.size();
    default:
      return true;
  }
}

}  // namespace

bool split_attributes(Op op, std::span<const std::int64_t> encoded, std::vector<Attribute>& result) {
  result.clear();
  for (const ArgInfo& arg : info(op).args) {
    if (!is_attribute(arg.kind)) continue;
    Attribute& attribute = result.emplace_back();
    attribute.arg = &arg;
    if (encoded.empty()) return false;
    if (arg.optional) {
      if (encoded[0] != 0 && encoded[0] != 1) return false;
      attribute.present = encoded[0] == 1;
      encoded = encoded.subspan(1);
      if (!attribute.present) continue;
      if (encoded.empty()) return false;
    }
    std::size_t length = 1;
    if (arg.kind == ArgKind::ints) {
      if (encoded[0] < 0 || static_cast<std::size_t>(encoded[0]) > encoded.size() - 1) return false;
      length = static_cast<std::size_t>(encoded[0]);
      encoded = encoded.subspan(1);
    } else if (!is_valid(arg, encoded[0])) {
      return false;
    }
    attribute.values = encoded.first(length);
    encoded = encoded.subspan(length);
  }
  return encoded.empty();
}

std::vector<Attribute> attributes_of(const Record& record) {
  std::vector<Attribute> result;
  split_attributes(record.op, attrs_of(record.attrs), result);
  return result;
}

void encode_attribute(const Attribute& attribute, std::vector<std::int64_t>& encoded) {
  if (attribute.arg->optional) encoded.push_back(attribute.present ? 1 : 0);
  if (!attribute.present) return;
  if (attribute.arg->kind == ArgKind::ints) encoded.push_back(static_cast<std::int64_t>(attribute.values.size()));
  encoded.insert(encoded.end(), attribute.values.begin(), attribute.values.end());
}

}  // namespace lento
