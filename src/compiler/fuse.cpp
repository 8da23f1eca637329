#include "compiler/fuse.h"

#include "ir/attrs_reduction.gen.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_cast.gen.h"
#include "ir/op_creation.gen.h"
#include "ir/op_gather.gen.h"
#include "ir/op_reduction.gen.h"

#include <algorithm>

namespace lento {

namespace {

/// Axes and keepdims of any of the reductions; the attributes of all but arg_max and arg_min have one form.
ReduceSumAttrs reduction_attrs(const Record& node) {
  if (node.op == op::arg_max) {
    const auto attrs = decode_arg_max(node.attrs);
    return {Ints{attrs.axis}, attrs.keepdims};
  }
  if (node.op == op::arg_min) {
    const auto attrs = decode_arg_min(node.attrs);
    return {Ints{attrs.axis}, attrs.keepdims};
  }
  return decode_reduce_sum(node.attrs);
}

/// The reduced axes when they are neighbours.
std::optional<ReducedAxes> neighbouring(const Ints& axes, std::size_t rank) {
  Ints sorted = axes;
  for (std::int64_t& axis : sorted) axis = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.empty()) return std::nullopt;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] != sorted[i - 1] + 1) return std::nullopt;
  }
  return ReducedAxes{static_cast<std::size_t>(sorted.front()), sorted.size()};
}

class Fuser {
 public:
  Fuser(const Graph& graph, const Target& target, const CompileOptions& options, const SetApart& apart)
      : graph_(graph), target_(target), options_(options), apart_(apart) {
    const std::size_t count = graph.nodes.size();
    result_.roles.resize(count, NodeRole::call);
    result_.group_of.resize(count, Fusion::kNoGroup);
    result_.stored.resize(count, 0);
    result_.views.resize(count);
    result_.apart.resize(count, 0);
    call_level_.resize(count, 0);
    readers_.resize(count);
    for (std::uint32_t node = 0; node < count; ++node) {
      result_.same_as.push_back(OperandRef::record(node));
      for (const OperandRef operand : graph.operands(graph.nodes[node])) {
        if (is_node(operand)) readers_[operand.index()].push_back(node);
      }
    }
  }

