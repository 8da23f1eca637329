#include "compiler/fuse.h"

#include "ir/op.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

namespace lento {

namespace {

/// Puts nodes into groups, one after the other, and finds the levels of groups and calls.
class Fuser {
 public:
  Fuser(const Graph& graph, const Target& target, const CompileOptions& options, Roles roles)
      : graph_(graph), target_(target), options_(options), result_{std::move(roles), {}, {}} {
    const std::size_t count = graph.nodes.size();
    result_.group_of.resize(count, Fusion::kNoGroup);
    call_level_.resize(count, 0);
    readers_.resize(count);
    leaf_readers_.resize(graph.inputs.size());
    for (std::uint32_t node = 0; node < count; ++node) {
      for (const OperandRef operand : graph.operands(graph.nodes[node])) {
        if (is_node(operand)) readers_[operand.index()].push_back(node);
        if (operand.kind() == OperandRef::Kind::leaf) leaf_readers_[operand.index()].push_back(node);
      }
    }
  }

  Fusion run() {
    auto copy = result_.copies.begin();
    const auto copy_for = [&](std::uint32_t reader) {
      for (; copy != result_.copies.end() && copy->reader == reader; ++copy) start_copy(copy->node);
    };
    for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
      copy_for(node);
      place(node);
    }
    copy_for(static_cast<std::uint32_t>(graph_.nodes.size()));
    return std::move(result_);
  }

 private:
  using Role = NodeRole;

  const Shape& shape(std::uint32_t node) const { return shape_of(graph_.nodes[node].shape); }
  Shape shape(OperandRef operand) const { return graph_.meta_of(operand).shape; }

  // --- levels ---

  /// The level from which on a value can be loaded.
  std::uint32_t available(OperandRef operand) const {
    if (!is_node(operand)) return 0;
    const std::uint32_t node = operand.index();
    switch (result_.roles[node]) {
      case Role::view: {
        const View& view = *result_.views[node];
        if (view.counted) return 0;
        const std::uint32_t base = stored_level(view.base);
        return view.picked ? std::max(base, stored_level(view.picked->positions)) : base;
      }
      case Role::number:
        return 0;
      case Role::element:
      case Role::row:
        return result_.groups[result_.group_of[node]].level + 1;
      case Role::call:
        return call_level_[node] + 1;
      case Role::result:
        return call_level_[graph_.nodes[node].operands[0].index()] + 1;
    }
    return 0;
  }

  /// The level from which on a value that is stored can be read as a whole.
  std::uint32_t stored_level(OperandRef operand) const {
    if (!is_node(operand)) return 0;
    const std::uint32_t group = result_.group_of[operand.index()];
    return group == Fusion::kNoGroup ? available(operand) : result_.groups[group].level + 1;
  }

  /// The level a node needs at least when it joins this group (kNoGroup: one of its own).
  std::uint32_t needed_level(const Record& record, std::uint32_t group, bool row) const {
    std::uint32_t level = 0;
    for (const OperandRef operand : graph_.operands(record)) {
      if (operand.kind() == OperandRef::Kind::scalar) continue;
      if (group == Fusion::kNoGroup || !in_group(operand, group, row)) level = std::max(level, available(operand));
    }
    return level;
  }

  // --- groups ---

  std::uint32_t start_group(std::uint32_t node, const Shape& shape, std::uint32_t level) {
    result_.groups.push_back({shape, shape, {}, level, {node}});
    return result_.group_of[node] = static_cast<std::uint32_t>(result_.groups.size() - 1);
  }

  void join(std::uint32_t node, std::uint32_t group) {
    result_.groups[group].nodes.push_back(node);
    result_.group_of[node] = group;
  }

  /// Moves everything of one group into another.
  void merge(std::uint32_t into, std::uint32_t from) {
    Group& a = result_.groups[into];
    Group& b = result_.groups[from];
    for (const std::uint32_t node : b.nodes) result_.group_of[node] = into;
    const auto middle = static_cast<std::ptrdiff_t>(a.nodes.size());
    a.nodes.insert(a.nodes.end(), b.nodes.begin(), b.nodes.end());
    std::inplace_merge(a.nodes.begin(), a.nodes.begin() + middle, a.nodes.end());
    if (a.reduced.count == 0) {
      a.reduced = b.reduced;
      a.row_shape = b.row_shape;
    }
    b.nodes.clear();
  }

  /// A group that copies a view or a number.
  void start_copy(std::uint32_t node) { start_group(node, shape(node), available(OperandRef::record(node))); }

  void place(std::uint32_t node) {
    switch (result_.roles[node]) {
      case Role::call:
        for (const OperandRef operand : graph_.operands(graph_.nodes[node])) {
          call_level_[node] = std::max(call_level_[node], stored_level(operand));
        }
        break;
      case Role::element:
        place_element(node);
        break;
      case Role::row:
        place_reduction(node);
        break;
      case Role::view:
      case Role::number:
      case Role::result:
        break;
    }
  }

