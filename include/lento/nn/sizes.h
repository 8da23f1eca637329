// Sizes and Padding: what layers take for their windows. One number stands for all axes: `.stride = 2`, `{2, 1}`.
#pragma once

#include <lento/ints.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace lento::nn {

/// One number for all axes, or one for each.
class Sizes {
 public:
  template <std::integral T>
  Sizes(T number) : numbers_{static_cast<std::int64_t>(number)}, single_(true) {}
  Sizes(std::initializer_list<std::int64_t> numbers) : numbers_(numbers.begin(), numbers.end()) {}
  Sizes(Ints numbers) : numbers_(std::move(numbers)) {}

  const Ints& numbers() const { return numbers_; }
  operator const Ints&() const { return numbers_; }
  /// True for one number that stands for all axes.
  bool is_single() const { return single_; }

  friend bool operator==(const Sizes& a, const Sizes& b) = default;

 private:
  Ints numbers_;
  bool single_ = false;
};

/// Sizes of zeros at both ends, or the word "same" or "valid".
class Padding : public Sizes {
 public:
  using Sizes::Sizes;
  Padding(std::string_view word) : Sizes(0), word_(word) {}
  Padding(const char* word) : Padding(std::string_view(word)) {}

  /// "none" where there are numbers.
  const std::string& word() const { return word_; }

  friend bool operator==(const Padding& a, const Padding& b) = default;

 private:
  std::string word_ = "none";
};

}  // namespace lento::nn
