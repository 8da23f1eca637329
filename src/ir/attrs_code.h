// The flat form of attributes (ir/op.h says how each kind looks): what the generated intern() and decode_…() functions
// are made of. Both directions are written once, for each C++ type of a member.
#pragma once

#include <lento/dtype.h>
#include <lento/ints.h>

#include "base/fail.h"
#include "ir/attrs.h"

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace lento {

class AttrsWriter {
 public:
  void put(std::int64_t value) { values_.push_back(value); }
  void put(bool value) { values_.push_back(value ? 1 : 0); }
  void put(double value) { values_.push_back(std::bit_cast<std::int64_t>(value)); }
  void put(const Ints& list) {
    values_.push_back(static_cast<std::int64_t>(list.size()));
    values_.append(list);
  }
  template <class E>
    requires std::is_enum_v<E>
  void put(E value) {
    values_.push_back(static_cast<std::int64_t>(value));
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  std::span<const std::int64_t> values() const { return values_; }

 private:
  Ints values_;
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
