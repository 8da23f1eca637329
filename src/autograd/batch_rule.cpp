#include "autograd/batch_rule.h"
#include "autograd/batch_rule.calls.gen.h"

#include "ir/attr_list.h"
#include "ir/infer.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_gather.gen.h"
#include "ir/op_index_map.gen.h"
#include "ops/composite_helpers.h"
#include "ops/record_limit.h"

#include <algorithm>

namespace lento {

namespace {

using composite::reshaped;

/// A bijection whose every output bit depends on every input bit, so that neighbouring keys give unrelated numbers.
std::uint64_t scrambled(std::uint64_t bits) {
  for (int round = 0; round < 3; ++round) bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93U;
  return bits ^ (bits >> 32);
}

/// The op recorded once more, with other operands and attributes.
std::vector<Tensor> record_again(Op op, std::span<const RecordOperand> operands, AttrsId attrs) {
  std::vector<Meta> tensors;
  for (const RecordOperand& operand : operands) {
    if (operand.is_tensor()) tensors.push_back({operand.state().dtype, shape_of(operand.state().shape)});
  }
  std::vector<Meta> results(info(op).result_count);
  if (info(op).elementwise()) {
    // The dtype of what has no tensor but a condition: where(c, 1, 2).
    std::optional<DType> of_numbers;
    const ElementwiseRule& rule = *info(op).rule;
    if (tensors.size() <= (rule.leading_condition ? 1 : 0)) of_numbers = operands.back().dtype();
    results[0] = infer_elementwise(rule, tensors, of_numbers);
  } else {
    attrs = infer_node(op, tensors, attrs, results);
  }
  return record_multi(op, results, operands, attrs);
}

class Repeat {
 public:
  Repeat(const LoggedOp& op, std::span<const BatchedOperand> operands, std::int64_t size)
      : op_(op), operands_(operands), size_(size) {}

  std::vector<Tensor> run() {
    switch (batch_rule(op_.op)) {
      case BatchRule::align:
        return align();
      case BatchRule::shift:
        return shift();
      case BatchRule::leading:
        return with([&](std::size_t i) { return for_all(i); }, op_.attrs);
      case BatchRule::product:
        return product();
      case BatchRule::merge:
        return merge();
      case BatchRule::index:
        return index();
      case BatchRule::take:
        return take();
      case BatchRule::search:
        return operands_[0].batched() ? each() : with([&](std::size_t i) { return plain(i); }, op_.attrs);
      case BatchRule::draw:
        return draw();
      case BatchRule::steps:
        return steps();
      case BatchRule::each:
        return each();
    }
    return each();
  }

 private:
  const Tensor& one(std::size_t i) const { return operands_[i].one.tensor; }
  bool is_number(std::size_t i) const { return !one(i).defined(); }
  /// The operand as it is: with a batch axis when it has one.
  const Tensor& plain(std::size_t i) const { return operands_[i].batched() ? operands_[i].all : one(i); }

  /// The operand with a batch axis in any case.
  Tensor for_all(std::size_t i) const {
    return operands_[i].batched() ? operands_[i].all : for_each_example(one(i), size_);
  }

  /// A batched operand with axes of length 1 behind the batch axis, so that one example has `rank` axes.
  Tensor padded(const Tensor& all, std::int64_t rank) const {
    if (all.rank() - 1 >= rank) return all;
    Shape shape = all.shape();
    for (std::int64_t i = all.rank() - 1; i < rank; ++i) shape.insert(1, 1);
    return reshaped(all, shape);
  }

  template <class Choose>
  std::vector<Tensor> with(const Choose& choose, AttrsId attrs) const {
    std::vector<Tensor> kept;
    kept.reserve(operands_.size());
    std::vector<RecordOperand> operands;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (is_number(i)) {
        operands.push_back(RecordOperand::number(operands_[i].one.number, operands_[i].one.dtype));
      } else {
        operands.emplace_back(kept.emplace_back(choose(i)));
      }
    }
    return record_again(op_.op, operands, attrs);
  }

  std::vector<Tensor> align() const {
    const std::int64_t rank = op_.results[0].rank();
    return with([&](std::size_t i) { return operands_[i].batched() ? padded(operands_[i].all, rank) : one(i); },
                op_.attrs);
  }

  std::vector<Tensor> shift() const {
    const bool broadcasts = op_.op == op::broadcast_to;
    const std::int64_t rank = op_.results[0].rank();
    return with([&](std::size_t i) { return broadcasts ? padded(for_all(i), rank) : for_all(i); }, shifted_attrs());
  }

  /// Attributes for operands with one more axis in front. Their names say what they are.
  AttrsId shifted_attrs() const {
    std::vector<Attribute> attributes;
    split_attributes(op_.op, attrs_of(op_.attrs), attributes);
    std::vector<std::int64_t> encoded;
    std::vector<std::int64_t> values;
    for (Attribute& attribute : attributes) {
      const std::string_view name = attribute.arg->name;
      values.assign(attribute.values.begin(), attribute.values.end());
      if (name == "axis" || name == "axes") {
        for (std::int64_t& axis : values) ++axis;
      }
      if (op_.op == op::permute_dims || name == "low" || name == "high") values.insert(values.begin(), 0);
      if (name == "shape") values.insert(values.begin(), size_);
      attribute.values = values;
      encode_attribute(attribute, encoded);
    }
    return intern_attrs(encoded);
  }

  std::vector<Tensor> product() const {
    const std::int64_t rank = std::max(one(0).rank(), one(1).rank());
    return with([&](std::size_t i) { return operands_[i].batched() ? padded(operands_[i].all, rank) : one(i); },
                op_.attrs);
  }

