// The memory of a toy device. It is there twice in the address space of the process: where the device's own threads
// read and write it, and, for everybody else, as addresses that fault.
#pragma once

#include "base/fence.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace lento::toy {

class Memory {
 public:
  Memory();

  /// An address of the device; null when there is no room. For the compute queue, memory may still be in use by what is
  /// queued there already.
  void* allocate(std::size_t bytes, bool for_compute);
  /// `free_from`: where in the compute queue nothing uses it any more.
  void free(void* address, std::size_t bytes, FenceRef free_from);

  /// Where the device's threads find what lies at an address of the device. An address that is none ends the process:
  /// hardware would do worse.
  std::byte* own(const void* address) const;

 private:
  struct Free {
    std::byte* address;
    FenceRef from;
  };

  std::byte* outside_ = nullptr;  // addresses that are given out
  std::byte* inside_ = nullptr;
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::map<std::size_t, std::vector<Free>> free_;  // by size
};

}  // namespace lento::toy
