#include "base/address_space.h"

#include <execinfo.h>
#include <sys/mman.h>

#include <new>

namespace lento {

namespace {

// An exception that passes C code makes glibc load what it unwinds with, and end the process when there is no memory
// for that. So it is loaded now.
[[maybe_unused]] const bool can_unwind = [] {
  void* frame = nullptr;
  return ::backtrace(&frame, 1) >= 0;
}();

}  // namespace

void require_address_space(std::size_t bytes) {
  void* const probe = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) throw std::bad_alloc();
  ::munmap(probe, bytes);
}

}  // namespace lento