  std::vector<Tensor> merge() const {
    const bool first_alone = std::all_of(operands_.begin() + 1, operands_.end(),
                                         [](const BatchedOperand& operand) { return !operand.batched(); });
    if (!first_alone) return each();
    Shape merged = one(0).shape();
    merged[0] *= size_;
    std::vector<Tensor> results =
        with([&](std::size_t i) { return i == 0 ? reshaped(operands_[0].all, merged) : one(i); }, op_.attrs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      Shape apart = op_.results[i].shape();
      apart.insert(0, size_);
      results[i] = reshaped(results[i], apart);
    }
    return results;
  }

  /// gather_nd(x, indices…) and scatter_nd(x, value, indices…): one index more, which counts the examples.
  std::vector<Tensor> index() const {
    const std::size_t first = op_.op == op::gather_nd ? 1 : 2;
    std::vector<Tensor> kept;
    for (std::size_t i = 0; i < first; ++i) kept.push_back(for_all(i));
    std::int64_t rank = 0;
    for (std::size_t i = first; i < operands_.size(); ++i) rank = std::max(rank, one(i).rank());
    Shape counting(static_cast<std::size_t>(rank) + 1, 1);
    counting[0] = size_;
    kept.push_back(reshaped(composite::counting(size_, one(0).device()), counting));
    for (std::size_t i = first; i < operands_.size(); ++i) {
      kept.push_back(operands_[i].batched() ? padded(operands_[i].all, rank) : one(i));
    }
    const std::vector<RecordOperand> operands(kept.begin(), kept.end());
    return record_again(op_.op, operands, op_.attrs);
  }

  std::vector<Tensor> take() const {
    const std::int64_t axis = attrs_of(op_.attrs)[0];
    if (!operands_[1].batched()) return {prim::take_axis(operands_[0].all, one(1), axis + 1)};
    if (!operands_[0].batched()) {
      // The batch axis of the indices stands where the axis was.
      return {composite::move_axis(prim::take_axis(one(0), operands_[1].all, axis), axis, 0)};
    }
    const Tensor moved = composite::move_axis(operands_[0].all, axis + 1, 1);
    const Tensor& indices = operands_[1].all;
    const Tensor example = composite::along(composite::counting(size_, moved.device()), 0, indices.rank());
    Tensor taken = prim::gather_nd(moved, {example, indices});
    // (B, indices…, rest…): the indices' axes back to where the axis was.
    for (std::int64_t i = 0; i < axis; ++i) {
      taken = composite::move_axis(taken, indices.rank() + i, 1 + i);
    }
    return {taken};
  }

  /// From a key that follows from key and counter, so that the numbers are those of a generator's state: drawn again in
  /// the same state, as checkpoint does, they are the same.
  std::vector<Tensor> draw() const {
    const auto key = operands_[0].one.number.to<std::uint64_t>();
    const auto counter = operands_[1].one.number.to<std::uint64_t>();
    const Tensor& one = op_.results[0];
    Shape shape = one.shape();
    shape.insert(0, size_);
    return {prim::random_bits(shape, scrambled(key ^ scrambled(counter + 1)), counter, one.dtype(), one.device())};
  }

  /// N is the second axis of what has one part per step, and the first one of states; weights have none.
  std::vector<Tensor> steps() const {
    const auto is_shared = [&](std::size_t i) {
      const std::string_view name = info(op_.op).args[i].name;
      return name == "weight" || name == "bias";
    };
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (is_shared(i) && operands_[i].batched()) return each();
    }
    const auto axis_of_n = [](const Tensor& x) { return x.rank() == 3 || is_bool(x.dtype()) ? 1 : 0; };
    std::vector<Tensor> results = with(
        [&](std::size_t i) {
          if (is_shared(i)) return one(i);
          const std::int64_t axis = axis_of_n(one(i));
          Shape merged = one(i).shape();
          merged[static_cast<std::size_t>(axis)] *= size_;
          return reshaped(composite::move_axis(for_all(i), 0, axis), merged);
        },
        op_.attrs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::int64_t axis = axis_of_n(op_.results[i]);
      Shape apart = op_.results[i].shape();
      apart.insert(static_cast<std::size_t>(axis), size_);
      results[i] = composite::move_axis(reshaped(results[i], apart), axis, 0);
    }
    return results;
  }

  std::vector<Tensor> each() const {
    composite::require_recordable(size_, "examples of an op that vmap takes one by one");
    std::vector<std::vector<Tensor>> parts(op_.results.size());
    for (std::int64_t example = 0; example < size_; ++example) {
      const std::vector<Tensor> results = with(
          [&](std::size_t i) {
            return operands_[i].batched() ? composite::picked(operands_[i].all, 0, example) : one(i);
          },
          op_.attrs);
      for (std::size_t i = 0; i < results.size(); ++i) parts[i].push_back(composite::with_axis(results[i], 0));
    }
    std::vector<Tensor> results;
    for (const std::vector<Tensor>& part : parts) results.push_back(prim::concatenate(part, 0));
    return results;
  }

  const LoggedOp& op_;
  std::span<const BatchedOperand> operands_;
  std::int64_t size_;
};

}  // namespace

Tensor for_each_example(const Tensor& one, std::int64_t size) {
  Shape shape = one.shape();
  shape.insert(0, size);
  return broadcast_to(one, shape);
}

std::vector<Tensor> repeat_batched(const LoggedOp& op, std::span<const BatchedOperand> operands, std::int64_t size) {
  const SourceScope scope(op.source);
  return Repeat(op, operands, size).run();
}

}  // namespace lento
