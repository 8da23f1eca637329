#include "compiler/build_kernel.h"

#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_cast.gen.h"
#include "ir/op_creation.gen.h"
#include "ir/op_random.gen.h"

#include <algorithm>
#include <map>

namespace lento {

namespace {

/// The iteration space of a group before neighbouring dimensions are merged: kept axes in order, with the reduced ones
/// last (row), or last except for the axes behind them (column).
class KernelBuilder {
 public:
  KernelBuilder(const Graph& graph, const Target& target, const Fusion& fusion, const Group& group)
      : graph_(graph), fusion_(fusion), group_(group), most_instructions_(target.most_instructions) {
    const std::size_t end = group.reduced.first + group.reduced.count;
    if (group.reduced.count != 0) {
      kernel_.form = end == group.shape.size() ? LoopForm::row : LoopForm::column;
    }
  }

  std::optional<BuiltKernel> build() {
    for (const std::uint32_t node : group_.nodes) {
      emit(node);
      if (kernel_.body.size() > most_instructions_) return std::nullopt;
    }
    // After everything is computed, so that a kernel may write where it has read.
    for (const std::uint32_t node : group_.nodes) {
      if (fusion_.stored[node] != 0) store(node);
    }
    if (kernel_.body.size() > most_instructions_ || !merge_dimensions()) return std::nullopt;
    return BuiltKernel{std::move(kernel_), std::move(step_)};
  }

 private:
  using Kind = Instruction::Kind;

  std::uint16_t add(const Instruction& instruction) {
    kernel_.body.push_back(instruction);
    return static_cast<std::uint16_t>(kernel_.body.size() - 1);
  }

  /// The operand that reads or writes this view over the group's points; equal ones are one.
  std::uint16_t operand(const View& view, const Ints& strides, DType dtype, bool output,
                        std::uint16_t picked_by = kNotPicked) {
    // Equal positions are one, whatever is made of them.
    const OperandRef base = view.counted ? OperandRef::scalar(0) : fusion_.home(view.base);
    for (std::size_t i = 0; i < strides_.size(); ++i) {
      if (!output && !kernel_.operands[i].output && step_.operands[i].base == base && strides_[i] == strides &&
          step_.operands[i].starts == view.starts && kernel_.operands[i].picked_by == picked_by &&
          (!view.picked || step_.pickers[i] == view.picked->node)) {
        return static_cast<std::uint16_t>(i);
      }
    }
    strides_.push_back(strides);
    kernel_.operands.push_back({dtype, InnerStride::one, true, output, picked_by, view.counted});
    step_.operands.push_back({base, view.starts});
    step_.picked.push_back(view.picked ? PickedRows{view.picked->stride, view.picked->extent} : PickedRows{});
    step_.pickers.push_back(view.picked ? view.picked->node : 0);
    return static_cast<std::uint16_t>(kernel_.operands.size() - 1);
  }

  std::uint16_t number(std::uint32_t scalar) { return number(scalar, graph_.scalars[scalar].dtype); }

  /// A number of the graph, given in this dtype.
  std::uint16_t number(std::uint32_t scalar, DType dtype) {
    std::size_t index = 0;
    while (index < step_.numbers.size() && (step_.numbers[index] != scalar || kernel_.numbers[index] != dtype)) ++index;
    if (index == step_.numbers.size()) {
      step_.numbers.push_back(scalar);
      kernel_.numbers.push_back(dtype);
    }
    for (std::size_t i = 0; i < kernel_.body.size(); ++i) {
      if (kernel_.body[i].kind == Kind::number && kernel_.body[i].index == index) return static_cast<std::uint16_t>(i);
    }
    return add({.kind = Kind::number, .dtype = dtype, .index = static_cast<std::uint16_t>(index)});
  }

  /// The scalar of a node that is the same number everywhere.
  std::uint32_t scalar_of(std::uint32_t node) const {
    while (graph_.nodes[node].op != op::full) node = graph_.operands(graph_.nodes[node])[0].index();
    return graph_.operands(graph_.nodes[node])[0].index();
  }

  /// What `node`, an iota or random bits, makes of the positions of a view of it.
  std::uint16_t create(std::uint32_t node, const View& view, const Shape& own) {
    const Record& record = graph_.nodes[node];
    const std::span<const OperandRef> numbers = graph_.operands(record);
    const DType dtype = record.op == op::iota ? iota_dtype(record.dtype) : DType::uint64;
    Instruction instruction{.kind = Kind::create, .op = record.op, .dtype = record.dtype, .input_count = 2};
    instruction.index = operand(view, broadcast_strides(view, own, group_.shape), DType::uint8, false);
    if (const auto known = created_.find({node, instruction.index}); known != created_.end()) return known->second;
    for (std::size_t j = 0; j < 2; ++j) instruction.inputs[j] = number(numbers[j].index(), dtype);
    return created_[{node, instruction.index}] = add(instruction);
  }

