// Operands and attributes for every op of a random graph, family by family.
#include "ir/random_graph.h"

#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_cast.gen.h"
#include "ir/op_contraction.gen.h"
#include "ir/op_creation.gen.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_fft.gen.h"
#include "ir/op_gather.gen.h"
#include "ir/op_index_map.gen.h"
#include "ir/op_scatter.gen.h"
#include "ir/op_sort.gen.h"
#include "ir/reach.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace lento::test {

namespace {

constexpr std::size_t position(std::int64_t axis) { return static_cast<std::size_t>(axis); }

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  return std::equal(from.begin(), from.end(), to.end() - static_cast<std::ptrdiff_t>(from.size()),
                    [](std::int64_t extent, std::int64_t wanted) { return extent == 1 || extent == wanted; });
}

}  // namespace

void RandomGraphBuilder::add_elementwise(Op op) {
  const OpInfo& op_info = info(op);
  DTypeSet allowed = 0;
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (compute_dtype(*op_info.rule, dtype) == dtype) allowed |= dtype_bit(dtype);
  }
  const auto first = existing([&](const Meta& type) { return contains(allowed, type.dtype); });
  const DType dtype = first && chance(0.8) ? meta(*first).dtype : any_dtype(allowed);
  const Shape shape = first && chance(0.8) ? meta(*first).shape : any_shape(0, 4);
  std::vector<OperandRef> operands;
  for (std::size_t i = 0; i < op_info.args.size(); ++i) {
    const ArgInfo& arg = op_info.args[i];
    if (!is_operand(arg.kind)) continue;
    const bool condition = i == 0 && op_info.rule->leading_condition;
    if (arg.kind == ArgKind::number || (arg.kind == ArgKind::operand && chance(0.3))) {
      operands.push_back(number(dtype));
      continue;
    }
    Shape part = shape;
    while (!part.empty() && chance(0.1)) part.erase(0);
    for (std::int64_t& extent : part) {
      if (chance(0.1)) extent = 1;
    }
    operands.push_back(value(condition ? DType::bool_ : dtype, part));
  }
  append(op, operands);
}

void RandomGraphBuilder::add_creation(Op op) {
  const bool random = info(op).family == Family::random;
  const DType dtype = any_dtype(random ? dtype_bit(DType::uint32) | dtype_bit(DType::uint64) : kNumeric);
  std::vector<OperandRef> operands;
  for (const ArgInfo& arg : info(op).args) {
    if (arg.kind == ArgKind::number) operands.push_back(number(random ? DType::uint64 : dtype));
  }
  append(op, operands,
         {{"shape", any_shape(0, 3)}, {"size", {between(0, 9)}}, {"dtype", {static_cast<std::int64_t>(dtype)}}});
  if (op == op::full) return;
  // Most of what is made of positions is used beside something else, so that kernels have it inside: as it is, or as
  // one row of many.
  const OperandRef made = OperandRef::record(static_cast<std::uint32_t>(maker_.graph.nodes.size() - 1));
  for (int use = 0; use < 2 && chance(0.7); ++use) {
    Shape shape = meta(made).shape;
    if (chance(0.3)) shape.insert(0, between(1, 5));
    append(chance(0.5) ? op::add : op::equal, {made, value(dtype, shape)});
  }
}

void RandomGraphBuilder::add_cast(Op op) {
  const OperandRef x = value(kAny);
  const DType from = meta(x).dtype;
  DTypeSet targets = 0;
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto to = static_cast<DType>(d);
    const bool fits =
        op == op::bitcast ? size_of(from) == size_of(to) : !is_complex(from) || is_complex(to) || is_bool(to);
    if (fits) targets |= dtype_bit(to);
  }
  append(op, {x}, {{"dtype", {static_cast<std::int64_t>(any_dtype(targets))}}});
}

