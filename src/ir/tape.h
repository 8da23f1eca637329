// Tape: the trace of one thread on one device. Records are appended one after the other; beside them stand a column of
// source lines and a column of live handles, which is also the registry of live tensors, in creation order.
//
// Only the owner thread appends. Everything needs the tape's lock: the owner takes it for a few nanoseconds an op,
// other threads as visitors when they read, evaluate or drop a handle of this tape. Tapes are never freed, only
// recycled (see tensor/tapes.h), so that a visitor that waited for the lock of a tape that became unused is safe.
#pragma once

#include "base/biased_lock.h"
#include "base/source.h"
#include "base/value.h"
#include "ir/graph.h"
#include "ir/leaf_index.h"
#include "ir/record.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lento {

struct TensorState;  // the live handle of a record; the tensor layer defines it

/// A value that records read, there already or still being computed. The same value is one leaf.
struct Leaf {
  ValueRef value;
  DType dtype = DType::float32;
  ShapeId shape{};
};

class Tape {
 public:
  explicit Tape(std::uint8_t device);
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  const std::uint8_t device;
  BiasedLock lock;
  std::uint32_t trim_again_at = 0;  // records before which trimming is not worth another attempt; the executor's

  // --- recording ---

  /// The place of the next record, to be filled in whole and then committed. Filled in place because copying a record
  /// that was just built elsewhere field by field stalls on store forwarding, twice as long as everything else here.
  Record& next() {
    if (size_ == capacity_) [[unlikely]]
      grow();
    return records_[size_];
  }
  /// Makes the record that was filled in part of the tape; `handle` may be null.
  std::uint32_t commit(const Source& source, TensorState* handle) {
    Source& place = sources_[size_];
    place.unit = source.unit;
    place.position = source.position;
    place.scope = source.scope;
    handles_[size_] = handle;
    live_ += handle != nullptr ? 1U : 0U;
    return size_++;
  }
  OperandRef add_leaf(Value* value, DType dtype, ShapeId shape) {
    const std::uint64_t hint = value->leaf_hint.load(std::memory_order_relaxed);
    const auto slot = static_cast<std::uint32_t>(hint);
    if (hint >> 32 == static_cast<std::uint32_t>(serial_) && slot < leaves_.size()) [[likely]] {
      const Leaf& leaf = leaves_[slot];
      if (leaf.value.get() == value) return OperandRef::leaf(slot);
    }
    return find_or_add_leaf(value, dtype, shape);
  }
  OperandRef add_scalar(const Scalar& value, DType dtype) {
    scalars_.push_back({value, dtype});
    return OperandRef::scalar(static_cast<std::uint32_t>(scalars_.size() - 1));
  }
  /// Sets the record's operand fields; more than three go to the tape's list.
  void set_operands(Record& record, std::span<const OperandRef> operands);

  /// The record's handle is gone. When it was the last one, nobody can ask for anything: everything is forgotten.
  void drop_handle(std::uint32_t index) {
    handles_[index] = nullptr;
    if (--live_ == 0) clear();
  }

  // --- reading ---

  std::uint32_t size() const { return size_; }
  /// Records that a live handle names.
  std::uint32_t live() const { return live_; }
  const Record& record(std::uint32_t index) const { return records_[index]; }
  std::span<const Record> records() const { return {records_.get(), size_}; }
  std::span<const Source> sources() const { return {sources_.get(), size_}; }
  const Source& source(std::uint32_t index) const { return sources_[index]; }
  TensorState* handle(std::uint32_t index) const { return handles_[index]; }
  const Leaf& leaf(std::uint32_t index) const { return leaves_[index]; }
  const ScalarArgument& scalar(std::uint32_t index) const { return scalars_[index]; }
  std::span<const OperandRef> operands(const Record& record) const {
    if (record.operand_count != Record::kOperandList) return {record.operands, record.operand_count};
    return {operand_lists_.data() + record.operands[0].bits, record.operands[1].bits};
  }
  std::size_t leaf_count() const { return leaves_.size(); }
  std::size_t scalar_count() const { return scalars_.size(); }
  std::span<const OperandRef> operand_list() const { return operand_lists_; }
  /// Changes whenever records move or go; what was learnt of the tape before does not hold afterwards.
  std::uint64_t version() const { return version_; }

  // --- whole-tape operations, all linear and without recursion ---

  /// Marks (1) every record from which one of the already marked ones is computed. `marks` has one byte a record.
  void mark_ancestors(std::vector<std::uint8_t>& marks) const;
  /// Marks every record that a live handle reaches.
  std::vector<std::uint8_t> mark_live() const;
  /// Keeps only the records with keep[i] != 0. Operands that refer to a dropped record are looked up in `replacement`
  /// (one leaf a record; used where the record has been computed). `moved(handle, index)` hears of each live handle's
  /// new index.
  void rebuild(std::span<const std::uint8_t> keep, std::span<const Leaf> replacement,
               void (*moved)(TensorState*, std::uint32_t));
  void clear();

  /// A part of the tape as a graph of its own: the records with need[i] != 0, which must include their ancestors.
  struct Extract {
    Graph graph;
    std::vector<std::uint32_t> record_of;  // tape index of each node
    std::vector<std::uint32_t> leaf_of;    // tape leaf of each graph input
    std::vector<std::uint32_t> scalar_of;  // tape number of each graph scalar
  };
  /// `outputs` are tape indices in ascending order, all of them needed.
  Extract extract(std::span<const std::uint8_t> need, std::span<const std::uint32_t> outputs) const;

 private:
  void grow();
  OperandRef find_or_add_leaf(Value* value, DType dtype, ShapeId shape);

  // One capacity for the three columns, so that appending checks once.
  std::unique_ptr<Record[]> records_;
  std::unique_ptr<Source[]> sources_;
  std::unique_ptr<TensorState*[]> handles_;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
  std::uint32_t live_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t serial_;  // told apart in Value::leaf_hint (by its lower half); changes when the leaves are forgotten
  std::vector<Leaf> leaves_;
  LeafIndex leaf_index_;
  std::vector<ScalarArgument> scalars_;
  std::vector<OperandRef> operand_lists_;
};

}  // namespace lento
