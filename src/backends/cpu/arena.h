// Arena: memory for tensors on the CPU. What is freed is kept, by size class, for the next tensor of that size: a
// training step allocates the same sizes every time, and fresh pages from the system cost more than most kernels.
//
// Blocks are aligned to 64 bytes; those of 2 MiB and more to 2 MiB, where the system is asked for huge pages.
// Neighbouring size classes have different locks, so that threads rarely meet. Under AddressSanitizer freed blocks, and
// the rest of a block behind the bytes asked for, are poisoned.
#pragma once

#include "base/buffer.h"
#include "base/memory.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lento::cpu {

class Arena {
 public:
  /// Keeps at most `cache_bound` freed bytes. The arena lives as long as the process: buffers find it when they are
  /// freed.
  Arena(MemoryAccount& account, std::uint8_t device, std::size_t cache_bound);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  /// Frees what is cached; nothing may be in use.
  ~Arena();

  /// Not initialised. Charged to the account; over its limit, or when the system refuses, frees what is cached, then
  /// throws MemoryError.
  BufferRef allocate(std::size_t bytes);

  /// The same for memory that no tensor owns, such as what a library needs while it runs: it counts, and no limit
  /// refuses it.
  void* allocate_scratch(std::size_t bytes);
  void free_scratch(void* data, std::size_t bytes);
  /// The same for what its owner can do without. It counts as cached.
  void* allocate_kept(std::size_t bytes);
  void free_kept(void* data, std::size_t bytes);
  bool is_limited() const { return account_.limit.load(std::memory_order_relaxed) != 0; }

  /// Gives all that is cached back to the system.
  void release_cached();

  /// How large the block for this many bytes is: at most a quarter larger (or 64 bytes).
  static std::size_t block_size(std::size_t bytes);

  /// For an arena that lives as long as the process: a forked child finds none of its locks taken.
  void survive_forks();

 private:
  struct alignas(64) Lock {
    std::mutex mutex;
  };
  struct alignas(64) SizeClass {
    std::vector<void*> blocks;               // free ones, under lock_of; the last one was freed last
    std::atomic<std::uint64_t> last_use{0};  // by clock_, to give back first what has not been used for longest
  };
  // Sizes 64, 128, 192, 256, and from there four steps a doubling.
  static constexpr std::size_t kClasses = 4 * 56;
  static constexpr std::size_t kLocks = 16;

  static std::size_t class_of(std::size_t bytes);
  static std::size_t size_of_class(std::size_t index);
  static void free_buffer(void* data, std::size_t bytes, void* arena);

  void* take(std::size_t bytes);
  void put(void* data, std::size_t bytes) noexcept;
  void release(std::size_t bytes) noexcept;
  std::size_t release_class(std::size_t index, std::size_t bytes) noexcept;
  std::size_t bound() const;
  std::mutex& lock_of(std::size_t index) { return locks_[index % kLocks].mutex; }

  MemoryAccount& account_;
  std::uint8_t device_;
  std::size_t cache_bound_;
  std::atomic<std::uint64_t> clock_{0};  // counts misses and frees
  std::array<Lock, kLocks> locks_;
  std::array<SizeClass, kClasses> classes_;
};

/// The arena of a device of this backend.
Arena& arena_of(std::uint8_t device);

/// Memory of arena_of(device): what tensors on the CPU live in.
BufferRef allocate_cpu(std::size_t bytes, std::uint8_t device);

/// The arena that was made first.
Arena& scratch_arena();

/// Scratch memory for the time of a call, of scratch_arena().
class Scratch {
 public:
  explicit Scratch(std::size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  Arena* arena_;
  std::size_t bytes_;
  void* data_;
};

}  // namespace lento::cpu