void RandomGraphBuilder::add_along_axes(Op op) {
  const bool one_axis = std::ranges::any_of(info(op).args, [](const ArgInfo& arg) { return arg.name == "axis"; });
  const std::string_view name = info(op).name;
  const bool logical = name.ends_with("any") || name.ends_with("all");
  const bool arithmetic = name.ends_with("sum") || name.ends_with("prod");
  const OperandRef x = value(logical ? kAny : arithmetic ? kNumeric : kBool | kReal, one_axis ? 1 : 0, 1);
  const auto rank = static_cast<std::int64_t>(meta(x).shape.size());
  Ints axes;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    if (chance(0.5)) axes.push_back(axis);
  }
  append(op, {x}, {{"axis", {one_axis ? between(0, rank - 1) : 0}}, {"axes", axes}});
  // What is made of a whole axis is often used beside each of its elements, more than once.
  const OperandRef whole = OperandRef::record(static_cast<std::uint32_t>(maker_.graph.nodes.size() - 1));
  if (meta(whole).dtype != meta(x).dtype || !broadcasts_to(meta(whole).shape, meta(x).shape)) return;
  OperandRef latest = x;
  for (int use = 0; use < 3 && chance(0.4); ++use) {
    const bool adds = contains(kNumeric, meta(x).dtype);
    append(adds ? chance(0.5) ? op::subtract : op::add : op::equal, {latest, whole});
    latest = OperandRef::record(static_cast<std::uint32_t>(maker_.graph.nodes.size() - 1));
  }
}

bool RandomGraphBuilder::add_index_map(Op op) {
  const OperandRef x = value(kAny, op == op::concatenate || op == op::as_strided ? 1 : 0);
  const Shape& shape = meta(x).shape;
  const std::size_t rank = shape.size();
  switch (op) {
    case op::reshape: {
      Shape target = shape;
      std::shuffle(target.begin(), target.end(), random_);
      if (chance(0.3)) target = {element_count(shape)};
      if (chance(0.3)) target.insert(0, 1);
      append(op, {x}, {{"shape", target}});
      return true;
    }
    case op::permute_dims: {
      Ints axes(rank, 0);
      std::iota(axes.begin(), axes.end(), 0);
      std::shuffle(axes.begin(), axes.end(), random_);
      append(op, {x}, {{"axes", axes}});
      return true;
    }
    case op::broadcast_to: {
      Shape target = shape;
      for (std::int64_t& extent : target) {
        if (extent == 1) extent = between(0, 3);
      }
      if (rank < 4 && chance(0.5)) target.insert(0, between(1, 3));
      append(op, {x}, {{"shape", target}});
      return true;
    }
    case op::as_strided: {
      const std::int64_t length = shape.back();
      Ints sizes = any_ints(static_cast<std::size_t>(between(length == 0 ? 1 : 0, 3)), 0, 3);
      const Ints strides = any_ints(sizes.size(), -2, 2);
      for (std::int64_t& size : sizes) {
        if (!reach_of(sizes, strides)->fits(length)) size = length == 0 ? 0 : 1;
      }
      const Reach reach = *reach_of(sizes, strides);
      const std::int64_t first = reach.empty() ? 0 : between(-reach.low, length - 1 - reach.high);
      append(op, {x, number(first)}, {{"sizes", sizes}, {"strides", strides}});
      return true;
    }
    case op::strided_slice:
    case op::strided_update: {
      std::vector<OperandRef> operands{x};
      std::vector<OperandRef> starts;
      Ints axes;
      Ints sizes;
      Ints steps;
      Shape part = shape;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        if (chance(0.4)) continue;
        const std::int64_t step = shape[axis] == 0 ? 1 : between(1, 3);
        const std::int64_t longest = (shape[axis] + step - 1) / step;
        const std::int64_t size = between(0, longest);
        const std::int64_t span = size == 0 ? 0 : (size - 1) * step + 1;
        const std::int64_t start = between(0, shape[axis] - span);
        const bool backwards = size > 0 && chance(0.3);
        axes.push_back(static_cast<std::int64_t>(axis));
        sizes.push_back(size);
        steps.push_back(backwards ? -step : step);
        starts.push_back(number(backwards ? start + span - 1 : start));
        part[axis] = size;
      }
      if (op == op::strided_update) operands.push_back(value(meta(x).dtype, part));
      operands.insert(operands.end(), starts.begin(), starts.end());
      append(op, operands, {{"axes", axes}, {"sizes", sizes}, {"steps", steps}});
      return true;
    }
    case op::pad_constant: {
      Ints low = any_ints(rank, 0, 2);
      const Ints high = any_ints(rank, 0, 2);
      for (std::size_t axis = 0; axis < rank; ++axis) {
        if (shape[axis] > 0 && chance(0.1)) low[axis] = -1;
      }
      append(op, {x, number(meta(x).dtype)}, {{"low", low}, {"high", high}});
      return true;
    }
    case op::concatenate: {
      std::vector<OperandRef> operands{x};
      const std::int64_t axis = between(0, static_cast<std::int64_t>(rank) - 1);
      const DType dtype = meta(x).dtype;
      Shape other = shape;
      for (std::int64_t i = between(0, 5); i > 0; --i) {
        other[position(axis)] = between(0, 3);
        operands.push_back(value(dtype, other));
      }
      append(op, operands, {{"axis", {axis}}});
      return true;
    }
    default:
      return false;
  }
}

