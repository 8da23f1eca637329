// Ints: a small list of 64-bit integers, kept inline up to six: shapes, axes, strides. OptionalInts: such a list or
// nothing. Functions take them as what the caller has: `zeros(3)`, `zeros({2, n})`, `zeros(std::vector<int>{2, 3})`.
#pragma once

#include <lento/dtype.h>
#include <lento/export.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

namespace lento {

/// An integer of any type but bool, or a plain enumerator.
template <class T>
concept Integer = (IntegerType<std::remove_cvref_t<T>> && !std::same_as<std::remove_cvref_t<T>, bool>) ||
                  (std::is_enum_v<std::remove_cvref_t<T>> && std::convertible_to<T, std::int64_t>);

/// std::vector, std::array, std::span, arrays, views and whatever else can be looped over, of integers.
template <class R>
concept IntegerRange = requires(R& values) {
  std::ranges::end(values);
  requires Integer<decltype(*std::ranges::begin(values))>;
};

namespace detail {

template <class T, class... Others>
concept NoneOf = (!std::same_as<std::remove_cvref_t<T>, Others> && ...);

}  // namespace detail

class Ints {
 public:
  using value_type = std::int64_t;

  /// What may stand between braces: an integer of any type. One beyond 63 bits counts as the largest there is.
  struct Item {
    template <Integer T>
    constexpr Item(T number) : value(static_cast<std::int64_t>(number)) {
      if constexpr (std::unsigned_integral<T> && sizeof(T) == sizeof(value)) {
        if (value < 0) value = std::numeric_limits<std::int64_t>::max();
      }
    }

    std::int64_t value;
  };

  /// A position with a sign, and the line that asks for it.
  struct Position {
    template <std::signed_integral T>
    Position(T number, const std::source_location& where = std::source_location::current())
        : value(number), site(where) {}

    std::int64_t value;
    std::source_location site;
  };

