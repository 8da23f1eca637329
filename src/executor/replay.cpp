#include "executor/replay.h"

#include "base/devices.h"
#include "executor/plan_cache.h"

#include <algorithm>

namespace lento {

TapeImage::TapeImage(const Tape& tape, Tape::Extract extract, std::vector<std::uint32_t> outputs, PlanPtr p)
    : plan(std::move(p)),
      records(tape.records().begin(), tape.records().end()),
      operand_lists(tape.operand_list().begin(), tape.operand_list().end()),
      live(std::move(outputs)),
      record_of(std::move(extract.record_of)),
      leaf_of(std::move(extract.leaf_of)),
      scalar_of(std::move(extract.scalar_of)),
      lines(tape.sources().begin(), tape.sources().end()),
      sources(std::make_shared<const std::vector<Source>>(std::move(extract.graph.sources))) {
  for (std::uint32_t i = 0; i < tape.leaf_count(); ++i) leaves.push_back({tape.leaf(i).dtype, tape.leaf(i).shape});
  for (std::uint32_t i = 0; i < tape.scalar_count(); ++i) scalars.push_back(tape.scalar(i).dtype);
}

bool TapeImage::matches(const Tape& tape) const {
  if (tape.live() != live.size() || tape.leaf_count() != leaves.size() || tape.scalar_count() != scalars.size() ||
      !same_bytes<Record>(records, tape.records()) || !same_bytes<OperandRef>(operand_lists, tape.operand_list())) {
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

const SourceList& TapeImage::sources_in(const Tape& tape) {
  // A loop records the same lines every time.
  if (!same_bytes<Source>(lines, tape.sources())) {
    lines.assign(tape.sources().begin(), tape.sources().end());
    std::vector<Source> changed;
    changed.reserve(record_of.size());
    for (const std::uint32_t record : record_of) changed.push_back(lines[record]);
    sources = std::make_shared<const std::vector<Source>>(std::move(changed));
  }
  return sources;
}

std::size_t TapeImage::bytes() const {
  return records.size() * (sizeof(Record) + 2 * sizeof(Source) + sizeof(std::uint32_t)) +
         operand_lists.size() * sizeof(OperandRef) + (leaves.size() + scalars.size() + live.size()) * 16;
}

void Replay::forget_all() {
  for (auto& image : images_) image.reset();
  bytes_ = 0;
}

void Replay::forget_if_stale() {
  if (const std::uint64_t now = plan_cache().epoch(); now != epoch_) {
    forget_all();
    epoch_ = now;
  }
}

TapeImage* Replay::find(const Tape& tape) {
  forget_if_stale();
  const CompileOptions* const now = known_compile_options();
  for (std::size_t tried = 0; tried < kImages; ++tried) {
    const std::size_t at = (next_ + tried) % kImages;
    if (images_[at] == nullptr || images_[at]->plan->options != now || !images_[at]->matches(tape)) continue;
    next_ = (at + 1) % kImages;
    return images_[at].get();
  }
  return nullptr;
}

void Replay::remember(TapeImage image) {
  forget_if_stale();
  const std::size_t bytes = image.bytes();
  if (bytes > kMostBytes) return;
  if (images_[next_] != nullptr) bytes_ -= images_[next_]->bytes();
  images_[next_].reset();
  if (bytes_ + bytes > kMostBytes) forget_all();
  bytes_ += bytes;
  images_[next_] = std::make_unique<TapeImage>(std::move(image));
  next_ = (next_ + 1) % kImages;
}

namespace {

/// Set once the thread's replays are gone; trivially destructible, so that it can still be read then.
constinit thread_local bool replays_ended = false;

struct ThreadReplays {
  // On the heap: the static TLS that a library loaded at run time may use is too small for it.
  std::unique_ptr<std::array<Replay, kMaxDevices>> replays;

  ~ThreadReplays() { replays_ended = true; }
};

}  // namespace

Replay* replay_of(std::uint8_t device) {
  if (replays_ended) return nullptr;
  static thread_local ThreadReplays own;
  if (own.replays == nullptr) own.replays = std::make_unique<std::array<Replay, kMaxDevices>>();
  return &(*own.replays)[device];
}

}  // namespace lento
