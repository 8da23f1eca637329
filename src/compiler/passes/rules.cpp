#include "compiler/passes/rules.h"

#include "compiler/passes/exact_casts.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/attrs_reduction.gen.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_cast.gen.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_index_map.gen.h"
#include "ir/op_reduction.gen.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <vector>

namespace lento {

namespace {

// --- values that are there already ---

bool has_the_type_of_its_operand(Match& node) {
  return node.dtype() == node.dtype_of(node.operand()) && node.shape_id() == node.shape_id_of(node.operand()) &&
         node.replace_with(node.operand());
}

/// f(f(x)) = x.
bool undoes_itself(Match& node) {
  const Record* inner = node.made_by(node.operand(), node.op());
  return inner != nullptr && node.replace_with(node.first_operand(*inner));
}

/// f(f(x)) = f(x). The length of a complex number may be a nan with a sign, which a second abs takes away.
bool changes_nothing_twice(Match& node) {
  const Record* inner = node.made_by(node.operand(), node.op());
  return inner != nullptr && !is_complex(node.dtype_of(node.first_operand(*inner))) &&
         node.replace_with(node.operand());
}

/// f(x, x) = x.
bool of_equals(Match& node) {
  return node.operand(0) == node.operand(1) && node.operand(0).kind() != OperandRef::Kind::scalar &&
         node.replace_with(node.operand());
}

bool rounds_what_is_whole(Match& node) {
  constexpr Op kRounding[] = {op::floor, op::ceil, op::trunc, op::round};
  const Record* inner = node.maker_of(node.operand());
  return inner != nullptr && std::ranges::find(kRounding, inner->op) != std::end(kRounding) &&
         node.replace_with(node.operand());
}

bool ignores_the_sign(Match& node) {
  const Record* inner = node.made_by(node.operand(), op::negative);
  const DType dtype = node.dtype_of(node.operand());
  return inner != nullptr && (is_floating(dtype) || is_signed_integer(dtype)) &&
         node.set_operand(0, node.first_operand(*inner));
}

// --- index maps ---

/// g(f(x)) = h(x) for two maps of one op whose attributes alone say what h is.
template <Op op>
bool takes_over(Match& node) {
  const Record* inner = node.made_by(node.operand(), op);
  return inner != nullptr && node.set_operand(0, node.first_operand(*inner));
}

/// As bool, every byte but 0 becomes 1.
bool bitcasts_twice(Match& node) {
  const Record* inner = node.made_by(node.operand(), op::bitcast);
  return inner != nullptr && inner->dtype != DType::bool_ && node.set_operand(0, node.first_operand(*inner));
}

bool permutes_twice(Match& node) {
  const Record* inner = node.made_by(node.operand(), op::permute_dims);
  if (inner == nullptr) return false;
  const Ints outer_axes = decode_permute_dims(node.attrs()).axes;
  const Ints inner_axes = decode_permute_dims(inner->attrs).axes;
  Ints axes;
  for (const std::int64_t axis : outer_axes) axes.push_back(inner_axes[static_cast<std::size_t>(axis)]);
  return node.replace_with(op::permute_dims, intern(PermuteDimsAttrs{axes}), {node.first_operand(*inner)});
}

/// The axes that are longer than 1 keep their order.
bool moves_only_ones(Match& node) {
  const Shape& from = shape_of(node.shape_id_of(node.operand()));
  std::int64_t last = -1;
  for (const std::int64_t axis : decode_permute_dims(node.attrs()).axes) {
    if (from[static_cast<std::size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return node.replace_with(op::reshape, intern(ReshapeAttrs{node.shape()}), {node.operand()});
}

bool pads_nothing(Match& node) {
  const PadConstantAttrs attrs = decode_pad_constant(node.attrs());
  const auto none = [](std::int64_t amount) { return amount == 0; };
  return std::ranges::all_of(attrs.low, none) && std::ranges::all_of(attrs.high, none) &&
         node.replace_with(node.operand());
}

bool slices_nothing(Match& node) { return node.operands().size() == 1 && node.replace_with(node.operand()); }

bool joins_one(Match& node) { return node.operands().size() == 1 && node.replace_with(node.operand()); }

/// An operand that was broadcast to the result's shape is broadcast by the op itself; then it can be a value of the
/// same kernel.
bool broadcasts_by_itself(Match& node) {
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const Record* map = node.made_by(node.operand(i), op::broadcast_to);
    if (map == nullptr) continue;
    std::vector<const Shape*> shapes;
    for (std::size_t j = 0; j < node.operands().size(); ++j) {
      shapes.push_back(
          &shape_of(j == i ? node.shape_id_of(node.first_operand(*map)) : node.shape_id_of(node.operand(j))));
    }
    if (broadcast_shapes(shapes) == node.shape()) return node.set_operand(i, node.first_operand(*map));
  }
  return false;
}

// --- casts ---

bool casts_twice(Match& node) {
  const Record* inner = node.made_by(node.operand(), op::astype);
  if (inner == nullptr) return false;
  const OperandRef x = node.first_operand(*inner);
  return middle_cast_is_exact(node.dtype_of(x), inner->dtype, node.dtype()) && node.set_operand(0, x);
}

// --- conditions ---

struct Opposite {
  Op op;
  Op opposite;
  bool of_floats;  // also where nan compares: false there for both but == and !=
};
constexpr Opposite kOpposites[] = {
    {op::equal, op::not_equal, true},     {op::not_equal, op::equal, true},     {op::less, op::greater_equal, false},
    {op::greater_equal, op::less, false}, {op::greater, op::less_equal, false}, {op::less_equal, op::greater, false},
};

bool is_not_a_comparison(Match& node) {
  const Record* inner = node.maker_of(node.operand());
  if (inner == nullptr) return false;
  const auto* found = std::ranges::find(kOpposites, inner->op, &Opposite::op);
  if (found == std::end(kOpposites)) return false;
  const std::span<const OperandRef> compared = node.operands_of(*inner);
  const DType dtype = node.dtype_of(compared[0]);
  return (found->of_floats || is_integer(dtype) || is_bool(dtype)) &&
         node.replace_with(found->opposite, AttrsId{}, {compared[0], compared[1]});
}

bool undoes_a_logical_not(Match& node) {
  const Record* inner = node.made_by(node.operand(), op::logical_not);
  return inner != nullptr && is_bool(node.dtype_of(node.first_operand(*inner))) &&
         node.replace_with(node.first_operand(*inner));
}

bool chooses_by_not(Match& node) {
  const Record* inner = node.made_by(node.operand(), op::logical_not);
  if (inner == nullptr || !is_bool(node.dtype_of(node.first_operand(*inner)))) return false;
  return node.replace_with(op::where, AttrsId{}, {node.first_operand(*inner), node.operand(2), node.operand(1)});
}

// --- reductions ---

/// Of any of the reductions: their attributes have one form.
ReduceSumAttrs reduction_attrs(AttrsId attrs) { return decode_reduce_sum(attrs); }

/// The reduced axes of a shape, counted from the front and in order.
std::vector<std::uint8_t> reduced_axes(const Shape& shape, const Ints& axes) {
  std::vector<std::uint8_t> reduced(shape.size(), 0);
  for (const std::int64_t axis : axes) {
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis)] = 1;
  }
  return reduced;
}

bool reduces_nothing(Match& node) {
  if (node.dtype() != node.dtype_of(node.operand())) return false;  // reduce_any of numbers
  const Shape& from = shape_of(node.shape_id_of(node.operand()));
  const std::vector<std::uint8_t> reduced = reduced_axes(from, reduction_attrs(node.attrs()).axes);
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (reduced[axis] != 0 && from[axis] != 1) return false;
  }
  return node.replace_with(op::reshape, intern(ReshapeAttrs{node.shape()}), {node.operand()});
}

/// Exact for what has an order without nans and for conditions. The axes of both together.
bool reduces_twice(Match& node) {
  const Record* inner = node.made_by(node.operand(), node.op());
  if (inner == nullptr || is_floating(node.dtype())) return false;
  const ReduceSumAttrs first = reduction_attrs(inner->attrs);
  const ReduceSumAttrs second = reduction_attrs(node.attrs());
  const OperandRef x = node.first_operand(*inner);
  const Shape& from = shape_of(node.shape_id_of(x));
  const std::vector<std::uint8_t> once = reduced_axes(from, first.axes);
  if (first.keepdims != second.keepdims) return false;
  const std::vector<std::uint8_t> again = reduced_axes(shape_of(inner->shape), second.axes);
  Ints axes;
  std::size_t kept = 0;  // axis of the inner result
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (once[axis] != 0 || again[kept] != 0) axes.push_back(static_cast<std::int64_t>(axis));
    if (first.keepdims || once[axis] == 0) ++kept;
  }
  return node.replace_with(node.op(), intern(ReduceSumAttrs{axes, second.keepdims}), {x});
}

