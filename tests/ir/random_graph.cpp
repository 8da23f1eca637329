#include "ir/random_graph.h"

#include "ir/infer.gen.h"
#include "ir/op.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

namespace lento::test {

namespace {

constexpr std::int64_t kLargestValue = 4096;  // elements; larger values are not used as operands

constexpr std::size_t position(std::int64_t axis) { return static_cast<std::size_t>(axis); }

}  // namespace

RandomGraphBuilder::RandomGraphBuilder(std::uint64_t seed) : random_(seed) {}

// --- choices ---

std::int64_t RandomGraphBuilder::between(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
}

bool RandomGraphBuilder::chance(double probability) { return std::bernoulli_distribution(probability)(random_); }

DType RandomGraphBuilder::any_dtype(DTypeSet set) {
  std::vector<DType> dtypes;
  for (int d = 0; d < kDTypeCount; ++d) {
    if (contains(set, static_cast<DType>(d))) dtypes.push_back(static_cast<DType>(d));
  }
  return any_of(dtypes);
}

Shape RandomGraphBuilder::any_shape(std::int64_t low_rank, std::int64_t high_rank, std::int64_t low_extent) {
  Shape shape;
  const std::int64_t rank = between(low_rank, std::max(low_rank, high_rank));
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    shape.push_back(std::max(low_extent, chance(0.05) ? 0 : between(1, 5)));
  }
  return shape;
}

Ints RandomGraphBuilder::any_ints(std::size_t count, std::int64_t low, std::int64_t high) {
  Ints list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(between(low, high));
  return list;
}

// --- operands ---

OperandRef RandomGraphBuilder::input(DType dtype, const Shape& shape, InputDomain domain) {
  Graph& graph = builder_graph_.graph;
  graph.inputs.push_back({dtype, intern_shape(shape)});
  builder_graph_.domains.push_back(domain);
  return OperandRef::leaf(static_cast<std::uint32_t>(graph.inputs.size() - 1));
}

OperandRef RandomGraphBuilder::number(DType dtype) {
  const double floats[] = {0.0,   -0.0,
                           0.1,   -2.5,
                           1e300, 5e-324,
                           1.0,   std::numeric_limits<double>::infinity(),
                           -7.25, -std::numeric_limits<double>::infinity(),
                           1e22,  std::bit_cast<double>(std::uint64_t{0x7ff8000000000000}),
                           1e16,  std::bit_cast<double>(std::uint64_t{0xfff8000000000123})};
  Scalar value;
  if (is_bool(dtype)) {
    value = chance(0.5);
  } else if (dtype == DType::uint64 && chance(0.5)) {
    value = std::uint64_t{1} << 63 | random_();
  } else if (is_unsigned_integer(dtype)) {
    value = between(0, 255);
  } else if (is_integer(dtype)) {
    value = dtype == DType::int64 && chance(0.3) ? std::numeric_limits<std::int64_t>::min() : between(-128, 127);
  } else if (is_complex(dtype) && chance(0.7)) {
    value = std::complex<double>(any_of(floats), any_of(floats));
  } else if (chance(0.3)) {
    value = between(-3, 3);  // an integer given where the tensor is floating
  } else {
    value = chance(0.5) ? any_of(floats) : std::uniform_real_distribution(-1.0, 1.0)(random_);
  }
  Graph& graph = builder_graph_.graph;
  graph.scalars.push_back({value, dtype});
  return OperandRef::scalar(static_cast<std::uint32_t>(graph.scalars.size() - 1));
}

OperandRef RandomGraphBuilder::number(std::int64_t value) {
  Graph& graph = builder_graph_.graph;
  graph.scalars.push_back({value, DType::int64});
  return OperandRef::scalar(static_cast<std::uint32_t>(graph.scalars.size() - 1));
}

std::optional<OperandRef> RandomGraphBuilder::existing(const std::function<bool(const Meta&)>& test) {
  const Graph& graph = builder_graph_.graph;
  std::vector<OperandRef> candidates;
  const auto consider = [&](OperandRef operand) {
    const Meta type = meta(operand);
    if (element_count(type.shape) <= kLargestValue && test(type)) candidates.push_back(operand);
  };
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) consider(OperandRef::record(i));
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) consider(OperandRef::leaf(i));
  if (candidates.empty()) return std::nullopt;
  return any_of(candidates);
}