bool RandomGraphBuilder::add_gather(Op op) {
  const OperandRef x = value(kAny, 1, 1);
  const Shape shape = meta(x).shape;
  const std::int64_t axis = between(0, static_cast<std::int64_t>(shape.size()) - 1);
  switch (op) {
    case op::take_axis:
      append(op, {x, indices(any_shape(0, 2), shape[position(axis)])}, {{"axis", {axis}}});
      return true;
    case op::take_along_axis: {
      Shape selected = shape;
      for (std::int64_t& extent : selected) extent = between(0, extent);
      selected[position(axis)] = between(0, 4);
      append(op, {x, indices(selected, shape[position(axis)])}, {{"axis", {axis}}});
      return true;
    }
    case op::gather_nd: {
      std::vector<OperandRef> operands{x};
      const Shape common = any_shape(0, 2);
      for (std::int64_t i = 0; i <= axis; ++i) operands.push_back(indices(common, shape[position(i)]));
      append(op, operands);
      return true;
    }
    default:
      return false;
  }
}

bool RandomGraphBuilder::add_scatter(Op op) {
  const OperandRef x = value(kBool | kReal, 1, 1);
  const Shape shape = meta(x).shape;
  const DType dtype = meta(x).dtype;
  const std::int64_t axis = between(0, static_cast<std::int64_t>(shape.size()) - 1);
  switch (op) {
    case op::scatter_axis: {
      Shape selected = shape;
      for (std::int64_t& extent : selected) extent = between(0, extent);
      selected[position(axis)] = between(0, 4);
      append(op, {x, indices(selected, shape[position(axis)]), value(dtype, selected)}, {{"axis", {axis}}});
      return true;
    }
    case op::scatter_nd: {
      Shape selected = any_shape(0, 2);
      std::vector<OperandRef> operands;
      for (std::int64_t i = 0; i <= axis; ++i) operands.push_back(indices(selected, shape[position(i)]));
      selected.append(shape.span().subspan(position(axis) + 1));
      operands.insert(operands.begin(), {x, value(dtype, selected)});
      append(op, operands);
      return true;
    }
    default:
      return false;
  }
}

bool RandomGraphBuilder::add_sort(Op op) {
  switch (op) {
    case op::sort_values:
    case op::sort_indices:
    case op::top_k: {
      const OperandRef x = value(kBool | kReal, 1);
      const Shape& shape = meta(x).shape;
      const std::int64_t axis = between(0, static_cast<std::int64_t>(shape.size()) - 1);
      append(op, {x}, {{"axis", {axis}}, {"k", {between(0, shape[position(axis)])}}});
      return true;
    }
    case op::search_sorted: {
      const OperandRef values = value(kBool | kReal);
      const OperandRef sorted = input(meta(values).dtype, any_shape(1, 1), {InputDomain::Kind::sorted});
      append(op, {sorted, values});
      return true;
    }
    case op::flat_nonzero: {
      const OperandRef x = value(kAny);
      append(op, {x}, {{"size", {0}}});  // how many are not zero depends on the values
      return true;
    }
    default:
      return false;
  }
}

