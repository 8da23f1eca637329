#include "backends/cpu/arena.h"

#include "backends/cpu/libraries/prepared_weights.h"
#include "base/fail.h"
#include "base/fork.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#if !defined(ASAN_POISON_MEMORY_REGION)
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace lento::cpu {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Sizes beyond this have no class and no machine has them.
constexpr std::size_t kLargest = std::size_t{1} << 60;

/// Null when the system refuses.
void* map_huge(std::size_t bytes) {
  // One huge page more than needed, of which the ends are given back, so that the rest is aligned.
  const std::size_t mapped = bytes + kHugePage;
  void* whole = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(whole);
  const std::uintptr_t aligned = (begin + kHugePage - 1) / kHugePage * kHugePage;
  auto* const start = static_cast<std::byte*>(whole);
  const std::size_t before = aligned - begin;
  if (before != 0) munmap(start, before);
  munmap(start + before + bytes, mapped - before - bytes);
  madvise(start + before, bytes, MADV_HUGEPAGE);  // refused where there are none, which is fine
  return start + before;
}

void* system_allocate(std::size_t size) {
  return size < kHugePage ? std::aligned_alloc(kAlignment, size) : map_huge(size);
}

void system_free(void* data, std::size_t size) noexcept {
  ASAN_UNPOISON_MEMORY_REGION(data, size);
  if (size < kHugePage) {
    std::free(data);
  } else {
    munmap(data, size);
  }
}

}  // namespace

Arena::Arena(MemoryAccount& account, std::uint8_t device, std::size_t cache_bound)
    : account_(account), device_(device), cache_bound_(cache_bound) {}

Arena::~Arena() { release_cached(); }

std::size_t Arena::class_of(std::size_t bytes) {
  const std::size_t lines = bytes == 0 ? 1 : (bytes - 1) / kAlignment + 1;
  if (lines <= 4) return lines - 1;
  // With 2^e < lines <= 2^(e+1): quarter q of four above 2^e.
  const auto exponent = static_cast<std::size_t>(std::bit_width(lines - 1)) - 1;
  const std::size_t quarter = (lines - 1 - (std::size_t{1} << exponent)) >> (exponent - 2);
  return 4 * (exponent - 1) + quarter;
}

std::size_t Arena::size_of_class(std::size_t index) {
  if (index < 4) return (index + 1) * kAlignment;
  const std::size_t exponent = index / 4 + 1;
  // NOLINTNEXTLINE(clang-analyzer-core.BitwiseShift): an index is less than kClasses
  return ((std::size_t{4} + index % 4 + 1) << (exponent - 2)) * kAlignment;
}

std::size_t Arena::block_size(std::size_t bytes) { return size_of_class(class_of(bytes)); }

std::size_t Arena::bound() const {
  const std::size_t limit = account_.limit.load(std::memory_order_relaxed);
  if (limit == 0) return cache_bound_;
  const std::size_t live = account_.live.load(std::memory_order_relaxed);
  return std::min(cache_bound_, limit - std::min(limit, live));
}