/// reshape(f(… f(reduce(x)))) with the reduced axes put back as 1, as in `x - mean(x, -1)[:, None]`, is the same with
/// an axis that was kept. What reads it then joins the kernel of the reduction, which has its rows at hand.
bool puts_reduced_axes_back(Match& node) {
  constexpr std::size_t kLongest = 8;
  OperandRef chain[kLongest];
  std::size_t length = 0;
  OperandRef at = node.operand();
  while (true) {
    const Record* maker = node.maker_of(at);
    if (maker == nullptr || !node.only_reader_of(at)) return false;
    const std::span<const OperandRef> operands = node.operands_of(*maker);
    if (info(maker->op).family == Family::reduction && maker->op != op::arg_max && maker->op != op::arg_min) break;
    if (length == kLongest || !(info(maker->op).elementwise() || maker->op == op::astype)) return false;
    // One tensor, and numbers.
    OperandRef next;
    std::size_t tensors = 0;
    for (const OperandRef operand : operands) {
      if (operand.kind() == OperandRef::Kind::scalar) continue;
      next = operand;
      ++tensors;
    }
    if (tensors != 1) return false;
    chain[length++] = at;
    at = next;
  }
  const Record& reduction = *node.maker_of(at);
  const OperandRef x = node.first_operand(reduction);
  const ReduceSumAttrs attrs = reduction_attrs(reduction.attrs);
  Shape kept = shape_of(node.shape_id_of(x));
  const std::vector<std::uint8_t> reduced = reduced_axes(kept, attrs.axes);
  for (std::size_t axis = 0; axis < kept.size(); ++axis) {
    if (reduced[axis] != 0) kept[axis] = 1;
  }
  if (attrs.keepdims || kept != node.shape()) return false;
  const AttrsId with_axes = intern(ReduceSumAttrs{attrs.axes, true});
  if (length == 0) return node.replace_with(reduction.op, with_axes, {x});
  OperandRef value = node.copy_of(at, with_axes, node.shape_id(), x);
  while (length-- > 0) {
    value = node.copy_of(chain[length], node.maker_of(chain[length])->attrs, node.shape_id(), value);
  }
  return node.replace_with(value);
}