bool RandomGraphBuilder::add_fft(Op op) {
  const OperandRef x = value(op == op::fft_r2c ? kFloating : kComplex, 1, 1);
  const Shape& shape = meta(x).shape;
  const std::int64_t axis = between(0, static_cast<std::int64_t>(shape.size()) - 1);
  const std::int64_t even = 2 * (shape[position(axis)] - 1);
  append(op, {x}, {{"axis", {axis}}, {"size", {even > 0 && chance(0.5) ? even : even + 1}}});
  return true;
}

bool RandomGraphBuilder::add_recurrence(Op op) {
  const std::int64_t length = between(0, 4), batch = between(1, 3), hidden = between(1, 4);
  const DType dtype = chance(0.5) ? DType::float32 : DType::float64;
  const std::string_view name = info(op).name;
  const std::int64_t gates = name.starts_with("lstm") ? 4 : name.starts_with("gru") ? 3 : 1;
  // Numbers that do not grow from step to step: what is rounded would grow with them.
  const auto small = [&](const Shape& shape) {
    const Meta wanted{dtype, shape};
    const auto found = existing([&](const Meta& type) { return type == wanted; });
    return found && chance(0.5) ? *found : input(dtype, shape, {InputDomain::Kind::range, -1, 1});
  };
  std::vector<OperandRef> operands;
  for (const ArgInfo& arg : info(op).args) {
    if (arg.kind == ArgKind::tensor_list) {
      if (chance(0.5)) operands.push_back(value(DType::bool_, {length, batch}));
    } else if (arg.name == "weight") {
      operands.push_back(small({gates * hidden, hidden}));
    } else if (arg.name == "bias") {
      operands.push_back(small({hidden}));
    } else if (arg.name == "h" || arg.name == "c") {
      operands.push_back(small({batch, hidden}));
    } else if (is_operand(arg.kind)) {
      const std::int64_t parts = arg.name == "inputs" ? gates : arg.name == "gates" ? 4 : 1;
      operands.push_back(small({length, batch, parts * hidden}));
    }
  }
  append(op, operands, {{"nonlinearity", {between(0, 1)}}, {"reverse", {between(0, 1)}}});
  return true;
}

bool RandomGraphBuilder::add_contraction(Op op) {
  if (op >= op::rnn_states && op <= op::lstm_states_grad) return add_recurrence(op);
  const DType dtype = any_dtype(kNumeric);
  if (op == op::matrix_multiply) {
    Shape a = any_shape(0, 2);
    Shape b = a;
    if (!b.empty() && chance(0.5)) b.erase(0);
    const std::int64_t inner = between(0, 4);
    a.append(Ints{between(0, 4), inner});
    b.append(Ints{inner, between(0, 4)});
    append(op, {value(dtype, a), value(dtype, b)});
    return true;
  }
  if (op == op::attention || op == op::attention_grad) {
    add_attention(op);
    return true;
  }
  const auto axes = position(between(1, 3));
  const std::int64_t groups = between(1, 2);
  const Ints kernel = any_ints(axes, 1, 3);
  const Ints stride = any_ints(axes, 1, 2);
  const Ints dilation = any_ints(axes, 1, 2);
  const Ints low = any_ints(axes, 0, 2);
  const Ints high = any_ints(axes, 0, 2);
  Shape x{between(1, 2), groups * between(1, 2)};
  Shape weight{groups * between(1, 2), x[1] / groups};
  Shape result{x[0], weight[0]};
  Ints spatial;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t reach = (kernel[axis] - 1) * dilation[axis] + 1;
    spatial.push_back(std::max<std::int64_t>(0, reach - low[axis] - high[axis]) + between(0, 3));
    result.push_back((spatial[axis] + low[axis] + high[axis] - reach) / stride[axis] + 1);
  }
  x.append(spatial);
  weight.append(kernel);
  const bool input_grad = op == op::convolution_input_grad;
  const bool weight_grad = op == op::convolution_weight_grad;
  if (!input_grad && !weight_grad && op != op::convolution) return false;
  const OperandRef first = value(dtype, op == op::convolution ? x : result);
  const OperandRef second = value(dtype, weight_grad ? x : weight);
  append(op, {first, second},
         {{"stride", stride},
          {"padding_low", low},
          {"padding_high", high},
          {"dilation", dilation},
          {"groups", {groups}},
          {"input_size", spatial},
          {"kernel_size", kernel}});
  return true;
}