OperandRef RandomGraphBuilder::value(DType dtype, const Shape& shape) {
  if (chance(0.9)) {
    const Meta wanted{dtype, shape};
    if (const auto found = existing([&](const Meta& type) { return type == wanted; })) return *found;
  }
  return input(dtype, shape);
}

OperandRef RandomGraphBuilder::value(DTypeSet set, std::int64_t low_rank, std::int64_t low_extent,
                                     std::int64_t high_rank) {
  if (chance(0.8)) {
    const auto found = existing([&](const Meta& type) {
      return contains(set, type.dtype) && static_cast<std::int64_t>(type.shape.size()) >= low_rank &&
             static_cast<std::int64_t>(type.shape.size()) <= high_rank &&
             std::ranges::all_of(type.shape, [&](std::int64_t extent) { return extent >= low_extent; });
    });
    if (found) return *found;
  }
  return input(any_dtype(set),
               any_shape(low_rank, std::max(low_rank, std::min<std::int64_t>(high_rank, 3)), low_extent));
}

OperandRef RandomGraphBuilder::indices(const Shape& shape, std::int64_t length) {
  constexpr DType kIndexTypes[] = {DType::int64, DType::int32, DType::int16};
  const DType dtype = any_of(kIndexTypes);
  return input(dtype, shape, {InputDomain::Kind::range, -length, length - 1});
}

// --- nodes ---

AttrsId RandomGraphBuilder::attributes(Op op, Named named) {
  std::vector<std::int64_t> encoded;
  for (const ArgInfo& arg : info(op).args) {
    if (!is_attribute(arg.kind)) continue;
    const auto given = std::ranges::find(named, arg.name, [](const auto& pair) { return pair.first; });
    Ints values;
    if (given != named.end()) {
      values = given->second;
    } else if (arg.kind == ArgKind::bool_) {
      values = {between(0, 1)};
    } else if (arg.kind == ArgKind::choice) {
      values = {between(0, static_cast<std::int64_t>(arg.choices.size()) - 1)};
    } else if (!arg.optional) {
      throw std::logic_error("random_graph.cpp gives no value for " + std::string(arg.name) + " of " +
                             std::string(info(op).name));
    }
    const bool present = given != named.end() || !arg.optional;
    if (arg.optional) encoded.push_back(present ? 1 : 0);
    if (!present) continue;
    if (arg.kind == ArgKind::ints) encoded.push_back(static_cast<std::int64_t>(values.size()));
    encoded.insert(encoded.end(), values.begin(), values.end());
  }
  return intern_attrs(encoded);
}

void RandomGraphBuilder::append(Op op, std::initializer_list<OperandRef> operands, Named named) {
  append(op, std::vector<OperandRef>(operands), named);
}

void RandomGraphBuilder::append(Op op, const std::vector<OperandRef>& operands, Named named) {
  Graph& graph = builder_graph_.graph;
  const OpInfo& op_info = info(op);
  Record record{.op = op, .dtype = DType::float32};
  record.attrs = attributes(op, named);
  std::vector<Meta> metas;
  for (const OperandRef operand : operands) {
    if (op_info.rule != nullptr || operand.kind() != OperandRef::Kind::scalar) metas.push_back(meta(operand));
  }
  std::vector<Meta> results(op_info.result_count);
  if (op_info.rule != nullptr) {
    results[0] = infer_elementwise(*op_info.rule, metas);
  } else {
    infer_node(op, metas, record.attrs, results);
  }
  record.dtype = results[0].dtype;
  record.shape = intern_shape(results[0].shape);
  if (operands.size() <= Record::kInlineOperands) {
    record.operand_count = static_cast<std::uint8_t>(operands.size());
    std::ranges::copy(operands, record.operands);
  } else {
    record.operand_count = Record::kOperandList;
    record.operands[0].bits = static_cast<std::uint32_t>(graph.operand_lists.size());
    record.operands[1].bits = static_cast<std::uint32_t>(operands.size());
    graph.operand_lists.insert(graph.operand_lists.end(), operands.begin(), operands.end());
  }
  const char* files[] = {"train.py", "model.cpp", "<stdin>", "a file with spaces.py", "quote\".py", "\xe4\xb8\xad.py"};
  Source source =
      chance(0.1) ? Source{} : Source::from_text(any_of(files), static_cast<std::uint32_t>(between(0, 999)));
  if (chance(0.5)) source.scope = intern_scope(0, "model");
  if (chance(0.5)) source.scope = intern_scope(source.scope, chance(0.5) ? "layer1" : "odd \"name\"\n");
  const auto producer = static_cast<std::uint32_t>(graph.nodes.size());
  graph.nodes.push_back(record);
  graph.sources.push_back(source);
  for (std::uint32_t i = 1; i < results.size(); ++i) {
    if (chance(0.2)) continue;  // nobody asked for it
    Record result{.op = Op::result, .dtype = results[i].dtype};
    result.operand_count = 1;
    result.shape = intern_shape(results[i].shape);
    result.operands[0] = OperandRef::record(producer);
    result.result_index = i;
    graph.nodes.push_back(result);
    graph.sources.push_back(source);
  }
}

