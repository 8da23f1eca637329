// Replay: recognises a step that this thread has taken lately by comparing its tape as bytes, without looking at a
// single op. What a loop does over and over costs a few hundred nanoseconds to recognise.
#pragma once

#include "executor/plan.h"
#include "ir/tape.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace lento {

/// A whole tape as it was when it was evaluated completely, and how the plan's arguments lie in it.
struct TapeImage {
  PlanPtr plan;
  std::vector<Record> records;
  std::vector<OperandRef> operand_lists;
  std::vector<GraphInput> leaves;        // dtype and shape of each leaf
  std::vector<DType> scalars;            // dtype of each number
  std::vector<std::uint32_t> live;       // records with a live handle: the plan's outputs, in order
  std::vector<std::uint32_t> leaf_of;    // tape leaf of each input of the plan
  std::vector<std::uint32_t> scalar_of;  // tape number of each scalar of the plan

  bool matches(const Tape& tape) const;
};

/// The last few images of a thread, tried in the order they followed each other.
class Replay {
 public:
  /// The image that equals this tape, or null.
  const TapeImage* find(const Tape& tape);
  void remember(TapeImage image);

 private:
  static constexpr std::size_t kImages = 8;
  static constexpr std::size_t kMaxRecords = 16384;  // longer tapes are recognised by hash: comparing is not the cost there

  void forget_if_stale();

  std::array<std::unique_ptr<TapeImage>, kImages> images_;
  std::size_t next_ = 0;  // the image after the one that matched last
  std::uint64_t epoch_ = 0;
};

/// The calling thread's images for this device.
Replay& replay_of(std::uint8_t device);

}  // namespace lento
