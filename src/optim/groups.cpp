// Which parameters a group has.
#include <lento/optim/groups.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lento::optim {

Which::Which(std::initializer_list<std::string_view> names)
    : Which(std::vector<std::string>(names.begin(), names.end())) {}

Which::Which(std::vector<std::string> names)
    : names_(std::move(names)), picks_([all = names_](std::string_view name, const Tensor&) {
        for (const std::string& one : all) {
          if (name.starts_with(one) && (name.size() == one.size() || name[one.size()] == '.')) return true;
        }
        return false;
      }) {}

}  // namespace lento::optim
