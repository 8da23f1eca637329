#include "executor/replay.h"

#include "executor/plan_cache.h"
#include "tensor/tapes.h"

#include <cstring>

namespace lento {

bool TapeImage::matches(const Tape& tape) const {
  if (tape.size() != records.size() || tape.live() != live.size() || tape.leaf_count() != leaves.size() ||
      tape.scalar_count() != scalars.size() || tape.operand_list().size() != operand_lists.size()) {
    return false;
  }
  if (std::memcmp(records.data(), &tape.record(0), records.size() * sizeof(Record)) != 0) return false;
  if (!operand_lists.empty() &&
      std::memcmp(operand_lists.data(), tape.operand_list().data(), operand_lists.size() * sizeof(OperandRef)) != 0) {
    return false;
  }
  // As many live handles as in the image, and one at each of its places: the same places.
  for (const std::uint32_t index : live) {
    if (tape.handle(index) == nullptr) return false;
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Leaf& leaf = tape.leaf(static_cast<std::uint32_t>(i));
    if (leaf.dtype != leaves[i].dtype || leaf.shape != leaves[i].shape) return false;
  }
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (tape.scalar(static_cast<std::uint32_t>(i)).dtype != scalars[i]) return false;
  }
  return true;
}

void Replay::forget_if_stale() {
  if (const std::uint64_t now = plan_cache().epoch(); now != epoch_) {
    for (auto& image : images_) image.reset();
    epoch_ = now;
  }
}

const TapeImage* Replay::find(const Tape& tape) {
  forget_if_stale();
  for (std::size_t tried = 0; tried < kImages; ++tried) {
    const std::size_t at = (next_ + tried) % kImages;
    if (images_[at] == nullptr || !images_[at]->matches(tape)) continue;
    next_ = (at + 1) % kImages;
    return images_[at].get();
  }
  return nullptr;
}

void Replay::remember(TapeImage image) {
  if (image.records.size() > kMaxRecords) return;
  forget_if_stale();
  images_[next_] = std::make_unique<TapeImage>(std::move(image));
  next_ = (next_ + 1) % kImages;
}

Replay& replay_of(std::uint8_t device) {
  static thread_local std::array<Replay, kMaxDevices> replays;
  return replays[device];
}

}  // namespace lento