void* Arena::take(std::size_t bytes) {
  if (bytes > kLargest) return nullptr;
  const std::size_t index = class_of(bytes);
  const std::size_t size = size_of_class(index);
  SizeClass& sizes = classes_[index];
  void* data = nullptr;
  {
    const std::lock_guard lock(lock_of(index));
    if (!sizes.blocks.empty()) {
      data = sizes.blocks.back();
      sizes.blocks.pop_back();
      account_.cached.fetch_sub(size, std::memory_order_relaxed);
    }
  }
  sizes.last_use.store(clock_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  if (data == nullptr) {
    clock_.fetch_add(1, std::memory_order_relaxed);
    // What is cached counts against the limit too; it goes first.
    const std::size_t cached = account_.cached.load(std::memory_order_relaxed);
    if (const std::size_t most = bound(); cached > most) {
      if (is_limited()) drop_prepared_weights();
      release(cached - most);
    }
    data = system_allocate(size);
    if (data == nullptr) {
      drop_prepared_weights();
      release_cached();
      data = system_allocate(size);
    }
    if (data == nullptr) return nullptr;
  }
  ASAN_POISON_MEMORY_REGION(data, size);
  ASAN_UNPOISON_MEMORY_REGION(data, bytes);
  return data;
}

void Arena::put(void* data, std::size_t bytes) noexcept {
  const std::size_t index = class_of(bytes);
  const std::size_t size = size_of_class(index);
  SizeClass& sizes = classes_[index];
  sizes.last_use.store(clock_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  const std::size_t most = bound();
  if (size > most) {
    system_free(data, size);
    return;
  }
  // Counted before it can be taken, so that the count never falls below zero.
  const std::size_t cached = account_.cached.fetch_add(size, std::memory_order_relaxed) + size;
  ASAN_POISON_MEMORY_REGION(data, size);
  try {
    const std::lock_guard lock(lock_of(index));
    sizes.blocks.push_back(data);
  } catch (...) {  // no memory for the list
    account_.cached.fetch_sub(size, std::memory_order_relaxed);
    system_free(data, size);
    return;
  }
  if (cached > most) release(cached - most);
}

std::size_t Arena::release_class(std::size_t index, std::size_t bytes) noexcept {
  const std::size_t size = size_of_class(index);
  SizeClass& sizes = classes_[index];
  std::size_t released = 0;
  while (released < bytes) {
    void* data = nullptr;
    {
      const std::lock_guard lock(lock_of(index));
      if (sizes.blocks.empty()) break;
      data = sizes.blocks.back();
      sizes.blocks.pop_back();
      account_.cached.fetch_sub(size, std::memory_order_relaxed);
    }
    system_free(data, size);
    released += size;
  }
  return released;
}

void Arena::release(std::size_t bytes) noexcept {
  // Whole classes, the one that was used longest ago first.
  std::array<std::pair<std::uint64_t, std::size_t>, kClasses> order;
  for (std::size_t i = 0; i < kClasses; ++i) order[i] = {classes_[i].last_use.load(std::memory_order_relaxed), i};
  std::sort(order.begin(), order.end());
  std::size_t released = 0;
  for (const auto& [last_use, index] : order) {
    if (released >= bytes) return;
    released += release_class(index, bytes - released);
  }
}

void Arena::release_cached() {
  for (std::size_t i = 0; i < kClasses; ++i) release_class(i, std::numeric_limits<std::size_t>::max());
}

void Arena::free_buffer(void* data, std::size_t bytes, void* arena) {
  auto& self = *static_cast<Arena*>(arena);
  forget_prepared_weights(data);
  self.account_.credit(bytes);
  self.put(data, bytes);
}

BufferRef Arena::allocate(std::size_t bytes) {
  account_.charge(bytes);
  void* data = take(bytes);
  if (data == nullptr) {
    account_.credit(bytes);
    fail<MemoryError>("cannot allocate {} bytes of host memory ({} in use)", bytes, account_.live.load());
  }
  account_.raise_peak();
  return Buffer::wrap(data, bytes, device_, free_buffer, this);
}

void* Arena::allocate_scratch(std::size_t bytes) {
  void* data = take(bytes);
  if (data == nullptr) fail<MemoryError>("cannot allocate {} bytes of scratch memory", bytes);
  account_.working.fetch_add(bytes, std::memory_order_relaxed);
  account_.raise_peak();
  return data;
}

void Arena::free_scratch(void* data, std::size_t bytes) {
  account_.working.fetch_sub(bytes, std::memory_order_relaxed);
  put(data, bytes);
}

void* Arena::allocate_kept(std::size_t bytes) {
  void* data = take(bytes);
  if (data == nullptr) fail<MemoryError>("cannot allocate {} bytes to keep", bytes);
  account_.cached.fetch_add(bytes, std::memory_order_relaxed);
  return data;
}

void Arena::free_kept(void* data, std::size_t bytes) {
  account_.cached.fetch_sub(bytes, std::memory_order_relaxed);
  put(data, bytes);
}

void Arena::survive_forks() {
  for (Lock& lock : locks_) lock_while_forking(lock.mutex, ForkOrder::memory);
}

namespace {

/// What an arena keeps at most: a quarter of the machine's memory.
std::size_t default_cache_bound() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_size <= 0) return std::size_t{1} << 30;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_size) / 4;
}

std::array<std::atomic<Arena*>, kMaxDevices> arenas;
std::atomic<int> scratch_device{-1};

}  // namespace

Arena& arena_of(std::uint8_t device) {
  Arena* arena = arenas[device].load(std::memory_order_acquire);
  if (arena != nullptr) return *arena;
  // Without a lock, which a fork could leave taken: of two threads that make it one wins.
  auto made = std::make_unique<Arena>(memory_account(device), device, default_cache_bound());
  if (!arenas[device].compare_exchange_strong(arena, made.get())) return *arena;
  made->survive_forks();
  int none = -1;
  scratch_device.compare_exchange_strong(none, device);
  return *made.release();  // lives as long as the process
}

BufferRef allocate_cpu(std::size_t bytes, std::uint8_t device) { return arena_of(device).allocate(bytes); }

Arena& scratch_arena() {
  const int device = scratch_device.load(std::memory_order_relaxed);
  return arena_of(device < 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(device));
}

Scratch::Scratch(std::size_t bytes) : arena_(&scratch_arena()), bytes_(bytes), data_(arena_->allocate_scratch(bytes)) {}

Scratch::~Scratch() { arena_->free_scratch(data_, bytes_); }

}  // namespace lento::cpu
