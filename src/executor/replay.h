// Replay: recognises a step that this thread has taken lately by comparing its tape as bytes, without looking at a
// single op. What a loop does over and over costs a few hundred nanoseconds to recognise.
#pragma once

#include "executor/run.h"
#include "ir/tape.h"

#include <array>
#include <cstddef>
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
  std::vector<std::uint32_t> record_of;  // tape record of each node of the plan
  std::vector<std::uint32_t> leaf_of;    // tape leaf of each input of the plan
  std::vector<std::uint32_t> scalar_of;  // tape number of each scalar of the plan
  std::vector<Source> lines;             // the tape's lines, last time
  SourceList sources;                    // those of the plan's nodes

  TapeImage(const Tape& tape, Tape::Extract extract, std::vector<std::uint32_t> outputs, PlanPtr plan);
  bool matches(const Tape& tape) const;
  /// The lines of the plan's nodes in this tape, which matches.
  const SourceList& sources_in(const Tape& tape);
  std::size_t bytes() const;
};

/// The last few images of a thread, tried in the order they followed each other.
class Replay {
 public:
  /// The image that equals this tape, or null.
  TapeImage* find(const Tape& tape);
  void remember(TapeImage image);

 private:
  static constexpr std::size_t kImages = 8;
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;  // of all images together

  void forget_if_stale();
  void forget_all();

  std::array<std::unique_ptr<TapeImage>, kImages> images_;
  std::size_t next_ = 0;  // the image after the one that matched last
  std::size_t bytes_ = 0;
  std::uint64_t epoch_ = 0;
};

/// The calling thread's images for this device; null once the thread ends, while destructors of its variables may still
/// compute.
Replay* replay_of(std::uint8_t device);

}  // namespace lento
