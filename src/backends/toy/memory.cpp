#include "backends/toy/memory.h"

#include "base/fail.h"

#include <sys/mman.h>

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

}  // namespace

void end_process(const char* why) {
  std::fprintf(stderr, "toy: %s\n", why);
  std::abort();
}

std::size_t Memory::block_of(std::size_t bytes) { return (bytes + kAlignment) / kAlignment * kAlignment; }

Memory::Memory() : outside_(reserve(PROT_NONE)), inside_(reserve(PROT_READ | PROT_WRITE)) {}

void* Memory::allocate(std::size_t bytes, bool for_compute) {
  const std::size_t block = block_of(bytes);
  if (void* const again = free_.take(block, for_compute)) return again;
  std::size_t used = used_;
  do {
    if (block > kSize - used) return nullptr;
  } while (!used_.compare_exchange_weak(used, used + block));
  return outside_ + used;
}

void* Memory::inside(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  if (at < outside_ || at > outside_ + kSize) end_process("an address that is none of this device");
  return inside_ + (at - outside_);
}

}  // namespace lento::toy