  Ints() = default;
  Ints(std::initializer_list<Item> values) {
    reserve(values.size());
    std::int64_t* next = data();
    for (const Item& item : values) *next++ = item.value;
    size_ = static_cast<std::uint32_t>(values.size());
  }
  /// One integer makes a list of one.
  template <Integer T>
  Ints(T value) : size_(1), inline_{Item(value).value} {}
  // What is cheap to exclude comes first: whether something is a range takes long to compile. For the same reason there
  // is no constructor for a span alone.
  template <class R>
    requires detail::NoneOf<R, Ints, std::initializer_list<Item>> && IntegerRange<R>
  Ints(R&& values) {
    if constexpr (std::same_as<std::remove_cvref_t<R>, std::span<const std::int64_t>>) {
      assign(values.data(), values.size());
    } else {
      for (const auto value : values) push_back(Item(value).value);
    }
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
  Ints(const Ints& other) { assign(other.data(), other.size_); }
  Ints(Ints&& other) noexcept { take(other); }
  Ints& operator=(Ints other) noexcept {
    delete[] heap_;
    take(other);
    return *this;
  }
  ~Ints() { delete[] heap_; }

  std::int64_t* data() { return heap_ != nullptr ? heap_ : inline_; }
  const std::int64_t* data() const { return heap_ != nullptr ? heap_ : inline_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t* begin() { return data(); }
  std::int64_t* end() { return data() + size_; }
  const std::int64_t* begin() const { return data(); }
  const std::int64_t* end() const { return data() + size_; }
  template <std::unsigned_integral T>
  std::int64_t& operator[](T i) {
    return data()[i];
  }
  template <std::unsigned_integral T>
  std::int64_t operator[](T i) const {
    return data()[i];
  }
  /// With a sign a position is checked, and counts from the end if it is negative: `x.shape()[-1]`. Throws IndexError.
  std::int64_t& operator[](const Position& i) { return data()[checked(i)]; }
  std::int64_t operator[](const Position& i) const { return data()[checked(i)]; }
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
    for (std::size_t i = size_; i < count; ++i) data()[i] = value;
    size_ = static_cast<std::uint32_t>(count);
  }
  void insert(std::size_t at, std::int64_t value) {
    push_back(value);
    for (std::size_t i = size_ - 1; i > at; --i) data()[i] = data()[i - 1];
    data()[at] = value;
  }
  void erase(std::size_t at) {
    --size_;
    for (std::size_t i = at; i < size_; ++i) data()[i] = data()[i + 1];
  }
  void append(std::span<const std::int64_t> values) {
    // They may be a part of this, which moves when it grows.
    const bool are_own = std::less_equal<>()(data(), values.data()) && std::less<>()(values.data(), data() + size_);
    const std::ptrdiff_t first = are_own ? values.data() - data() : 0;
    reserve(size_ + values.size());
    if (are_own) values = {data() + first, values.size()};
    for (const std::int64_t v : values) data()[size_++] = v;
  }

  friend bool operator==(const Ints& a, const Ints& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  /// A list is not compared with a number: `x.shape() == 3` would ask for (3,).
  template <Integer T>
  friend bool operator==(const Ints&, T) = delete;
  /// As a Python tuple: (2, 3), (2,), ().
  LENTO_API friend std::ostream& operator<<(std::ostream& out, const Ints& values);

 private:
  static constexpr std::size_t kInline = 6;

  void reserve(std::size_t wanted) {
    if (wanted > capacity_) grow(wanted);
  }
  LENTO_API void grow(std::size_t wanted);
  std::size_t checked(const Position& i) const {
    const std::int64_t from_start = i.value < 0 ? i.value + static_cast<std::int64_t>(size_) : i.value;
    if (static_cast<std::uint64_t>(from_start) >= size_) [[unlikely]]
      fail_position(i);
    return static_cast<std::size_t>(from_start);
  }
  [[noreturn]] LENTO_API void fail_position(const Position& i) const;
  /// Of an empty list.
  void assign(const std::int64_t* values, std::size_t count) {
    reserve(count);
    std::int64_t* const to = data();
    for (std::size_t i = 0; i < count; ++i) to[i] = values[i];
    size_ = static_cast<std::uint32_t>(count);
  }
  /// Leaves `other` empty; what this had is gone already.
  void take(Ints& other) noexcept {
    size_ = other.size_;
    capacity_ = other.capacity_;
    heap_ = other.heap_;
    for (std::size_t i = 0; i < kInline; ++i) inline_[i] = other.inline_[i];
    other.size_ = 0;
    other.capacity_ = kInline;
    other.heap_ = nullptr;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInline;
  std::int64_t inline_[kInline] = {};
  std::int64_t* heap_ = nullptr;  // owned; a std::unique_ptr costs every file that includes this 10 ms of compilation
};

/// A list of integers, one integer, or nothing, whose meaning the function says: `sum(x, {0, 1})`, `sum(x, 1)`,
/// `sum(x, std::nullopt)`. Braces always are a list: `sum(x, {})` sums over no axis, as axis=() does in Python.
class OptionalInts {
 public:
  OptionalInts(std::nullopt_t) {}
  OptionalInts(std::initializer_list<Ints::Item> values) : values_(values), has_value_(true) {}
  template <class T>
    requires std::convertible_to<T, Ints>
  OptionalInts(T&& values) : values_(std::forward<T>(values)), has_value_(true) {}
  // Templates, so that this header alone does not make std::optional<Ints>, which takes long to compile.
  template <class T>
    requires std::same_as<std::remove_cvref_t<T>, std::optional<Ints>>
  OptionalInts(T&& values) : has_value_(values.has_value()) {
    if (has_value_) values_ = *std::forward<T>(values);
  }
  template <std::same_as<std::optional<Ints>> T>
  operator T() const {
    return has_value_ ? T(values_) : T();
  }

  bool has_value() const { return has_value_; }
  explicit operator bool() const { return has_value_; }
  /// What is there; () when nothing is.
  const Ints& operator*() const { return values_; }
  const Ints* operator->() const { return &values_; }

 private:
  Ints values_;
  bool has_value_ = false;
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
