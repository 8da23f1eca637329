#include "ir/op.h"

#include <memory>
#include <unordered_map>

namespace lento {

std::optional<Op> find_op(std::string_view name) {
  using Map = std::unordered_map<std::string_view, Op>;
  static const Map& by_name = *[] {  // never destroyed: runs may end while the process does
    auto map = std::make_unique<Map>();
    for (std::size_t i = 0; i < kOpCount; ++i) map->emplace(info(static_cast<Op>(i)).name, static_cast<Op>(i));
    return map.release();
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? std::nullopt : std::optional(found->second);
}

std::string_view name(Family family) {
  constexpr std::string_view kNames[] = {"bookkeeping", "elementwise", "creation", "cast",    "reduction",
                                         "scan",        "index_map",   "gather",   "scatter", "sort",
                                         "contraction", "window",      "linalg",   "fft",     "random"};
  return kNames[static_cast<std::size_t>(family)];
}

bool updates_first_operand(Op op) { return op == Op::strided_update || op == Op::scatter_axis || op == Op::scatter_nd; }

}  // namespace lento
