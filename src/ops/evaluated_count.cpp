#include "ops/evaluated_count.h"

#include "base/value.h"
#include "ops/composite_helpers.h"
#include "ops/evaluated_count.calls.gen.h"
#include "tensor/state.h"
#include "tensor/watch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace lento::composite {

namespace {

/// Counts by the ids of what was counted. An id is never used again and its value never changes (lasts() says which
/// values do), so that an answer cannot grow old, and nothing is kept alive for it.
class RecentCounts {
 public:
  std::optional<std::int64_t> find(std::uint64_t id) const {
    const auto* const found = std::ranges::find(entries_, id, &Entry::id);
    return found == entries_.end() ? std::nullopt : std::optional(found->count);
  }
  void add(std::uint64_t id, std::int64_t count) {
    entries_[next_] = {id, count};
    next_ = (next_ + 1) % entries_.size();
  }

 private:
  struct Entry {
    std::uint64_t id = 0;  // no value has this one
    std::int64_t count = 0;
  };

  std::array<Entry, 4> entries_;
  std::size_t next_ = 0;
};

constinit thread_local RecentCounts recent_counts;

/// False for memory that somebody else may change between steps (clause X2), for a view of it, which stays pending, and
/// for what another library was given: these are counted every time. So is what another thread has stepped and no run
/// has begun to write, since it has no buffer yet.
bool lasts(const TensorState& state) {
  if (state.pending() || !state.value->issued()) return false;
  const BufferRef& buffer = state.value->buffer;
  return buffer && !buffer->shared() && !buffer->exported();
}

}  // namespace

std::int64_t evaluated_count(const Tensor& x) {
  const TensorState& state = state_of(x);
  if (const std::optional<std::int64_t> known = lasts(state) ? recent_counts.find(state.id) : std::nullopt) {
    // Who watches must hear of it: what is recorded from here on depends on the values.
    tell_watchers([&](Watcher& watcher) { watcher.reading(state); });
    return *known;
  }
  const Tensor mask = is_bool(x.dtype()) ? x : not_equal(x, 0);
  const auto count = count_true(mask, all_axes(x.rank())).item<std::int64_t>();
  if (lasts(state)) recent_counts.add(state.id, count);
  return count;
}

}  // namespace lento::composite