  std::uint16_t load(const View& view, const Shape& own, DType dtype) {
    if (view.counted) return create(view.base.index(), view, own);
    const Ints strides = broadcast_strides(view, own, group_.shape);
    std::uint16_t picked_by = kNotPicked;
    if (view.picked) {
      const OperandRef positions = view.picked->positions;
      const Meta meta = graph_.meta_of(positions);
      picked_by =
          operand(whole(positions, meta.shape), broadcast_positions(view, own, group_.shape), meta.dtype, false);
      picks_rows_ = true;
    }
    const std::uint16_t index = operand(view, strides, dtype, false, picked_by);
    for (std::size_t i = 0; i < kernel_.body.size(); ++i) {
      if (kernel_.body[i].kind == Kind::load && kernel_.body[i].index == index) return static_cast<std::uint16_t>(i);
    }
    return add({.kind = Kind::load, .dtype = dtype, .index = index});
  }

  /// The value of an operand of a node of this group.
  std::uint16_t value(OperandRef ref) {
    if (ref.kind() == OperandRef::Kind::scalar) return number(ref.index());
    const Meta meta = graph_.meta_of(ref);
    if (ref.kind() == OperandRef::Kind::leaf) return load(whole(ref, meta.shape), meta.shape, meta.dtype);
    const std::uint32_t node = ref.index();
    if (const auto known = values_.find(node); known != values_.end() && usable(node)) return known->second;
    if (fusion_.roles[node] == NodeRole::number) return converted(number(scalar_of(node)), meta.dtype);
    if (fusion_.roles[node] == NodeRole::view) return load(*fusion_.views[node], meta.shape, meta.dtype);
    return load(whole(ref, meta.shape), meta.shape, meta.dtype);
  }

  /// A row value stands for its shape only where that keeps the reduced axes.
  bool usable(std::uint32_t node) const {
    return fusion_.roles[node] != NodeRole::row || shape_of(graph_.nodes[node].shape) == group_.row_shape;
  }

  std::uint16_t converted(std::uint16_t from, DType dtype) {
    if (kernel_.body[from].dtype == dtype) return from;
    Instruction cast{.kind = Kind::cast, .dtype = dtype, .input_count = 1};
    cast.inputs[0] = from;
    return add(cast);
  }

  void emit(std::uint32_t node) {
    const Record& record = graph_.nodes[node];
    const std::span<const OperandRef> operands = graph_.operands(record);
    if (fusion_.roles[node] == NodeRole::view) {
      values_[node] = load(*fusion_.views[node], shape_of(record.shape), record.dtype);
      return;
    }
    if (fusion_.roles[node] == NodeRole::number) {
      values_[node] = converted(number(scalar_of(node)), record.dtype);
      return;
    }
    if (record.op == op::iota || record.op == op::random_bits) {
      const Shape& shape = shape_of(record.shape);
      View view = whole(OperandRef::record(node), shape);
      view.counted = true;
      values_[node] = create(node, view, shape);
      return;
    }
    Instruction instruction{.kind = Kind::compute, .op = record.op, .dtype = record.dtype};
    if (record.op == op::astype) instruction.kind = Kind::cast;
    if (info(record.op).family == Family::reduction) instruction.kind = Kind::reduce;
    instruction.input_count = static_cast<std::uint8_t>(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Meta meta = graph_.meta_of(operands[i]);
      instruction.inputs[i] =
          fusion_.apart[node] != 0 ? load(whole(operands[i], meta.shape), meta.shape, meta.dtype) : value(operands[i]);
    }
    if (instruction.kind == Kind::cast) {
      instruction.input_count = 1;
      instruction.op = Op{};
      if (kernel_.body[instruction.inputs[0]].dtype == record.dtype) {
        values_[node] = instruction.inputs[0];
        return;
      }
    }
    values_[node] = add(instruction);
  }

  void store(std::uint32_t node) {
    const Record& record = graph_.nodes[node];
    const Shape& shape = shape_of(record.shape);
    const OperandRef ref = OperandRef::record(node);
    Ints strides;
    View view;
    if (fusion_.roles[node] == NodeRole::row) {
      view = whole(ref, group_.row_shape);
      strides = broadcast_strides(view, group_.row_shape, group_.shape);
    } else {
      view = whole(ref, shape);
      strides = broadcast_strides(view, shape, group_.shape);
    }
    Instruction instruction{.kind = Kind::store, .dtype = record.dtype, .input_count = 1};
    instruction.index = operand(view, strides, record.dtype, true);
    instruction.inputs[0] = values_.at(node);
    add(instruction);
  }

  // --- dimensions ---

  struct Dimension {
    std::int64_t size = 1;
    std::vector<std::int64_t> strides;  // one per operand
    bool reduced = false;
  };

