#include "backends/toy/memory.h"

#include "base/fail.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace lento::toy {

namespace {

constexpr std::size_t kSize = std::size_t{1} << 32;
constexpr std::size_t kAlignment = 64;

std::byte* reserve(int protection) {
  void* const at = mmap(nullptr, kSize, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) fail<MemoryError>("there is no room for the memory of a toy device");
  return static_cast<std::byte*>(at);
}

std::size_t block_of(std::size_t bytes) { return (bytes + kAlignment) / kAlignment * kAlignment; }

}  // namespace

Memory::Memory() : outside_(reserve(PROT_NONE)), inside_(reserve(PROT_READ | PROT_WRITE)) {}

void* Memory::allocate(std::size_t bytes, bool for_compute) {
  const std::size_t block = block_of(bytes);
  const std::lock_guard lock(mutex_);
  std::vector<Free>& free = free_[block];
  const auto found = std::ranges::find_if(free, [&](const Free& it) { return for_compute || it.from->done(); });
  if (found != free.end()) {
    void* const address = found->address;
    free.erase(found);
    return address;
  }
  if (block > kSize - used_) return nullptr;
  used_ += block;
  return outside_ + used_ - block;
}

void Memory::free(void* address, std::size_t bytes, FenceRef free_from) {
  const std::lock_guard lock(mutex_);
  free_[block_of(bytes)].push_back({static_cast<std::byte*>(address), std::move(free_from)});
}

std::byte* Memory::own(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  if (at < outside_ || at > outside_ + kSize) {
    std::fprintf(stderr, "toy: %p is no address of this device\n", address);
    std::abort();
  }
  return inside_ + (at - outside_);
}

}  // namespace lento::toy
