#include "compiler/passes/equal_nodes.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lento {

namespace {

std::uint64_t hash_of([[maybe_unused]] const Graph& graph, [[maybe_unused]] const Record& record) {
#if defined(LENTO_CONSTANT_HASH)
  return 1;  // proves that every hit is compared
#else
  std::uint64_t hash = 0;
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
  };
  if (record.operand_count != Record::kOperandList) {
    std::uint64_t words[sizeof(Record) / 8];
    std::memcpy(words, &record, sizeof(record));
    for (const std::uint64_t word : words) mix(word);
    return hash;
  }
  mix(static_cast<std::uint64_t>(record.op) << 8 | static_cast<std::uint64_t>(record.dtype));
  mix(static_cast<std::uint64_t>(record.shape) << 32 | static_cast<std::uint64_t>(record.attrs));
  for (const OperandRef operand : graph.operands(record)) mix(operand.bits);
  return hash;
#endif
}

bool equal(const Graph& graph, const Record& a, const Record& b) {
  if (a.operand_count != Record::kOperandList || b.operand_count != Record::kOperandList) {
    return std::memcmp(&a, &b, sizeof(Record)) == 0;
  }
  return a.op == b.op && a.dtype == b.dtype && a.shape == b.shape && a.attrs == b.attrs &&
         std::ranges::equal(graph.operands(a), graph.operands(b));
}

}  // namespace

EqualNodes::EqualNodes(std::size_t nodes) : slots_(std::bit_ceil(2 * nodes + 16), kFree) {}

std::size_t EqualNodes::slot_of(const Graph& graph, const Record& record) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(hash_of(graph, record)) & mask;
  while (slots_[slot] != kFree && !equal(graph, graph.nodes[slots_[slot]], record)) slot = (slot + 1) & mask;
  return slot;
}

std::uint32_t EqualNodes::find_or_add(const Graph& graph, std::uint32_t node) {
  if (2 * used_ >= slots_.size()) grow(graph);
  std::uint32_t& found = slots_[slot_of(graph, graph.nodes[node])];
  if (found != kFree) return found;
  ++used_;
  return found = node;
}

void EqualNodes::grow(const Graph& graph) {
  std::vector<std::uint32_t> old(slots_.size() * 2, kFree);
  old.swap(slots_);
  for (const std::uint32_t node : old) {
    if (node != kFree) slots_[slot_of(graph, graph.nodes[node])] = node;
  }
}

}  // namespace lento