  /// Appends an axis, merged with the one before it when every operand walks over both as over one.
  void append(std::vector<Dimension>& dims, std::size_t axis, bool reduced, bool may_merge) const {
    const std::int64_t size = group_.shape[axis];
    if (size == 1) return;
    Dimension added{size, {}, reduced};
    for (const Ints& strides : strides_) added.strides.push_back(strides[axis]);
    if (may_merge && !dims.empty() && dims.back().reduced == reduced) {
      Dimension& last = dims.back();
      const bool one = std::ranges::equal(
          last.strides, added.strides, [&](std::int64_t outer, std::int64_t inner) { return outer == inner * size; });
      if (one) {
        last.size *= size;
        last.strides = std::move(added.strides);
        return;
      }
    }
    dims.push_back(std::move(added));
  }

  static Dimension single(std::size_t operands, bool reduced) {
    return {1, std::vector<std::int64_t>(operands, 0), reduced};
  }

  bool merge_dimensions() {
    const std::size_t rank = group_.shape.size();
    const std::size_t begin = group_.reduced.first;
    const std::size_t end = begin + group_.reduced.count;
    std::vector<Dimension> dims;
    if (kernel_.form == LoopForm::map) {
      for (std::size_t axis = 0; axis < rank; ++axis) append(dims, axis, false, true);
      if (dims.empty()) dims.push_back(single(strides_.size(), false));
    } else {
      for (std::size_t axis = 0; axis < begin; ++axis) append(dims, axis, false, true);
      const std::size_t outer = dims.size();
      for (std::size_t axis = begin; axis < end; ++axis) append(dims, axis, true, true);
      if (dims.size() == outer) dims.push_back(single(strides_.size(), true));
      if (dims.size() != outer + 1) return false;  // the reduced axes are not one dimension for every operand
      if (kernel_.form == LoopForm::column) {
        std::vector<Dimension> inner;
        for (std::size_t axis = end; axis < rank; ++axis) append(inner, axis, false, true);
        if (inner.empty()) inner.push_back(single(strides_.size(), false));
        if (inner.size() != 1) return false;
        dims.push_back(std::move(inner[0]));
      }
    }
    if (dims.size() > kMaxKernelDims) return false;
    kernel_.dims = static_cast<std::uint8_t>(dims.size());
    for (const Dimension& dim : dims) step_.sizes.push_back(dim.size);
    const std::size_t reduced_dim = kernel_.form == LoopForm::column ? dims.size() - 2 : dims.size() - 1;
    for (std::size_t i = 0; i < kernel_.operands.size(); ++i) {
      for (const Dimension& dim : dims) step_.strides.push_back(dim.strides[i]);
      const std::int64_t inner = dims.back().strides[i];
      KernelOperandInfo& operand = kernel_.operands[i];
      operand.inner = inner == 0 ? InnerStride::zero : inner == 1 ? InnerStride::one : InnerStride::any;
      operand.moves = kernel_.form == LoopForm::map || dims[reduced_dim].strides[i] != 0;
    }
    if (!picks_rows_) {
      step_.picked.clear();
      step_.pickers.clear();
    }
    return fits_levels() && positions_stand_still();
  }

  /// A reduction must read something that moves along the reduced dimension, which what is broadcast along it does not;
  /// and what is stored for each element must be a value of each.
  bool fits_levels() const {
    if (kernel_.form == LoopForm::map) return true;
    const std::vector<std::uint8_t> rows = row_values(kernel_);
    for (const Instruction& instruction : kernel_.body) {
      if (instruction.kind == Kind::reduce && rows[instruction.inputs[0]] != 0) return false;
      if (instruction.kind == Kind::store && rows[instruction.inputs[0]] == kernel_.operands[instruction.index].moves) {
        return false;
      }
    }
    return true;
  }

  /// Positions must be the same all along a row.
  bool positions_stand_still() const {
    return std::ranges::all_of(kernel_.operands, [&](const KernelOperandInfo& operand) {
      if (operand.picked_by == kNotPicked) return true;
      const KernelOperandInfo& positions = kernel_.operands[operand.picked_by];
      return positions.inner == InnerStride::zero && (kernel_.form == LoopForm::map || !positions.moves);
    });
  }

  const Graph& graph_;
  const Fusion& fusion_;
  const Group& group_;
  std::size_t most_instructions_;
  bool picks_rows_ = false;
  Kernel kernel_;
  KernelStep step_;
  std::vector<Ints> strides_;                      // one per operand: along the axes of the group's shape
  std::map<std::uint32_t, std::uint16_t> values_;  // of nodes of the group, by instruction
  // What is made at the positions of an operand: the instruction, by node and operand.
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::uint16_t> created_;
};

}  // namespace

std::optional<BuiltKernel> build_kernel(const Graph& graph, const Target& target, const Fusion& fusion,
                                        const Group& group) {
  return KernelBuilder(graph, target, fusion, group).build();
}

}  // namespace lento
