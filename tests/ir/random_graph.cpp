#include "ir/random_graph.h"

#include "ir/op.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

namespace lento::test {

namespace {

/// Elements; larger values are not used as operands.
constexpr std::int64_t kLargestValue = 4096;
constexpr std::int64_t kLargestLongValue = 100'000;

}  // namespace

RandomGraphBuilder::RandomGraphBuilder(std::uint64_t seed, std::int64_t longest) : random_(seed), longest_(longest) {}

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
  if (longest_ > 5 && rank > 0 && chance(0.5))
    shape[static_cast<std::size_t>(between(0, rank - 1))] = between(6, longest_);
  return shape;
}

Ints RandomGraphBuilder::any_ints(std::size_t count, std::int64_t low, std::int64_t high) {
  Ints list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(between(low, high));
  return list;
}

// --- operands ---

OperandRef RandomGraphBuilder::input(DType dtype, const Shape& shape, InputDomain domain) {
  domains_.push_back(domain);
  return maker_.input(dtype, shape);
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
  return maker_.number(value, dtype);
}

OperandRef RandomGraphBuilder::number(std::int64_t value) { return maker_.number(value, DType::int64); }

std::optional<OperandRef> RandomGraphBuilder::existing(const std::function<bool(const Meta&)>& test) {
  const Graph& graph = maker_.graph;
  std::vector<OperandRef> candidates;
  const auto consider = [&](OperandRef operand) {
    const Meta type = meta(operand);
    if (element_count(type.shape) <= (longest_ > 5 ? kLargestLongValue : kLargestValue) && test(type))
      candidates.push_back(operand);
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
  const char* files[] = {"train.py", "model.cpp", "<stdin>", "a file with spaces.py", "quote\".py", "\xe4\xb8\xad.py"};
  const AttrsId attrs = attributes(op, named);
  Source source =
      chance(0.1) ? Source{} : Source::from_text(any_of(files), static_cast<std::uint32_t>(between(0, 999)));
  if (chance(0.5)) source.scope = intern_scope(0, "model");
  if (chance(0.5)) source.scope = intern_scope(source.scope, chance(0.5) ? "layer1" : "odd \"name\"\n");
  const OperandRef producer = maker_.node(op, operands, attrs, source);
  for (std::uint32_t i = 1; i < info(op).result_count; ++i) {
    if (!chance(0.2)) maker_.result(producer, i);  // the others nobody asked for
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

RandomGraph RandomGraphBuilder::finish() {
  Graph& graph = maker_.graph;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (i + 1 == graph.nodes.size() || chance(0.2)) graph.outputs.push_back(i);
  }
  return {std::exchange(maker_, {}).graph, std::exchange(domains_, {})};
}

RandomGraph random_graph(std::uint64_t seed, std::size_t nodes, std::int64_t longest) {
  RandomGraphBuilder builder(seed, longest);
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15U + 1);
  const std::vector<Op> ops = all_primitives();
  for (std::size_t i = 0; i < nodes; ++i) builder.add(ops[random() % ops.size()]);
  return builder.finish();
}

std::vector<Op> all_primitives() {
  std::vector<Op> ops;
  for (const Op op : all_ops()) {
    const bool added = static_cast<std::uint16_t>(op) >= kFirstAddedOp;  // by another test: nobody can run it
    if (!added && info(op).family != Family::bookkeeping) ops.push_back(op);
  }
  return ops;
}

}  // namespace lento::test