constexpr Rule kRules[] = {
    // Index maps. They cost nothing when they run; fewer of them let more values meet in one kernel.
    {op::reshape, "reshape(x) to its own shape = x", has_the_type_of_its_operand},
    {op::reshape, "reshape(reshape(x)) = reshape(x)", takes_over<op::reshape>},
    {op::reshape, "reshape(f(reduce(x))) = f(reduce(x, keepdims))", puts_reduced_axes_back},
    {op::permute_dims, "permute_dims(permute_dims(x)) = permute_dims(x)", permutes_twice},
    {op::permute_dims, "permute_dims(x) of axes of length 1 = reshape(x)", moves_only_ones},
    {op::broadcast_to, "broadcast_to(x) to its own shape = x", has_the_type_of_its_operand},
    {op::broadcast_to, "broadcast_to(broadcast_to(x)) = broadcast_to(x)", takes_over<op::broadcast_to>},
    {op::strided_slice, "strided_slice(x) of no axes = x", slices_nothing},
    {op::pad_constant, "pad_constant(x) by nothing = x", pads_nothing},
    {op::concatenate, "concatenate([x]) = x", joins_one},
    {kEveryElementwiseOp, "f(broadcast_to(x), y) = f(x, y)", broadcasts_by_itself},
    // Casts.
    {op::astype, "astype(x) to its own dtype = x", has_the_type_of_its_operand},
    {op::astype, "astype(astype(x)) = astype(x), the inner one exact", casts_twice},
    {op::bitcast, "bitcast(x) to its own dtype = x", has_the_type_of_its_operand},
    {op::bitcast, "bitcast(bitcast(x)) = bitcast(x), the inner one not bool", bitcasts_twice},
    // Elementwise ops.
    {op::negative, "negative(negative(x)) = x", undoes_itself},
    {op::bitwise_invert, "bitwise_invert(bitwise_invert(x)) = x", undoes_itself},
    {op::conj, "conj(conj(x)) = x", undoes_itself},
    {op::abs, "abs(abs(x)) = abs(x)", changes_nothing_twice},
    {op::abs, "abs(negative(x)) = abs(x)", ignores_the_sign},
    {op::sign, "sign(sign(x)) = sign(x)", changes_nothing_twice},
    {op::floor, "floor(x) of a whole x = x", rounds_what_is_whole},
    {op::ceil, "ceil(x) of a whole x = x", rounds_what_is_whole},
    {op::trunc, "trunc(x) of a whole x = x", rounds_what_is_whole},
    {op::round, "round(x) of a whole x = x", rounds_what_is_whole},
    {op::maximum, "maximum(x, x) = x", of_equals},
    {op::minimum, "minimum(x, x) = x", of_equals},
    {op::bitwise_and, "bitwise_and(x, x) = x", of_equals},
    {op::bitwise_or, "bitwise_or(x, x) = x", of_equals},
    {op::logical_not, "logical_not(logical_not(x)) = x", undoes_a_logical_not},
    {op::logical_not, "logical_not(a == b) = a != b, and so on", is_not_a_comparison},
    {op::where, "where(logical_not(c), a, b) = where(c, b, a)", chooses_by_not},
    // Reductions.
    {op::reduce_sum, "reduce_sum(x) of one element = reshape(x)", reduces_nothing},
    {op::reduce_prod, "reduce_prod(x) of one element = reshape(x)", reduces_nothing},
    {op::reduce_max, "reduce_max(x) of one element = reshape(x)", reduces_nothing},
    {op::reduce_min, "reduce_min(x) of one element = reshape(x)", reduces_nothing},
    {op::reduce_any, "reduce_any(x) of one element = reshape(x)", reduces_nothing},
    {op::reduce_all, "reduce_all(x) of one element = reshape(x)", reduces_nothing},
    {op::reduce_max, "reduce_max(reduce_max(x)) = reduce_max(x)", reduces_twice},
    {op::reduce_min, "reduce_min(reduce_min(x)) = reduce_min(x)", reduces_twice},
    {op::reduce_any, "reduce_any(reduce_any(x)) = reduce_any(x)", reduces_twice},
    {op::reduce_all, "reduce_all(reduce_all(x)) = reduce_all(x)", reduces_twice},
};

/// The rules op by op, and where those of each op begin.
struct Index {
  std::vector<const Rule*> rules;
  std::array<std::uint16_t, kMaxOps + 1> begin{};

  Index() {
    for (std::size_t number = 0; number < kMaxOps; ++number) {
      begin[number] = static_cast<std::uint16_t>(rules.size());
      const Op op = static_cast<Op>(number);
      if (!is_op(op)) continue;
      for (const Rule& rule : kRules) {
        if (rule.op == op || (rule.op == kEveryElementwiseOp && info(op).elementwise())) rules.push_back(&rule);
      }
    }
    begin[kMaxOps] = static_cast<std::uint16_t>(rules.size());
  }
};

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

std::span<const Rule* const> rules_of(Op op) {
  static const Index& index =
      *std::make_unique<Index>().release();  // never destroyed: compiles may end while the process does
  const auto at = static_cast<std::size_t>(op);
  return std::span<const Rule* const>(index.rules).subspan(index.begin[at], index.begin[at + 1] - index.begin[at]);
}

}  // namespace lento