  /// True when the operand has its value in this group, to be used as it is by a node over the group's points or rows.
  bool in_group(OperandRef operand, std::uint32_t group, bool row) const {
    if (!is_node(operand) || result_.group_of[operand.index()] != group) return false;
    const Role has = result_.role(operand);
    if (has == Role::row) return shape(operand) == result_.groups[group].row_shape;
    return has == Role::element && !row;
  }

  bool has_room(std::uint32_t group) const { return result_.groups[group].nodes.size() < target_.most_nodes; }

  void place_element(std::uint32_t node) {
    const Record& record = graph_.nodes[node];
    const std::span<const OperandRef> operands = graph_.operands(record);
    std::uint32_t best = Fusion::kNoGroup;
    Role best_role = Role::element;
    if (options_.fusion) {
      for (const OperandRef operand : operands) {
        if (!is_node(operand) || result_.group_of[operand.index()] == Fusion::kNoGroup) continue;
        const std::uint32_t group = result_.group_of[operand.index()];
        const std::optional<Role> fits = role_in(group, node);
        if (!fits || !has_room(group)) continue;
        if (best == Fusion::kNoGroup || result_.groups[group].level > result_.groups[best].level) {
          best = group;
          best_role = *fits;
        }
      }
      // Groups of the same level over the same points become one, and so does an earlier one that can wait.
      for (const OperandRef operand : operands) {
        if (best == Fusion::kNoGroup) break;
        const std::uint32_t other = is_node(operand) ? result_.group_of[operand.index()] : Fusion::kNoGroup;
        if (other == Fusion::kNoGroup || other == best || !can_merge(best, other)) continue;
        if (result_.groups[other].level == result_.groups[best].level || can_wait(other, best, node))
          merge(best, other);
      }
    }
    const bool row = best_role == Role::row;
    const std::uint32_t needed = needed_level(record, best, row);
    if (best != Fusion::kNoGroup && (needed <= result_.groups[best].level || can_wait_for(best, node, row))) {
      result_.groups[best].level = std::max(result_.groups[best].level, needed);
      result_.roles[node] = best_role;
      store_the_rest(record, best, row);
      join(node, best);
      return;
    }
    store_the_rest(record, Fusion::kNoGroup, false);
    start_group(node, shape(node), needed_level(record, Fusion::kNoGroup, false));
  }

  /// What a node would be in a group: over its points, or over its rows.
  std::optional<Role> role_in(std::uint32_t group, std::uint32_t node) const {
    const Group& g = result_.groups[group];
    // A copy of a view or a number is no value that others could use.
    if (result_.roles[g.nodes.front()] == Role::view || result_.roles[g.nodes.front()] == Role::number)
      return std::nullopt;
    const bool by_rows = g.reduced.first + g.reduced.count == g.shape.size();
    if (g.shape == shape(node)) {
      if (is_apart(g)) return std::nullopt;
      // A kernel goes over its elements again after it has reduced them only when it reduces rows. What another group
      // has reduced is loaded.
      const std::span<const OperandRef> operands = graph_.operands(graph_.nodes[node]);
      const bool uses_rows = std::ranges::any_of(operands, [&](OperandRef operand) {
        return is_node(operand) && result_.role(operand) == Role::row && in_group(operand, group, false);
      });
      return uses_rows && !by_rows ? std::nullopt : std::optional(Role::element);
    }
    if (g.reduced.count != 0 && g.row_shape == shape(node)) return Role::row;
    return std::nullopt;
  }

  /// True when a group can become part of a later one, which the node `joins` is about to join: nobody before that node
  /// reads what the group computes from memory. A moment of an optimizer, for example, is scaled before the gradient is
  /// there. Who reads it behind the node has no place yet, and gets one that is late enough.
  bool can_wait(std::uint32_t group, std::uint32_t later, std::uint32_t joins) const {
    if (result_.groups[group].level > result_.groups[later].level) return false;
    return std::ranges::all_of(result_.groups[group].nodes, [&](std::uint32_t node) {
      return std::ranges::all_of(readers_[node], [&](std::uint32_t reader) {
        if (reader >= joins || result_.group_of[reader] == group) return true;
        return result_.group_of[reader] == later && can_use(reader, node);
      });
    });
  }

  /// True when a node that reads another group's value from memory could use that value as it is, were the two groups
  /// one. What is loaded from memory that its own kernel writes is not there yet.
  bool can_use(std::uint32_t reader, std::uint32_t node) const {
    const Group& group = result_.groups[result_.group_of[node]];
    const bool reduces = info(graph_.nodes[reader].op).family == Family::reduction;
    if (result_.roles[node] == Role::element) return reduces || result_.roles[reader] == Role::element;
    return !reduces && shape(node) == group.row_shape;
  }

