#include "base/interner.h"

#include "base/fail.h"
#include "base/fork.h"

namespace lento {

namespace {

/// The last ids this thread interned, by table and hash: direct-mapped, so it never grows. Entries are verified.
struct RecentEntry {
  const IntListTable* table = nullptr;
  std::uint64_t hash = 0;
  std::uint32_t id = 0;
};
constexpr std::size_t kRecent = 256;
struct RecentEntries {
  RecentEntry entries[kRecent];
};
// Reached through a pointer: the static TLS that a library loaded at run time may use is too small for the array.
[[gnu::tls_model("initial-exec")]] constinit thread_local RecentEntries* recent = nullptr;

RecentEntries* make_recent() {
  static thread_local std::unique_ptr<RecentEntries> owner;
  owner = std::make_unique<RecentEntries>();
  return recent = owner.get();
}

bool equal(const Ints& list, std::span<const std::int64_t> values) {
  return std::equal(list.begin(), list.end(), values.begin(), values.end());
}

}  // namespace

std::uint64_t hash_ints([[maybe_unused]] std::span<const std::int64_t> values) {
#if defined(LENTO_CONSTANT_HASH)
  return 0;
#else
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL + values.size();
  for (const std::int64_t value : values) {
    hash ^= static_cast<std::uint64_t>(value);
    hash *= 0xff51afd7ed558ccdULL;  // the multiply-xorshift step of MurmurHash3's finaliser
    hash ^= hash >> 32;
  }
  return hash;
#endif
}

IntListTable::IntListTable(Check check) : check_(check) { intern({}); }

void IntListTable::keep_free_in_forked_children() { lock_while_forking(mutex_, ForkOrder::interner); }

std::uint32_t IntListTable::intern(std::span<const std::int64_t> values) {
  const std::uint64_t hash = hash_ints(values);
  RecentEntry& entry = (recent == nullptr ? make_recent() : recent)->entries[hash % kRecent];
  if (entry.table == this && entry.hash == hash && equal(get(entry.id), values)) return entry.id;
  const std::uint32_t id = intern_slow(values, hash);
  entry = {this, hash, id};
  return id;
}

std::uint32_t IntListTable::intern_slow(std::span<const std::int64_t> values, std::uint64_t hash) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = ids_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (equal(get(it->second), values)) return it->second;
  }
  if (check_ != nullptr) check_(values);
  const std::uint32_t id = size_.load(std::memory_order_relaxed);
  const Place place = place_of(id);
  if (place.segment >= std::size(segments_)) fail<MemoryError>("too many distinct shapes or attributes");
  if (place.offset == 0) {
    segments_[place.segment].store(std::make_unique<Ints[]>(std::size_t{1} << (kFirstBits + place.segment)).release(),
                                   std::memory_order_release);
  }
  segments_[place.segment].load(std::memory_order_relaxed)[place.offset] = Ints(values);
  ids_.emplace(hash, id);
  size_.store(id + 1, std::memory_order_release);
  return id;
}

}  // namespace lento
