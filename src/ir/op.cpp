#include "ir/op.h"

#include <unordered_map>

namespace lento {

std::optional<Op> find_op(std::string_view name) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, Op> map;
    for (std::size_t i = 0; i < kOpCount; ++i) map.emplace(info(static_cast<Op>(i)).name, static_cast<Op>(i));
    return map;
  }();
  const auto found = kByName.find(name);
  return found == kByName.end() ? std::nullopt : std::optional(found->second);
}

std::string_view name(Family family) {
  constexpr std::string_view kNames[] = {"bookkeeping", "elementwise", "creation", "cast",    "reduction",
                                         "scan",        "index_map",   "gather",   "scatter", "sort",
                                         "contraction", "window",      "linalg",   "fft",     "random"};
  return kNames[static_cast<std::size_t>(family)];
}

bool updates_first_operand(Op op) { return op == Op::strided_update || op == Op::scatter_axis || op == Op::scatter_nd; }

}  // namespace lento