bool RandomGraphBuilder::add(Op op) {
  switch (info(op).family) {
    case Family::bookkeeping:
      return false;
    case Family::elementwise:
      add_elementwise(op);
      return true;
    case Family::creation:
    case Family::random:
      add_creation(op);
      return true;
    case Family::cast:
      add_cast(op);
      return true;
    case Family::reduction:
    case Family::scan:
      add_along_axes(op);
      return true;
    case Family::index_map:
      return add_index_map(op);
    case Family::gather:
      return add_gather(op);
    case Family::scatter:
      return add_scatter(op);
    case Family::sort:
      return add_sort(op);
    case Family::contraction:
      return add_contraction(op);
    case Family::window:
      add_window(op);
      return true;
    case Family::linalg:
      return add_linalg(op);
    case Family::fft:
      return add_fft(op);
  }
  return false;
}

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
}

void RandomGraphBuilder::add_cast(Op op) {
  const OperandRef x = value(kAny);
  const DType from = meta(x).dtype;
  DTypeSet targets = 0;
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto to = static_cast<DType>(d);
    const bool fits =
        op == Op::bitcast ? size_of(from) == size_of(to) : !is_complex(from) || is_complex(to) || is_bool(to);
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
}

bool RandomGraphBuilder::add_index_map(Op op) {
  const OperandRef x = value(kAny, op == Op::concatenate ? 1 : 0);
  const Shape& shape = meta(x).shape;
  const std::size_t rank = shape.size();
  switch (op) {
    case Op::reshape: {
      Shape target = shape;
      std::shuffle(target.begin(), target.end(), random_);
      if (chance(0.3)) target = {element_count(shape)};
      if (chance(0.3)) target.insert(0, 1);
      append(op, {x}, {{"shape", target}});
      return true;
    }
    case Op::permute_dims: {
      Ints axes(rank, 0);
      std::iota(axes.begin(), axes.end(), 0);
      std::shuffle(axes.begin(), axes.end(), random_);
      append(op, {x}, {{"axes", axes}});
      return true;
    }
    case Op::broadcast_to: {
      Shape target = shape;
      for (std::int64_t& extent : target) {
        if (extent == 1) extent = between(0, 3);
      }
      if (rank < 4 && chance(0.5)) target.insert(0, between(1, 3));
      append(op, {x}, {{"shape", target}});
      return true;
    }
    case Op::strided_slice:
    case Op::strided_update: {
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
      if (op == Op::strided_update) operands.push_back(value(meta(x).dtype, part));
      operands.insert(operands.end(), starts.begin(), starts.end());
      append(op, operands, {{"axes", axes}, {"sizes", sizes}, {"steps", steps}});
      return true;
    }
    case Op::pad_constant: {
      Ints low = any_ints(rank, 0, 2);
      const Ints high = any_ints(rank, 0, 2);
      for (std::size_t axis = 0; axis < rank; ++axis) {
        if (shape[axis] > 0 && chance(0.1)) low[axis] = -1;
      }
      append(op, {x, number(meta(x).dtype)}, {{"low", low}, {"high", high}});
      return true;
    }
    case Op::concatenate: {
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
    case Op::take_axis:
      append(op, {x, indices(any_shape(0, 2), shape[position(axis)])}, {{"axis", {axis}}});
      return true;
    case Op::take_along_axis: {
      Shape selected = shape;
      for (std::int64_t& extent : selected) extent = between(0, extent);
      selected[position(axis)] = between(0, 4);
      append(op, {x, indices(selected, shape[position(axis)])}, {{"axis", {axis}}});
      return true;
    }
    case Op::gather_nd: {
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
    case Op::scatter_axis: {
      Shape selected = shape;
      for (std::int64_t& extent : selected) extent = between(0, extent);
      selected[position(axis)] = between(0, 4);
      append(op, {x, indices(selected, shape[position(axis)]), value(dtype, selected)}, {{"axis", {axis}}});
      return true;
    }
    case Op::scatter_nd: {
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
    case Op::sort_values:
    case Op::sort_indices:
    case Op::top_k: {
      const OperandRef x = value(kBool | kReal, 1);
      const Shape& shape = meta(x).shape;
      const std::int64_t axis = between(0, static_cast<std::int64_t>(shape.size()) - 1);
      append(op, {x}, {{"axis", {axis}}, {"k", {between(0, shape[position(axis)])}}});
      return true;
    }
    case Op::search_sorted: {
      const OperandRef values = value(kBool | kReal);
      const OperandRef sorted = input(meta(values).dtype, any_shape(1, 1), {InputDomain::Kind::sorted});
      append(op, {sorted, values});
      return true;
    }
    case Op::flat_nonzero: {
      const OperandRef x = value(kAny);
      append(op, {x}, {{"size", {0}}});  // how many are not zero depends on the values
      return true;
    }
    default:
      return false;
  }
}

bool RandomGraphBuilder::add_fft(Op op) {
  const OperandRef x = value(op == Op::fft_r2c ? kFloating : kComplex, 1, 1);
  const Shape& shape = meta(x).shape;
  const std::int64_t axis = between(0, static_cast<std::int64_t>(shape.size()) - 1);
  const std::int64_t even = 2 * (shape[position(axis)] - 1);
  append(op, {x}, {{"axis", {axis}}, {"size", {even > 0 && chance(0.5) ? even : even + 1}}});
  return true;
}

bool RandomGraphBuilder::add_contraction(Op op) {
  const DType dtype = any_dtype(kNumeric);
  if (op == Op::matrix_multiply) {
    Shape a = any_shape(0, 2);
    Shape b = a;
    if (!b.empty() && chance(0.5)) b.erase(0);
    const std::int64_t inner = between(0, 4);
    a.append(Ints{between(0, 4), inner});
    b.append(Ints{inner, between(0, 4)});
    append(op, {value(dtype, a), value(dtype, b)});
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
  const bool input_grad = op == Op::convolution_input_grad;
  const bool weight_grad = op == Op::convolution_weight_grad;
  if (!input_grad && !weight_grad && op != Op::convolution) return false;
  const OperandRef first = value(dtype, op == Op::convolution ? x : result);
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

RandomGraph RandomGraphBuilder::finish() {
  Graph& graph = builder_graph_.graph;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (i + 1 == graph.nodes.size() || chance(0.2)) graph.outputs.push_back(i);
  }
  return std::exchange(builder_graph_, {});
}

RandomGraph random_graph(std::uint64_t seed, std::size_t nodes) {
  RandomGraphBuilder builder(seed);
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15U + 1);
  const std::vector<Op> ops = all_primitives();
  for (std::size_t i = 0; i < nodes; ++i) builder.add(ops[random() % ops.size()]);
  return builder.finish();
}

std::vector<Op> all_primitives() {
  std::vector<Op> ops;
  for (std::size_t i = 0; i < kOpCount; ++i) {
    if (info(static_cast<Op>(i)).family != Family::bookkeeping) ops.push_back(static_cast<Op>(i));
  }
  return ops;
}

}  // namespace lento::test
