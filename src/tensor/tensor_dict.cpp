#include <lento/tensor_dict.h>

#include "base/fail.h"
#include "base/source.h"

#include <algorithm>

namespace lento {

TensorDict::TensorDict(std::initializer_list<value_type> entries) {
  for (const auto& [name, tensor] : entries) insert_or_assign(name, tensor);
}

const Tensor* TensorDict::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second].second;
}

const Tensor& TensorDict::at(std::string_view name, std::source_location site) const {
  if (const Tensor* found = find(name)) return *found;
  const CallScope scope("at", site);
  constexpr std::size_t kShown = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(kShown, size()); ++i) {
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", entries_[i].first);
  }
  if (size() > kShown) names += ", …";
  fail<ValueError>("there is no tensor '{}'; there are {}", name, empty() ? "none" : names);
}

Tensor& TensorDict::operator[](std::string_view name) {
  if (Tensor* found = find(name)) return *found;
  by_name_.emplace(name, entries_.size());
  return entries_.emplace_back(std::string(name), Tensor{}).second;
}

bool TensorDict::erase(std::string_view name) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return false;
  const std::size_t entry = found->second;
  by_name_.erase(found);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(entry));
  for (auto& [other, number] : by_name_) number -= number > entry ? 1 : 0;
  return true;
}

}  // namespace lento