void RandomGraphBuilder::add_attention(Op op) {
  const DType dtype = any_dtype(kFloating);
  const DType wide = size_of(dtype) == 2 ? DType::float32 : dtype;
  const Shape batch = any_shape(0, 1);
  const std::int64_t key_heads = between(1, 2);
  const std::int64_t heads = key_heads * between(1, 2);
  const std::int64_t queries = between(0, 4);
  const std::int64_t keys = between(0, 4);
  const std::int64_t features = between(1, 3);
  const std::int64_t values = between(1, 3);
  const auto with = [&](std::int64_t head_count, std::int64_t rows, std::int64_t columns) {
    Shape shape = chance(0.7) ? batch : Shape{};
    shape.append(Ints{head_count, rows, columns});
    return shape;
  };
  std::vector<OperandRef> operands{value(dtype, with(heads, queries, features)),
                                   value(dtype, with(key_heads, keys, features)),
                                   value(dtype, with(key_heads, keys, values))};
  if (op == op::attention_grad) {
    operands.push_back(value(dtype, with(heads, queries, values)));
    operands.push_back(value(wide, with(heads, queries, 1)));
    operands.push_back(value(wide, with(heads, queries, 1)));
  }
  operands.push_back(number(DType::float64));
  if (chance(0.5)) {
    Shape mask = with(chance(0.5) ? heads : 1, queries, chance(0.5) ? keys : 1);
    while (chance(0.3) && !mask.empty()) mask.erase(0);
    operands.push_back(value(chance(0.5) ? DType::bool_ : wide, mask));
  }
  append(op, operands);
}

void RandomGraphBuilder::add_window(Op op) {
  const auto axes = position(between(1, 3));
  const Ints kernel = any_ints(axes, 1, 3);
  const Ints dilation = any_ints(axes, 1, 2);
  Shape x = any_shape(2, 2);
  for (std::size_t axis = 0; axis < axes; ++axis) x.push_back((kernel[axis] - 1) * dilation[axis] + 1 + between(0, 3));
  append(op, {value(any_dtype(kReal), x)},
         {{"kernel", kernel},
          {"stride", any_ints(axes, 1, 2)},
          {"padding_low", any_ints(axes, 0, 1)},
          {"padding_high", any_ints(axes, 0, 1)},
          {"dilation", dilation}});
}

bool RandomGraphBuilder::add_linalg(Op op) {
  constexpr DTypeSet kLapack = dtype_bit(DType::float32) | dtype_bit(DType::float64) | kComplex;
  const DType dtype = any_dtype(kLapack);
  Shape square = any_shape(0, 1);
  const std::int64_t size = between(1, 4);
  square.append(Ints{size, size});
  const OperandRef matrix = input(dtype, square, {InputDomain::Kind::positive_definite});
  if (info(op).args.size() >= 2 && info(op).args[1].kind == ArgKind::tensor) {
    Shape right = square;
    right.back() = between(0, 3);
    append(op, {matrix, value(dtype, right)});
  } else {
    append(op, {matrix});
  }
  return true;
}

}  // namespace lento::test
