#include "executor/plan.h"

#include "ir/attr_list.h"
#include "ir/op.h"

#include <xxhash.h>

#include <algorithm>

namespace lento {

namespace {

/// Everything of a graph's structure but the extents other than 1, as a list of words.
class Pattern {
 public:
  explicit Pattern(const Graph& graph) {
    words_.reserve(graph.nodes.size() * 6 + graph.inputs.size() * 2);
    for (const GraphInput& input : graph.inputs) {
      add(static_cast<std::uint64_t>(input.dtype));
      add_shape(input.shape);
    }
    for (const Record& node : graph.nodes) {
      add(static_cast<std::uint64_t>(node.op) << 32 | static_cast<std::uint64_t>(node.dtype));
      add(node.result_index);
      add_shape(node.shape);
      add_attrs(node);
      for (const OperandRef operand : graph.operands(node))
        add(static_cast<std::uint64_t>(operand.kind()) << 32 | operand.index());
    }
    for (const std::uint32_t output : graph.outputs) add(output);
    for (const ScalarArgument& scalar : graph.scalars) add(static_cast<std::uint64_t>(scalar.dtype));
  }

  const std::vector<std::uint64_t>& words() const { return words_; }

 private:
  void add(std::uint64_t word) { words_.push_back(word); }

  void add_shape(ShapeId id) {
    if (id == last_shape_ && last_word_ != 0) return add(last_word_);
    const Shape& shape = shape_of(id);
    std::uint64_t word = shape.size() + 1;
    for (const std::int64_t extent : shape) word = word * 2 + (extent == 1 ? 1 : 0);
    last_shape_ = id;
    last_word_ = word;
    add(word);
  }

  /// Attributes except for those that are extents of the operands or the result.
  void add_attrs(const Record& node) {
    if (!info(node.op).has_extents()) return add(static_cast<std::uint64_t>(node.attrs));
    split_attributes(node.op, attrs_of(node.attrs), attributes_);
    for (const Attribute& attribute : attributes_) {
      if (attribute.arg->is_extent) continue;
      add(attribute.values.size());
      for (const std::int64_t value : attribute.values) add(static_cast<std::uint64_t>(value));
    }
  }

  std::vector<std::uint64_t> words_;
  std::vector<Attribute> attributes_;  // of the node that is looked at
  ShapeId last_shape_{};
  std::uint64_t last_word_ = 0;
};

}  // namespace

std::uint64_t structure_hash([[maybe_unused]] const Graph& graph, [[maybe_unused]] std::uint8_t device) {
#if defined(LENTO_CONSTANT_HASH)
  return 1;  // 0 is the key of nothing
#else
  std::uint64_t hash = device;
  const auto mix = [&hash](const void* data, std::size_t bytes) { hash = XXH3_64bits_withSeed(data, bytes, hash); };
  mix(graph.nodes.data(), graph.nodes.size() * sizeof(Record));
  mix(graph.operand_lists.data(), graph.operand_lists.size() * sizeof(OperandRef));
  mix(graph.outputs.data(), graph.outputs.size() * sizeof(std::uint32_t));
  for (const GraphInput& input : graph.inputs) {
    const std::uint32_t words[] = {static_cast<std::uint32_t>(input.dtype), static_cast<std::uint32_t>(input.shape)};
    mix(words, sizeof(words));
  }
  for (const ScalarArgument& scalar : graph.scalars) mix(&scalar.dtype, sizeof(scalar.dtype));
  return hash;
#endif
}

bool same_structure(const Graph& a, const Graph& b) {
  return same_bytes<Record>(a.nodes, b.nodes) && same_bytes<OperandRef>(a.operand_lists, b.operand_lists) &&
         a.outputs == b.outputs && a.inputs == b.inputs &&
         std::equal(a.scalars.begin(), a.scalars.end(), b.scalars.begin(), b.scalars.end(),
                    [](const ScalarArgument& x, const ScalarArgument& y) { return x.dtype == y.dtype; });
}

std::uint64_t pattern_hash([[maybe_unused]] const Graph& graph, [[maybe_unused]] std::uint8_t device) {
#if defined(LENTO_CONSTANT_HASH)
  return 1;
#else
  const Pattern pattern(graph);
  return XXH3_64bits_withSeed(pattern.words().data(), pattern.words().size() * sizeof(std::uint64_t), device);
#endif
}

bool same_pattern(const Graph& a, const Graph& b) {
  return a.nodes.size() == b.nodes.size() && a.inputs.size() == b.inputs.size() && a.outputs == b.outputs &&
         Pattern(a).words() == Pattern(b).words();
}

std::size_t graph_bytes(const Graph& graph) {
  return graph.nodes.size() * (sizeof(Record) + sizeof(Source)) + graph.inputs.size() * sizeof(GraphInput) +
         graph.scalars.size() * sizeof(ScalarArgument) + graph.operand_lists.size() * sizeof(OperandRef) +
         graph.outputs.size() * sizeof(std::uint32_t);
}

}  // namespace lento
