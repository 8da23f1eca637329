#include "ir/tape.h"

#include "base/fail.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace lento {

namespace {

std::atomic<std::uint64_t> next_serial{1};

constexpr std::uint32_t kFirstCapacity = 1024;
constexpr std::uint32_t kUnmapped = ~0U;

}  // namespace

Tape::Tape(std::uint8_t d) : device(d), serial_(next_serial.fetch_add(1, std::memory_order_relaxed)) {}

void Tape::grow() {
  const std::uint32_t capacity = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
  if (capacity > OperandRef::kMaxIndex) fail<MemoryError>("the trace has more than {} records", OperandRef::kMaxIndex);
  const auto enlarge = [&]<class T>(std::unique_ptr<T[]>& column) {
    std::unique_ptr<T[]> bigger(new T[capacity]);
    std::copy_n(column.get(), size_, bigger.get());
    column = std::move(bigger);
  };
  enlarge(records_);
  enlarge(sources_);
  enlarge(handles_);
  capacity_ = capacity;
}

OperandRef Tape::find_or_add_leaf(Value* value, DType dtype, ShapeId shape) {
  // The hint may have been overwritten by another thread that reads the same value. It is left to that thread then, or
  // the two would fight over the cache line at every op.
  if (const std::uint32_t known = leaf_index_.find(value, serial_); known != LeafIndex::kNone) {
    return OperandRef::leaf(known);
  }
  const auto slot = static_cast<std::uint32_t>(leaves_.size());
  leaves_.push_back({ValueRef::share(value), dtype, shape});
  leaf_index_.add(value, serial_, slot);
  value->leaf_hint.store(serial_ << 32 | slot, std::memory_order_relaxed);
  return OperandRef::leaf(slot);
}

void Tape::set_operands(Record& record, std::span<const OperandRef> operands) {
  if (operands.size() <= Record::kInlineOperands) {
    record.operand_count = static_cast<std::uint8_t>(operands.size());
    std::copy(operands.begin(), operands.end(), record.operands);
    return;
  }
  record.operand_count = Record::kOperandList;
  record.operands[0].bits = static_cast<std::uint32_t>(operand_lists_.size());
  record.operands[1].bits = static_cast<std::uint32_t>(operands.size());
  operand_lists_.insert(operand_lists_.end(), operands.begin(), operands.end());
}

void Tape::clear() {
  ++version_;
  trim_again_at = 0;
  size_ = 0;
  live_ = 0;
  scalars_.clear();
  operand_lists_.clear();
  if (!leaves_.empty()) {
    leaves_.clear();
    serial_ = next_serial.fetch_add(1, std::memory_order_relaxed);
  }
}

void Tape::mark_ancestors(std::vector<std::uint8_t>& marks) const {
  for (std::uint32_t i = size_; i-- > 0;) {
    if (marks[i] == 0) continue;
    for (const OperandRef operand : operands(records_[i])) {
      if (operand.kind() == OperandRef::Kind::record) marks[operand.index()] = 1;
    }
  }
}

std::vector<std::uint8_t> Tape::mark_live() const {
  std::vector<std::uint8_t> marks(size_);
  for (std::uint32_t i = 0; i < size_; ++i) marks[i] = handles_[i] != nullptr ? 1 : 0;
  mark_ancestors(marks);
  return marks;
}