  Fusion run() {
    for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) assign_role(node);
    for (const std::uint32_t output : graph_.outputs) require_stored(OperandRef::record(output));
    return std::move(result_);
  }

 private:
  using Role = NodeRole;

  const Shape& shape(std::uint32_t node) const { return shape_of(graph_.nodes[node].shape); }
  Shape shape(OperandRef operand) const { return graph_.meta_of(operand).shape; }
  static bool is_node(OperandRef operand) { return operand.kind() == OperandRef::Kind::record; }
  Role role(OperandRef operand) const { return result_.roles[operand.index()]; }

  /// The level from which on a value can be loaded.
  std::uint32_t available(OperandRef operand) const {
    if (!is_node(operand)) return 0;
    const std::uint32_t node = operand.index();
    switch (result_.roles[node]) {
      case Role::view: {
        const View& view = *result_.views[node];
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

  /// Says that a value must lie in memory, contiguous. A view or a number gets a group that copies it there, unless it
  /// does so already.
  void require_stored(OperandRef operand) {
    if (!is_node(operand)) return;
    const std::uint32_t node = operand.index();
    if (result_.stored[node] != 0) return;
    result_.stored[node] = 1;
    if (role(operand) != Role::view && role(operand) != Role::number) return;
    if (role(operand) == Role::view && is_whole(node)) {
      require_base_stored(operand);
      result_.same_as[node] = result_.home(result_.views[node]->base);
      return;
    }
    if (!target_.holds(graph_.nodes[node].dtype)) {
      // Nothing can copy it but the op itself.
      if (role(operand) == Role::view) require_stored(graph_.operands(graph_.nodes[node])[0]);
      make_call(node);
      return;
    }
    if (role(operand) == Role::view) require_base_stored(operand);
    start_group(node, shape(node), available(operand));
  }

  /// True for a view that has all elements of what it is a view of, in the same order.
  bool is_whole(std::uint32_t node) const {
    const View& view = *result_.views[node];
    return view.starts.empty() && !view.picked && view.strides == whole(view.base, shape(node)).strides &&
           element_count(shape(node)) == element_count(shape(view.base));
  }

  /// Says that another step loads a value: what it is a view of must lie in memory.
  void require_base_stored(OperandRef operand) {
    if (!is_node(operand)) return;
    if (role(operand) == Role::view) {
      require_stored(result_.views[operand.index()]->base);
    } else if (role(operand) != Role::number) {
      require_stored(operand);
    }
  }

  void make_call(std::uint32_t node) {
    std::uint32_t level = 0;
    for (const OperandRef operand : graph_.operands(graph_.nodes[node])) {
      if (operand.kind() == OperandRef::Kind::scalar) continue;
      if (target_.takes_views(graph_.nodes[node].op) && is_node(operand) && role(operand) == Role::view &&
          result_.stored[operand.index()] == 0 && !result_.views[operand.index()]->picked) {
        require_base_stored(operand);
        level = std::max(level, available(operand));
      } else {
        require_stored(operand);
        level = std::max(level, stored_level(operand));
      }
    }
    result_.roles[node] = Role::call;
    result_.group_of[node] = Fusion::kNoGroup;
    result_.stored[node] = 1;
    call_level_[node] = level;
  }

  /// The level from which on a value that is stored can be read as a whole.
  std::uint32_t stored_level(OperandRef operand) const {
    if (!is_node(operand)) return 0;
    const std::uint32_t group = result_.group_of[operand.index()];
    return group == Fusion::kNoGroup ? available(operand) : result_.groups[group].level + 1;
  }

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

  void assign_role(std::uint32_t node) {
    const Record& record = graph_.nodes[node];
    if (record.op == op::result) {
      result_.roles[node] = Role::result;
      result_.stored[node] = 1;
      return;
    }
    if (apart_.calls[node] != 0) {
      make_call(node);
      return;
    }
    if (is_view_op(record.op) && try_view(node)) return;
    if (record.op == op::take_axis && try_picked_rows(node)) return;
    if (record.op == op::full && target_.holds(record.dtype)) {
      result_.roles[node] = Role::number;
      return;
    }
    if (computes(record)) {
      make_element(node);
    } else if (info(record.op).family == Family::reduction && try_reduction(node)) {
      return;
    } else {
      make_call(node);
    }
  }

  bool try_view(std::uint32_t node) {
    const OperandRef operand = graph_.operands(graph_.nodes[node])[0];
    if (is_node(operand) && role(operand) == Role::number) {
      result_.roles[node] = Role::number;
      return true;
    }
    const bool through = is_node(operand) && role(operand) == Role::view && result_.stored[operand.index()] == 0;
    const View source = through ? *result_.views[operand.index()] : whole(operand, shape(operand));
    std::optional<View> view = apply(graph_, graph_.nodes[node], source);
    if (!view && through) {
      // Its operand has no strides that fit: with the operand in memory it has.
      view = apply(graph_, graph_.nodes[node], whole(operand, shape(operand)));
      if (view) require_stored(operand);
    }
    if (!view) return false;
    result_.roles[node] = Role::view;
    result_.views[node] = std::move(view);
    return true;
  }

  /// Rows at positions that lie in memory are read where they are.
  bool try_picked_rows(std::uint32_t node) {
    if (!options_.fusion || !target_.holds(graph_.nodes[node].dtype)) return false;
    std::optional<View> view = picked_rows(graph_, graph_.nodes[node], target_.least_row);
    if (!view) return false;
    view->picked->node = node;
    require_stored(view->base);
    require_stored(view->picked->positions);
    result_.roles[node] = Role::view;
    result_.views[node] = std::move(view);
    return true;
  }

  bool computes(const Record& record) const {
    if (record.op == op::astype) {
      return !options_.falls_back(op::astype) &&
             target_.casts(graph_.meta_of(graph_.operands(record)[0]).dtype, record.dtype);
    }
    const OpInfo& op = info(record.op);
    if (!op.elementwise()) return false;
    const std::span<const OperandRef> operands = graph_.operands(record);
    const DType compute = graph_.meta_of(operands[op.rule->leading_condition ? 1 : 0]).dtype;
    return operands.size() <= 3 && !options_.falls_back(record.op) &&
           target_.computes(record.op, compute, record.dtype);
  }

  /// True when the operand has its value in this group, to be used as it is by a node over the group's points or rows.
  bool in_group(OperandRef operand, std::uint32_t group, bool row) const {
    if (!is_node(operand) || result_.group_of[operand.index()] != group) return false;
    const Role has = role(operand);
    if (has == Role::row) return shape(operand) == result_.groups[group].row_shape;
    return has == Role::element && !row;
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

  bool has_room(std::uint32_t group) const { return result_.groups[group].nodes.size() < target_.most_nodes; }

  void make_element(std::uint32_t node) {
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
    if (best != Fusion::kNoGroup && needed_level(record, best, best_role == Role::row) <= result_.groups[best].level) {
      result_.roles[node] = best_role;
      require_the_rest(record, best, best_role == Role::row);
      join(node, best);
      return;
    }
    result_.roles[node] = Role::element;
    require_the_rest(record, Fusion::kNoGroup, false);
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
      // A kernel goes over its elements again after it has reduced them only when it reduces rows.
      const std::span<const OperandRef> operands = graph_.operands(graph_.nodes[node]);
      const bool uses_rows = std::ranges::any_of(
          operands, [&](OperandRef operand) { return is_node(operand) && role(operand) == Role::row; });
      return uses_rows && !by_rows ? std::nullopt : std::optional(Role::element);
    }
    if (g.reduced.count != 0 && g.row_shape == shape(node)) return Role::row;
    return std::nullopt;
  }

  /// True when a group can become part of a later one, which the node `joins` is about to join: nobody else reads what
  /// the group computes. A moment of an optimizer, for example, is scaled before the gradient is there.
  bool can_wait(std::uint32_t group, std::uint32_t later, std::uint32_t joins) const {
    if (result_.groups[group].level > result_.groups[later].level) return false;
    return std::ranges::all_of(result_.groups[group].nodes, [&](std::uint32_t node) {
      return std::ranges::all_of(readers_[node], [&](std::uint32_t reader) {
        return reader == joins ||
               (reader < joins && (result_.group_of[reader] == group || result_.group_of[reader] == later));
      });
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

  void require_the_rest(const Record& record, std::uint32_t group, bool row) {
    for (const OperandRef operand : graph_.operands(record)) {
      if (operand.kind() == OperandRef::Kind::scalar) continue;
      if (group == Fusion::kNoGroup || !in_group(operand, group, row)) require_base_stored(operand);
    }
  }

  bool try_reduction(std::uint32_t node) {
    const Record& record = graph_.nodes[node];
    const OperandRef operand = graph_.operands(record)[0];
    const Shape from = shape(operand);
    const ReduceSumAttrs attrs = reduction_attrs(record);
    const std::optional<ReducedAxes> axes = neighbouring(attrs.axes, from.size());
    const Meta meta = graph_.meta_of(operand);
    if (!axes || element_count(from) == 0 || options_.falls_back(record.op)) return false;
    if (!target_.reduces(record.op, meta.dtype)) return false;
    Shape row_shape = from;
    for (std::size_t d = axes->first; d < axes->first + axes->count; ++d) row_shape[d] = 1;
    const std::uint32_t group = group_to_reduce(node, operand, *axes);
    result_.groups[group].reduced = *axes;
    result_.groups[group].row_shape = row_shape;
    result_.roles[node] = Role::row;
    return true;
  }

  /// The group that makes a reduction's operand, when it can reduce it too, or a new one.
  std::uint32_t group_to_reduce(std::uint32_t node, OperandRef operand, const ReducedAxes& axes) {
    if (apart_.reductions[node] != 0) {
      require_stored(operand);
      result_.apart[node] = 1;
      return start_group(node, shape(operand), stored_level(operand));
    }
    if (options_.fusion && is_node(operand) && role(operand) == Role::element) {
      const std::uint32_t group = result_.group_of[operand.index()];
      const Group& g = result_.groups[group];
      if (g.shape == shape(operand) && (g.reduced.count == 0 || g.reduced == axes) && has_room(group)) {
        join(node, group);
        return group;
      }
    }
    require_base_stored(operand);
    return start_group(node, shape(operand), available(operand));
  }

  const Graph& graph_;
  const Target& target_;
  const CompileOptions& options_;
  const SetApart& apart_;
  Fusion result_;
  std::vector<std::vector<std::uint32_t>> readers_;  // one per node: the nodes that read it
  std::vector<std::uint32_t> call_level_;
};

}  // namespace

Fusion fuse(const Graph& graph, const Target& target, const CompileOptions& options, const SetApart& apart) {
  return Fuser(graph, target, options, apart).run();
}

}  // namespace lento
