#include "compiler/node_roles.h"

#include "ir/attrs_reduction.gen.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_cast.gen.h"
#include "ir/op_creation.gen.h"
#include "ir/op_gather.gen.h"
#include "ir/op_random.gen.h"
#include "ir/op_reduction.gen.h"

#include <algorithm>
#include <span>
#include <utility>

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

class RoleFinder {
 public:
  RoleFinder(const Graph& graph, const Target& target, const CompileOptions& options, const SetApart& apart)
      : graph_(graph), target_(target), options_(options), apart_(apart) {
    const std::size_t count = graph.nodes.size();
    result_.roles.resize(count, NodeRole::call);
    result_.stored.resize(count, 0);
    result_.views.resize(count);
    result_.reduced.resize(count);
    result_.apart.resize(count, 0);
    result_.same_as.reserve(count);
    for (std::uint32_t node = 0; node < count; ++node) result_.same_as.push_back(OperandRef::record(node));
  }

  Roles run() {
    for (; current_ < graph_.nodes.size(); ++current_) assign_role(current_);
    for (const std::uint32_t output : graph_.outputs) require_stored(OperandRef::record(output));
    return std::move(result_);
  }

 private:
  using Role = NodeRole;

  const Shape& shape(std::uint32_t node) const { return shape_of(graph_.nodes[node].shape); }
  Shape shape(OperandRef operand) const { return graph_.meta_of(operand).shape; }

  /// Says that a value must lie in memory, contiguous. A view or a number is copied there, unless it does so already.
  void require_stored(OperandRef operand) {
    if (!is_node(operand)) return;
    const std::uint32_t node = operand.index();
    if (result_.stored[node] != 0) return;
    result_.stored[node] = 1;
    if (result_.role(operand) != Role::view && result_.role(operand) != Role::number) return;
    if (result_.role(operand) == Role::view && is_whole(node)) {
      require_base_stored(operand);
      result_.same_as[node] = result_.home(result_.views[node]->base);
      return;
    }
    if (!target_.holds(graph_.nodes[node].dtype)) {
      // Nothing can copy it but the op itself.
      if (result_.role(operand) == Role::view) require_stored(graph_.operands(graph_.nodes[node])[0]);
      make_call(node);
      return;
    }
    require_base_stored(operand);
    result_.copies.push_back({node, current_});
  }

  /// True for a view that has all elements of what it is a view of, in the same order.
  bool is_whole(std::uint32_t node) const {
    const View& view = *result_.views[node];
    return view.starts.empty() && !view.picked && !view.counted &&
           view.strides == whole(view.base, shape(node)).strides &&
           element_count(shape(node)) == element_count(shape(view.base));
  }

  /// Says that another step loads a value: what it is a view of must lie in memory.
  void require_base_stored(OperandRef operand) {
    if (!is_node(operand)) return;
    if (result_.role(operand) == Role::view) {
      if (!result_.views[operand.index()]->counted) require_stored(result_.views[operand.index()]->base);
    } else if (result_.role(operand) != Role::number) {
      require_stored(operand);
    }
  }

  void make_call(std::uint32_t node) {
    const bool takes_views = target_.takes_views(graph_.nodes[node].op);
    for (const OperandRef operand : graph_.operands(graph_.nodes[node])) {
      if (takes_views && is_node(operand) && result_.role(operand) == Role::view &&
          !result_.views[operand.index()]->picked && !result_.views[operand.index()]->counted) {
        require_base_stored(operand);
      } else {
        require_stored(operand);
      }
    }
    result_.roles[node] = Role::call;
    result_.stored[node] = 1;
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
    if ((record.op == op::iota || record.op == op::random_bits) && try_create(node)) return;
    if (record.op == op::full && target_.holds(record.dtype)) {
      result_.roles[node] = Role::number;
    } else if (computes(record)) {
      result_.roles[node] = Role::element;
    } else if (info(record.op).family != Family::reduction || !try_reduction(node)) {
      make_call(node);
    }
  }

  bool try_view(std::uint32_t node) {
    const OperandRef operand = graph_.operands(graph_.nodes[node])[0];
    if (operand.kind() == OperandRef::Kind::scalar) return false;  // a barrier may have a number before it
    if (is_node(operand) && result_.role(operand) == Role::number) {
      result_.roles[node] = Role::number;
      return true;
    }
    // What is made of positions is made again, also where somebody else reads it from memory.
    const bool through = is_node(operand) && result_.role(operand) == Role::view &&
                         (result_.stored[operand.index()] == 0 || result_.views[operand.index()]->counted);
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

  /// Whole numbers cost as little as reading them, so whoever reads them counts. Random bits and numbers in double
  /// precision cost ten times as much: one group makes them, like any other value.
  bool try_create(std::uint32_t node) {
    const Record& record = graph_.nodes[node];
    if (options_.falls_back(record.op) || !target_.creates(record.op, record.dtype)) return false;
    if (record.op == op::random_bits || !is_integer(record.dtype) || !options_.fusion) {
      result_.roles[node] = Role::element;
      return true;
    }
    result_.roles[node] = Role::view;
    result_.views[node] = whole(OperandRef::record(node), shape(node));
    result_.views[node]->counted = true;
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

  bool try_reduction(std::uint32_t node) {
    const Record& record = graph_.nodes[node];
    const OperandRef operand = graph_.operands(record)[0];
    const Meta meta = graph_.meta_of(operand);
    const std::optional<ReducedAxes> axes = neighbouring(reduction_attrs(record).axes, meta.shape.size());
    if (!axes || element_count(meta.shape) == 0 || options_.falls_back(record.op)) return false;
    if (!target_.reduces(record.op, meta.dtype)) return false;
    // A kernel has no dimension for axes that hold one element.
    const auto reduced = meta.shape.span().subspan(axes->first, axes->count);
    if (std::ranges::all_of(reduced, [](std::int64_t size) { return size == 1; })) return false;
    if (apart_.reductions[node] != 0) {
      require_stored(operand);
      result_.apart[node] = 1;
    }
    result_.roles[node] = Role::row;
    result_.reduced[node] = *axes;
    return true;
  }

  const Graph& graph_;
  const Target& target_;
  const CompileOptions& options_;
  const SetApart& apart_;
  std::uint32_t current_ = 0;  // the node that gets its role
  Roles result_;
};

}  // namespace

Roles assign_roles(const Graph& graph, const Target& target, const CompileOptions& options, const SetApart& apart) {
  return RoleFinder(graph, target, options, apart).run();
}

}  // namespace lento