void Tape::rebuild(std::span<const std::uint8_t> keep, std::span<const Leaf> replacement,
                   void (*moved)(TensorState*, std::uint32_t)) {
  // All memory first: what follows must not stop half-way.
  std::vector<Leaf> old_leaves;
  std::vector<ScalarArgument> old_scalars;
  std::vector<OperandRef> old_lists;
  const auto replaced =
      std::ranges::count_if(replacement, [](const Leaf& leaf) { return static_cast<bool>(leaf.value); });
  const std::size_t most_leaves = leaves_.size() + static_cast<std::size_t>(replaced);
  old_leaves.reserve(most_leaves);
  old_scalars.reserve(scalars_.size());
  old_lists.reserve(operand_lists_.size());
  std::vector<std::uint32_t> new_index(size_, kUnmapped);
  std::vector<OperandRef> mapped;
  mapped.reserve(operand_lists_.size() + Record::kInlineOperands);
  leaf_index_.reserve(most_leaves, serial_);

  ++version_;
  old_leaves.swap(leaves_);
  old_scalars.swap(scalars_);
  old_lists.swap(operand_lists_);
  const std::uint32_t old_size = std::exchange(size_, 0U);
  serial_ = next_serial.fetch_add(1, std::memory_order_relaxed);
  live_ = 0;
  for (std::uint32_t i = 0; i < old_size; ++i) {
    if (keep[i] == 0) continue;
    Record record = records_[i];
    const bool in_list = record.operand_count == Record::kOperandList;
    const std::span<const OperandRef> before =
        in_list ? std::span(old_lists).subspan(record.operands[0].bits, record.operands[1].bits)
                : std::span<const OperandRef>(records_[i].operands, record.operand_count);
    mapped.clear();
    for (const OperandRef operand : before) {
      const std::uint32_t index = operand.index();
      switch (operand.kind()) {
        case OperandRef::Kind::record:
          if (new_index[index] != kUnmapped) {
            mapped.push_back(OperandRef::record(new_index[index]));
          } else {
            const Leaf& leaf = replacement[index];
            mapped.push_back(add_leaf(leaf.value.get(), leaf.dtype, leaf.shape));
          }
          break;
        case OperandRef::Kind::leaf: {
          const Leaf& leaf = old_leaves[index];
          mapped.push_back(add_leaf(leaf.value.get(), leaf.dtype, leaf.shape));
          break;
        }
        case OperandRef::Kind::scalar:
          mapped.push_back(add_scalar(old_scalars[index].value, old_scalars[index].dtype));
          break;
      }
    }
    set_operands(record, mapped);
    // Columns only move towards the front, so what is still to be read is never overwritten.
    TensorState* handle = handles_[i];
    next() = record;
    new_index[i] = commit(Source(sources_[i]), handle);
    if (handle != nullptr) moved(handle, new_index[i]);
  }
  // Records that were made and dropped while another thread had this tape compiled would keep their leaves' memory.
  if (live_ == 0) clear();
}

Tape::Extract Tape::extract(std::span<const std::uint8_t> need, std::span<const std::uint32_t> outputs) const {
  Extract result;
  Graph& graph = result.graph;
  std::vector<std::uint32_t> node_of(size_, kUnmapped);
  std::vector<std::uint32_t> input_of(leaves_.size(), kUnmapped);
  std::vector<OperandRef> mapped;
  for (std::uint32_t i = 0; i < size_; ++i) {
    if (need[i] == 0) continue;
    Record record = records_[i];
    mapped.clear();
    for (const OperandRef operand : operands(records_[i])) {
      const std::uint32_t index = operand.index();
      switch (operand.kind()) {
        case OperandRef::Kind::record:
          mapped.push_back(OperandRef::record(node_of[index]));
          break;
        case OperandRef::Kind::leaf:
          if (input_of[index] == kUnmapped) {
            input_of[index] = static_cast<std::uint32_t>(graph.inputs.size());
            graph.inputs.push_back({leaves_[index].dtype, leaves_[index].shape});
            result.leaf_of.push_back(index);
          }
          mapped.push_back(OperandRef::leaf(input_of[index]));
          break;
        case OperandRef::Kind::scalar:
          mapped.push_back(OperandRef::scalar(static_cast<std::uint32_t>(graph.scalars.size())));
          graph.scalars.push_back(scalars_[index]);
          result.scalar_of.push_back(index);
          break;
      }
    }
    if (mapped.size() <= Record::kInlineOperands) {
      std::copy(mapped.begin(), mapped.end(), record.operands);
    } else {
      record.operands[0].bits = static_cast<std::uint32_t>(graph.operand_lists.size());
      graph.operand_lists.insert(graph.operand_lists.end(), mapped.begin(), mapped.end());
    }
    node_of[i] = static_cast<std::uint32_t>(graph.nodes.size());
    graph.nodes.push_back(record);
    graph.sources.push_back(sources_[i]);
    result.record_of.push_back(i);
  }
  for (const std::uint32_t output : outputs) graph.outputs.push_back(node_of[output]);
  return result;
}

}  // namespace lento