  /// True when a group can wait for what else a node needs that is about to join it: nobody before the node reads what
  /// the group computes from memory, nor does the node itself.
  bool can_wait_for(std::uint32_t group, std::uint32_t node, bool row) const {
    const std::span<const OperandRef> operands = graph_.operands(graph_.nodes[node]);
    return can_wait(group, group, node) && std::ranges::all_of(operands, [&](OperandRef operand) {
             return !is_node(operand) || result_.group_of[operand.index()] != group || in_group(operand, group, row);
           });
  }

  /// The group of a reduction that reads its operand where it is stored: no element value joins it.
  bool is_apart(const Group& group) const { return result_.apart[group.nodes.front()] != 0; }

  bool can_merge(std::uint32_t a, std::uint32_t b) const {
    const Group& x = result_.groups[a];
    const Group& y = result_.groups[b];
    if (is_apart(x) || is_apart(y)) return false;
    const Role first = result_.roles[y.nodes.front()];
    return x.shape == y.shape && first != Role::view && first != Role::number &&
           (x.reduced.count == 0 || y.reduced.count == 0 || x.reduced == y.reduced) &&
           x.nodes.size() + y.nodes.size() < target_.most_nodes;
  }

  /// Says that a node in this group (kNoGroup: one of its own) reads from memory what the group does not compute.
  void store_the_rest(const Record& record, std::uint32_t group, bool row) {
    for (const OperandRef operand : graph_.operands(record)) {
      if (!is_node(operand)) continue;
      if (group == Fusion::kNoGroup || !in_group(operand, group, row)) store_base(operand);
    }
  }

  /// Says that a value is loaded: what it is a view of must lie in memory.
  void store_base(OperandRef operand) {
    if (!is_node(operand) || result_.role(operand) == Role::number) return;
    if (result_.role(operand) != Role::view) {
      result_.stored[operand.index()] = 1;
      return;
    }
    const View& view = *result_.views[operand.index()];
    if (is_node(view.base) && !view.counted) result_.stored[view.base.index()] = 1;
  }

  void place_reduction(std::uint32_t node) {
    const ReducedAxes axes = result_.reduced[node];
    Group& group = result_.groups[group_to_reduce(node, graph_.operands(graph_.nodes[node])[0], axes)];
    group.reduced = axes;
    group.row_shape = group.shape;
    for (std::size_t d = axes.first; d < axes.first + axes.count; ++d) group.row_shape[d] = 1;
  }

  /// The group that makes a reduction's operand, when it can reduce it too; one that reduces what it makes of that
  /// operand along the same axes; or a new one.
  std::uint32_t group_to_reduce(std::uint32_t node, OperandRef operand, const ReducedAxes& axes) {
    if (result_.apart[node] != 0) return start_group(node, shape(operand), stored_level(operand));
    if (options_.fusion && is_node(operand) && result_.role(operand) == Role::element) {
      const std::uint32_t group = result_.group_of[operand.index()];
      const Group& g = result_.groups[group];
      if (g.shape == shape(operand) && (g.reduced.count == 0 || g.reduced == axes) && has_room(group)) {
        join(node, group);
        return group;
      }
    }
    store_base(operand);
    if (const std::uint32_t group = group_that_reduces(node, operand, axes); group != Fusion::kNoGroup) {
      join(node, group);
      return group;
    }
    return start_group(node, shape(operand), available(operand));
  }

  /// The last group that loads all of a stored value and reduces along these axes already. Only the last few readers
  /// are looked at: a value may have as many as the graph has nodes.
  std::uint32_t group_that_reduces(std::uint32_t node, OperandRef operand, const ReducedAxes& axes) const {
    constexpr std::ptrdiff_t kLooks = 16;
    if (!options_.fusion) return Fusion::kNoGroup;
    const Shape whole = shape(operand);
    const std::vector<std::uint32_t>& all = readers(operand);
    const std::span<const std::uint32_t> placed(all.begin(), std::ranges::lower_bound(all, node));
    for (const std::uint32_t reader : placed | std::views::reverse | std::views::take(kLooks)) {
      const std::uint32_t group = result_.group_of[reader];
      if (group == Fusion::kNoGroup) continue;
      const Group& g = result_.groups[group];
      if (g.shape == whole && g.reduced == axes && g.level >= available(operand) && !is_apart(g) && has_room(group))
        return group;
    }
    return Fusion::kNoGroup;
  }

  const std::vector<std::uint32_t>& readers(OperandRef operand) const {
    return is_node(operand) ? readers_[operand.index()] : leaf_readers_[operand.index()];
  }

  const Graph& graph_;
  const Target& target_;
  const CompileOptions& options_;
  Fusion result_;
  std::vector<std::vector<std::uint32_t>> readers_;       // one per node: the nodes that read it
  std::vector<std::vector<std::uint32_t>> leaf_readers_;  // the same, one per leaf
  std::vector<std::uint32_t> call_level_;                 // one per node
};

}  // namespace

Fusion fuse(const Graph& graph, const Target& target, const CompileOptions& options, const SetApart& apart) {
  return Fuser(graph, target, options, assign_roles(graph, target, options, apart)).run();
}

}  // namespace lento
