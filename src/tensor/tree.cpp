#include <lento/tree.h>

#include "base/fail.h"
#include "base/source.h"

#include <algorithm>

namespace lento::tree {

void Visitor::found(Tensor& x) {
  if (modules_ == 0) {
    tensor(x);
  } else if (x.defined()) {
    const bool trained = is_inexact(x.dtype());
    trained ? tensor(x) : buffer(x);
  }
}

namespace detail {

std::string_view next_name(std::string_view& names) {
  const std::size_t comma = names.find(',');
  std::string_view name = names.substr(0, comma);
  names.remove_prefix(comma == std::string_view::npos ? names.size() : comma + 1);
  constexpr std::string_view kSpaces = " \t\n";
  name.remove_prefix(std::min(name.find_first_not_of(kSpaces), name.size()));
  return name.substr(0, name.find_last_not_of(kSpaces) + 1);
}

void Gather::tensor(Tensor& x) { leaves.push_back(x); }

void GatherNames::tensor(Tensor& x) { leaves.emplace_back(path_, x); }

void GatherNames::enter(std::string_view name) {
  lengths_.push_back(path_.size());
  if (!path_.empty()) path_ += '.';
  path_ += name;
}

void GatherNames::leave() {
  path_.resize(lengths_.back());
  lengths_.pop_back();
}

void Fill::tensor(Tensor& x) {
  if (next_ < values_.size()) x = values_[next_];
  ++next_;
}

void Fill::finish(std::string_view caller, const std::source_location& site) const {
  if (next_ == values_.size()) return;
  const CallScope scope(caller, site);
  fail<ValueError>("there are {} values for {} leaves", values_.size(), next_);
}

void GatherBuffers::buffer(Tensor& x) { buffers.insert_or_assign(path_, x); }

void FillBuffers::buffer(Tensor& x) {
  if (const Tensor* value = values_.find(path_)) x = *value;
}

std::vector<Tensor> leaves_like(const GatherNames& tree, const GatherNames& other, std::string_view what,
                                const std::source_location& site) {
  TensorDict by_name;
  for (const auto& [name, leaf] : other.leaves) by_name.insert_or_assign(name, leaf);
  std::vector<Tensor> found;
  for (const auto& [name, leaf] : tree.leaves) {
    if (const Tensor* same = by_name.find(name)) found.push_back(*same);
  }
  const bool named_once = by_name.size() == other.leaves.size();
  if (named_once && found.size() == tree.leaves.size() && found.size() == other.leaves.size()) return found;
  const auto names_of = [](const GatherNames& gathered) {
    std::string text;
    for (const auto& [name, leaf] : gathered.leaves) text += (text.empty() ? "'" : ", '") + name + "'";
    return "[" + text + "]";
  };
  const CallScope scope({}, site);
  fail<ValueError>("{}: the leaves are {} instead of {}", what, names_of(other), names_of(tree));
}

}  // namespace detail

}  // namespace lento::tree
