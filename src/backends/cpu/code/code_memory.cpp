#include "backends/cpu/code/code_memory.h"

#include "base/fail.h"
#include "base/fork.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <system_error>
#include <vector>

namespace lento::cpu {

namespace {

constexpr std::size_t kSlabBytes = std::size_t{4} << 20;
constexpr int kRunnable = PROT_READ | PROT_EXEC;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

struct Slab {
  std::vector<bool> used;  // one per page
  std::size_t used_pages = 0;

  /// The first of `pages` free pages in a row, or how many pages there are.
  std::size_t find(std::size_t pages) const {
    if (used.size() - used_pages < pages) return used.size();
    const auto first = std::search_n(used.begin(), used.end(), static_cast<std::ptrdiff_t>(pages), false);
    return static_cast<std::size_t>(first - used.begin());
  }

  void mark(std::size_t first, std::size_t pages, bool value) {
    const auto begin = used.begin() + static_cast<std::ptrdiff_t>(first);
    std::fill_n(begin, pages, value);
    used_pages += value ? pages : -pages;
  }
};

/// A mapping that can be executed and stays one mapping, whichever of its pages are written to in between: for that all
/// of them must have been writable (the system then counts them all as memory it promised), and one must have been
/// touched (the parts of a split mapping then know that they belong together). Null when the system has no room.
std::byte* map_slab(std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  ::madvise(at, bytes, MADV_NOHUGEPAGE);  // a page is touched, not half of the slab
  static_cast<volatile std::byte*>(at)[0] = std::byte{0};
  if (::mprotect(at, bytes, kRunnable) == 0) return static_cast<std::byte*>(at);
  const int reason = errno;
  ::munmap(at, bytes);
  errno = reason;
  return nullptr;
}

struct Slabs {
  ForkMutex mutex{ForkOrder::memory};
  std::map<std::byte*, Slab> all;  // by their beginning

  std::span<std::byte> take(std::size_t pages) {
    const std::lock_guard lock(mutex);
    for (auto& [begin, slab] : all) {
      const std::size_t first = slab.find(pages);
      if (first == slab.used.size()) continue;
      slab.mark(first, pages, true);
      return {begin + first * page_bytes(), pages * page_bytes()};
    }
    Slab slab;
    slab.used.resize(std::max(pages, kSlabBytes / page_bytes()), false);
    slab.mark(0, pages, true);
    std::byte* const begin = map_slab(slab.used.size() * page_bytes());
    if (begin == nullptr) return {};
    all.emplace(begin, std::move(slab));
    return {begin, pages * page_bytes()};
  }

  void put(std::span<std::byte> pages) {
    const std::lock_guard lock(mutex);
    const auto it = std::prev(all.upper_bound(pages.data()));
    auto& [begin, slab] = *it;
    slab.mark(static_cast<std::size_t>(pages.data() - begin) / page_bytes(), pages.size() / page_bytes(), false);
    // An empty slab is kept if it is the only one, so that a kernel that comes and goes does not map it every time.
    if (slab.used_pages == 0 && all.size() > 1) {
      ::munmap(begin, slab.used.size() * page_bytes());
      all.erase(it);
    } else {
      ::madvise(pages.data(), pages.size(), MADV_DONTNEED);
    }
  }
};

}  // namespace

CodeMemory::CodeMemory(std::size_t bytes)
    : pages_(ProcessLifetime<Slabs>::get().take(std::max<std::size_t>((bytes + page_bytes() - 1) / page_bytes(), 1))) {
  if (!pages_.empty()) return;
  if (errno == ENOMEM || errno == EAGAIN) fail<MemoryError>("cpu: no memory for {} bytes of code", bytes);
  fail<BackendError>("cpu: no memory for {} bytes of code: {}", bytes, std::generic_category().message(errno));
}

CodeMemory::~CodeMemory() { ProcessLifetime<Slabs>::get().put(pages_); }

void CodeMemory::write(std::span<const std::byte> code) {
  const auto protect = [this](int access) {
    if (::mprotect(pages_.data(), pages_.size(), access) == 0) return;
    if (errno == ENOMEM) fail<MemoryError>("cpu: no memory for code");
    fail<BackendError>("cpu: cannot change the protection of memory for code: {}",
                       std::generic_category().message(errno));
  };
  protect(PROT_READ | PROT_WRITE);
  std::ranges::copy(code, pages_.begin());
  protect(kRunnable);
  __builtin___clear_cache(reinterpret_cast<char*>(pages_.data()), reinterpret_cast<char*>(pages_.data() + bytes()));
}

std::size_t code_slabs() {
  Slabs& slabs = ProcessLifetime<Slabs>::get();
  const std::lock_guard lock(slabs.mutex);
  return slabs.all.size();
}

}  // namespace lento::cpu
