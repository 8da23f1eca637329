#include "ir/index_operands.h"

#include "base/format.h"
#include "base/nonnegative_index.h"
#include "ir/attr_list.h"
#include "ir/op.h"

#include <span>
#include <string_view>

namespace lento {

std::vector<IndexOperand> index_operands(const Graph& graph, const Record& record) {
  const OpInfo& op = info(record.op);
  if (op.family != Family::gather && op.family != Family::scatter) return {};
  const std::span<const OperandRef> operands = graph.operands(record);
  const Shape indexed = graph.meta_of(operands[0]).shape;
  const auto along = [&](std::uint32_t operand, std::int64_t axis) {
    return IndexOperand{operand, axis, indexed[static_cast<std::size_t>(axis)]};
  };
  std::vector<IndexOperand> found;
  for (std::uint32_t operand = 0; operand < op.args.size(); ++operand) {
    if (op.args[operand].name != "indices") continue;
    if (op.args[operand].kind == ArgKind::tensor_list) {
      // The list comes last: one tensor of indices for each of the first axes.
      for (std::uint32_t i = operand; i < operands.size(); ++i) found.push_back(along(i, i - operand));
      continue;
    }
    for (const Attribute& attribute : attributes_of(record)) {
      if (attribute.arg->name == "axis") found.push_back(along(operand, attribute.values[0]));
    }
  }
  return found;
}

namespace {

template <class Index>
BadValue out_of_range(Index index, std::int64_t axis, std::int64_t extent) {
  return {ErrorKind::index,
          fmt::format("index {} is out of range for axis {} of length {}", index_as_given(index), axis, extent)};
}

}  // namespace

BadValue bad_index(DType dtype, std::uint64_t bits, std::int64_t axis, std::int64_t extent) {
  if (dtype == DType::uint64) return out_of_range(bits, axis, extent);
  const auto index = static_cast<std::int64_t>(bits);
  if (const std::string_view reason = refusal(index); !reason.empty()) return {ErrorKind::value, std::string(reason)};
  return out_of_range(index, axis, extent);
}

}  // namespace lento
