// Ints: a small list of 64-bit integers, kept inline up to six: shapes, axes, strides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

namespace lento {

class Ints {
 public:
  using value_type = std::int64_t;

  Ints() = default;
  Ints(std::initializer_list<std::int64_t> values) : Ints(std::span(values.begin(), values.size())) {}
  explicit Ints(std::span<const std::int64_t> values) {
    reserve(values.size());
    std::copy(values.begin(), values.end(), data());
    size_ = static_cast<std::uint32_t>(values.size());
  }
  Ints(std::size_t count, std::int64_t value) { resize(count, value); }
  template <class It>
    requires requires(It it) {
      *it;
      ++it;
    }
  Ints(It first, It last) {
    for (; first != last; ++first) push_back(static_cast<std::int64_t>(*first));
  }
  Ints(const Ints& other) : Ints(other.span()) {}
  Ints(Ints&& other) noexcept : size_(other.size_), capacity_(other.capacity_), heap_(std::move(other.heap_)) {
    std::copy(other.inline_, other.inline_ + kInline, inline_);
    other.size_ = 0;
    other.capacity_ = kInline;
  }
  Ints& operator=(Ints other) noexcept {
    size_ = other.size_;
    capacity_ = other.capacity_;
    heap_ = std::move(other.heap_);
    std::copy(other.inline_, other.inline_ + kInline, inline_);
    return *this;
  }

  std::int64_t* data() { return heap_ ? heap_.get() : inline_; }
  const std::int64_t* data() const { return heap_ ? heap_.get() : inline_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t* begin() { return data(); }
  std::int64_t* end() { return data() + size_; }
  const std::int64_t* begin() const { return data(); }
  const std::int64_t* end() const { return data() + size_; }
  std::int64_t& operator[](std::size_t i) { return data()[i]; }
  std::int64_t operator[](std::size_t i) const { return data()[i]; }
  std::int64_t& back() { return data()[size_ - 1]; }
  std::int64_t back() const { return data()[size_ - 1]; }
  std::int64_t front() const { return data()[0]; }
  std::span<const std::int64_t> span() const { return {data(), size_}; }
  operator std::span<const std::int64_t>() const { return span(); }

  void push_back(std::int64_t value) {
    reserve(std::size_t{size_} + 1);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(std::size_t count, std::int64_t value = 0) {
    reserve(count);
    if (count > size_) std::fill(data() + size_, data() + count, value);
    size_ = static_cast<std::uint32_t>(count);
  }
  void insert(std::size_t at, std::int64_t value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(std::size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }
  void append(std::span<const std::int64_t> values) {
    for (const std::int64_t v : values) push_back(v);
  }

  friend bool operator==(const Ints& a, const Ints& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  static constexpr std::size_t kInline = 6;

  void reserve(std::size_t wanted) {
    if (wanted <= capacity_) return;
    const std::size_t grown = std::max(wanted, std::size_t{capacity_} * 2);
    auto bigger = std::make_unique<std::int64_t[]>(grown);
    std::copy(data(), data() + size_, bigger.get());
    heap_ = std::move(bigger);
    capacity_ = static_cast<std::uint32_t>(grown);
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInline;
  std::int64_t inline_[kInline] = {};
  std::unique_ptr<std::int64_t[]> heap_;
};

/// The extents of a tensor, outermost first. () is a zero-dimensional tensor of one element.
using Shape = Ints;

/// Elements of a tensor of this shape (1 for ()); -1 when 63 bits cannot count them, so that no tensor has it.
inline std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return -1;
  }
  return count;
}

}  // namespace lento
