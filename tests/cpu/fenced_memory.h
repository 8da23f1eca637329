// Memory beside which nothing may be touched.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>
#include <utility>

namespace lento::testing {

/// Memory whose first or last byte has a page next to it that cannot be touched.
class FencedMemory {
 public:
  FencedMemory(std::size_t bytes, bool at_end) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inside = (bytes + page - 1) / page * page;
    size_ = inside + 2 * page;
    map_ = static_cast<std::byte*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (map_ == MAP_FAILED || mprotect(map_ + page, inside, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = map_ + page + (at_end ? inside - bytes : 0);
  }
  FencedMemory(FencedMemory&& other) noexcept
      : map_(std::exchange(other.map_, nullptr)), data_(other.data_), size_(other.size_) {}
  ~FencedMemory() {
    if (map_ != nullptr) munmap(map_, size_);
  }
  std::byte* data() const { return data_; }

 private:
  std::byte* map_;
  std::byte* data_;
  std::size_t size_;
};

}  // namespace lento::testing
