// TensorDict: tensors by name, in the order in which they were added, as in a Python dict. What state dicts and files
// hold.
#pragma once

#include <lento/export.h>
#include <lento/tensor.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lento {

class LENTO_API TensorDict {
 public:
  using value_type = std::pair<std::string, Tensor>;
  using const_iterator = std::vector<value_type>::const_iterator;

  TensorDict() = default;
  /// TensorDict{{"weight", w}, {"bias", b}}. Of two entries with one name the last counts.
  TensorDict(std::initializer_list<value_type> entries);

  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// The tensor of this name, or null.
  const Tensor* find(std::string_view name) const;
  Tensor* find(std::string_view name) { return const_cast<Tensor*>(std::as_const(*this).find(name)); }

  /// The tensor of this name. Throws ValueError that lists names that are there.
  const Tensor& at(std::string_view name, std::source_location site = std::source_location::current()) const;
  Tensor& at(std::string_view name, std::source_location site = std::source_location::current()) {
    return const_cast<Tensor&>(std::as_const(*this).at(name, site));
  }
  /// The same; a name that is not there yet is added at the end, with an empty handle.
  Tensor& operator[](std::string_view name);
  void insert_or_assign(std::string_view name, Tensor value) { (*this)[name] = std::move(value); }
  /// True when there was one of this name.
  bool erase(std::string_view name);

 private:
  std::vector<value_type> entries_;
  std::map<std::string, std::size_t, std::less<>> by_name_;  // numbers of entries
};

}  // namespace lento
