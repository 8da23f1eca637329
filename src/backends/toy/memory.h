// The memory of a toy device. It is there twice in the address space of the process: where the device's own threads
// read and write it, and, for everybody else, as addresses that fault.
#pragma once

#include "backend/free_blocks.h"

#include <atomic>
#include <cstddef>
#include <utility>

namespace lento::toy {

/// For whoever breaks the contract of a device (backend/driver.h): tests see it at once.
[[noreturn]] void end_process(const char* why);

class Memory {
 public:
  Memory();

  /// An address of the device; null when there is no room. For the compute queue, memory may still be in use by what is
  /// queued there already.
  void* allocate(std::size_t bytes, bool for_compute);
  /// `unused_from`: where in the compute queue nothing uses it any more.
  void free(void* address, std::size_t bytes, FenceRef unused_from) {
    free_.give(address, block_of(bytes), std::move(unused_from));
  }

  /// Where the device's threads find what lies at an address of the device; null for null. An address that is none ends
  /// the process: hardware would do worse.
  template <class T>
  T* own(T* address) const {
    return address == nullptr ? nullptr : static_cast<T*>(inside(address));
  }

 private:
  static std::size_t block_of(std::size_t bytes);
  void* inside(const void* address) const;

  std::byte* const outside_;  // addresses that are given out
  std::byte* const inside_;
  std::atomic<std::size_t> used_{0};
  FreeBlocks free_;
};

}  // namespace lento::toy
