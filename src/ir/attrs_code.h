// The flat form of attributes (ir/op.h says how each kind looks): what the generated intern() and decode_…() functions
// are made of. Both directions are written once, for each C++ type of a member.
#pragma once

#include <lento/dtype.h>
#include <lento/ints.h>

#include "base/fail.h"
#include "ir/attrs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace lento {

class AttrsWriter {
 public:
  void put(std::int64_t value) { *room(1) = value; }
  void put(bool value) { put(std::int64_t{value ? 1 : 0}); }
  void put(double value) { put(std::bit_cast<std::int64_t>(value)); }
  void put(const Ints& list) {
    std::int64_t* next = room(list.size() + 1);
    *next++ = static_cast<std::int64_t>(list.size());
    std::copy(list.begin(), list.end(), next);
  }
  template <class E>
    requires std::is_enum_v<E>
  void put(E value) {
    put(static_cast<std::int64_t>(value));
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  std::span<const std::int64_t> values() const {
    return many_.empty() ? std::span<const std::int64_t>(few_.data(), size_) : std::span<const std::int64_t>(many_);
  }

 private:
  /// Where the next values go. Few need no memory.
  std::int64_t* room(std::size_t count) {
    const std::size_t first = size_;
    size_ += count;
    if (many_.empty() && size_ <= few_.size()) return few_.data() + first;
    if (many_.empty()) many_.assign(few_.begin(), few_.begin() + static_cast<std::ptrdiff_t>(first));
    many_.resize(size_);
    return many_.data() + first;
  }

  std::array<std::int64_t, 24> few_;
  std::vector<std::int64_t> many_;  // all of them, once there are too many
  std::size_t size_ = 0;
};

/// Reads in the same order. Attributes may come from a graph that was parsed, so lengths and dtypes are checked (dtypes
/// index tables; verify.h knows the words of every other enumeration).
class AttrsReader {
 public:
  explicit AttrsReader(std::span<const std::int64_t> values) : rest_(values) {}

  void get(std::int64_t& value) { value = next(); }
  void get(bool& value) { value = next() != 0; }
  void get(double& value) { value = std::bit_cast<double>(next()); }
  void get(Ints& list) {
    const std::int64_t length = next();
    if (length < 0 || static_cast<std::size_t>(length) > rest_.size()) too_short();
    list = Ints(rest_.first(static_cast<std::size_t>(length)));
    rest_ = rest_.subspan(static_cast<std::size_t>(length));
  }
  void get(DType& value) {
    const std::int64_t code = next();
    if (code < 0 || code >= kDTypeCount) fail<BackendError>("there is no dtype of the number {}", code);
    value = static_cast<DType>(code);
  }
  template <class E>
    requires std::is_enum_v<E>
  void get(E& value) {
    value = static_cast<E>(next());
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool present = false;
    get(present);
    if (present) get(value.emplace());
  }
  void finish() const {
    if (!rest_.empty()) fail<BackendError>("{} attribute values too many", rest_.size());
  }

 private:
  std::int64_t next() {
    if (rest_.empty()) too_short();
    const std::int64_t value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  [[noreturn]] static void too_short() { fail<BackendError>("attribute values are missing"); }

  std::span<const std::int64_t> rest_;
};

template <class... Members>
AttrsId encode_attrs(const Members&... members) {
  AttrsWriter writer;
  (writer.put(members), ...);
  return intern_attrs(writer.values());
}

template <class... Members>
void decode_attrs(AttrsId id, Members&... members) {
  AttrsReader reader(attrs_of(id));
  (reader.get(members), ...);
  reader.finish();
}

}  // namespace lento
