#include "compiler/passes/simplify.h"

#include "base/format.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/equal_nodes.h"
#include "compiler/passes/match.h"
#include "compiler/passes/rules.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/op_index_map.gen.h"

#include <utility>

namespace lento {

class Simplifier {
 public:
  Simplifier(const Graph& old, SimplifyObserver* observer)
      : old_(old),
        observer_(observer),
        equals_(old.nodes.size()),
        node_(graph_, uses_, equals_),
        value_of_(old.nodes.size()) {
    graph_.inputs = old.inputs;
    graph_.scalars = old.scalars;
    graph_.nodes.reserve(old.nodes.size());
    graph_.sources.reserve(old.nodes.size());
    graph_.origins.reserve(old.nodes.size());
    graph_.operand_lists.reserve(old.operand_lists.size());
    uses_.reserve(old.nodes.size());
    simplified_.fired.resize(all_rules().size(), 0);
    old_uses_.resize(old.nodes.size(), 0);
    is_output_.resize(old.nodes.size(), 0);
    for (const Record& record : old.nodes) {
      for (const OperandRef operand : old.operands(record)) {
        if (operand.kind() == OperandRef::Kind::record) ++old_uses_[operand.index()];
      }
    }
    for (const std::uint32_t output : old.outputs) {
      ++old_uses_[output];
      is_output_[output] = 1;
    }
  }

  std::pair<Graph, Simplified> run() {
    for (std::uint32_t node = 0; node < old_.nodes.size(); ++node) {
      if (old_.nodes[node].op == op::result) {
        result(node);
      } else {
        translate(node);
      }
    }
    return {std::move(graph_), std::move(simplified_)};
  }

 private:
  void translate(std::uint32_t old) {
    const Record& record = old_.nodes[old];
    Record& draft = node_.record_;
    draft = record;
    node_.value_.reset();
    node_.operands_.clear();
    for (const OperandRef operand : old_.operands(record)) {
      node_.operands_.push_back(operand.kind() == OperandRef::Kind::record ? value_of_[operand.index()] : operand);
    }
    rewrite(old);
    if (node_.value_) {
      if (is_output_[old] != 0) {
        keep_output(old, *node_.value_);
      } else {
        no_longer_reads(*node_.value_);
      }
      stand_for(old, *node_.value_);
      return;
    }
    append(old, draft, node_.operands_);
    merge_or_keep(old);
  }

  /// Applies rules until none fits, or the node has become another value.
  void rewrite(std::uint32_t old) {
    bool again = true;
    while (again && !node_.value_) {
      again = false;
      for (const Rule* rule : rules_of(node_.op())) {
        if (!rule->apply(node_)) continue;
        ++simplified_.fired[static_cast<std::size_t>(rule - all_rules().data())];
        if (observer_ != nullptr) observer_->on_rule(*rule, old_.origin(old));
        again = true;
        break;
      }
    }
  }

  /// The node just appended stands for `old`, unless one before it computes the same.
  void merge_or_keep(std::uint32_t old) {
    const auto node = static_cast<std::uint32_t>(graph_.nodes.size() - 1);
    const std::uint32_t first = equals_.find_or_add(graph_, node);
    if (first == node || !has_results_of(first, old)) {
      value_of_[old] = OperandRef::record(node);
      if (is_output_[old] != 0) graph_.outputs.push_back(node);
      return;
    }
    ++simplified_.merged;
    if (observer_ != nullptr) observer_->on_merge(old_.origin(old), graph_.origin(first));
    drop_last();
    if (is_output_[old] != 0) keep_output(old, OperandRef::record(first));
    stand_for(old, OperandRef::record(first));
  }

  /// An output is a node of its own, although its value is another one's: a reshape, which a backend need not copy.
  void keep_output(std::uint32_t old, OperandRef value) {
    Record copy{.op = op::reshape, .dtype = old_.nodes[old].dtype};
    copy.shape = old_.nodes[old].shape;
    copy.attrs = intern(ReshapeAttrs{shape_of(copy.shape)});
    append(old, copy, std::span(&value, 1));
    graph_.outputs.push_back(static_cast<std::uint32_t>(graph_.nodes.size() - 1));
  }

  /// The node has gone, and with it what it read of the value that stands for it.
  void no_longer_reads(OperandRef value) {
    if (value.kind() == OperandRef::Kind::record && node_.operand() == value) --uses_[value.index()];
  }

  /// Whoever reads `old` reads `value`.
  void stand_for(std::uint32_t old, OperandRef value) {
    value_of_[old] = value;
    if (value.kind() == OperandRef::Kind::record) uses_[value.index()] += old_uses_[old];
  }

  /// A further result of an op: of the one that stands for it.
  void result(std::uint32_t old) {
    const Record& record = old_.nodes[old];
    const OperandRef producer = value_of_[record.operands[0].index()];
    const std::uint32_t place = find_result(producer.index(), record.result_index);
    if (place != kNone) {
      if (is_output_[old] != 0) keep_output(old, OperandRef::record(place));
      stand_for(old, OperandRef::record(place));
      return;
    }
    append(old, record, std::span(&producer, 1));
    const auto node = static_cast<std::uint32_t>(graph_.nodes.size() - 1);
    value_of_[old] = OperandRef::record(node);
    if (is_output_[old] != 0) graph_.outputs.push_back(node);
  }

  static constexpr std::uint32_t kNone = ~0U;

  /// The node of a further result of the op at `producer`, if somebody asked for it.
  std::uint32_t find_result(std::uint32_t producer, std::uint32_t index) const {
    for (std::uint32_t i = 1; i < graph_.result_count(producer); ++i) {
      if (graph_.nodes[producer + i].result_index == index) return producer + i;
    }
    return kNone;
  }

  /// Results follow their op directly, so that an op that is there already cannot get more of them.
  bool has_results_of(std::uint32_t producer, std::uint32_t old) const {
    const std::uint32_t count = old_.result_count(old);
    for (std::uint32_t i = 1; i < count; ++i) {
      if (find_result(producer, old_.nodes[old + i].result_index) == kNone) return false;
    }
    return true;
  }

  void append(std::uint32_t old, const Record& record, std::span<const OperandRef> operands) {
    Record& made = graph_.nodes.emplace_back(record);
    set_operands(graph_, made, operands);
    graph_.sources.push_back(old_.sources[old]);
    graph_.origins.push_back(old_.origin(old));
    uses_.push_back(old_uses_[old]);
  }

  void drop_last() {
    const Record& last = graph_.nodes.back();
    if (last.operand_count == Record::kOperandList) graph_.operand_lists.resize(last.operands[0].bits);
    graph_.nodes.pop_back();
    graph_.sources.pop_back();
    graph_.origins.pop_back();
    uses_.pop_back();
  }

  const Graph& old_;
  SimplifyObserver* observer_;
  Graph graph_;
  std::vector<std::uint32_t> uses_;  // one per node of the new graph
  EqualNodes equals_;
  Match node_;
  std::vector<OperandRef> value_of_;     // one per node of the old graph: what stands for it in the new one
  std::vector<std::uint32_t> old_uses_;  // one per node of the old graph: operands and outputs that read it
  std::vector<std::uint8_t> is_output_;  // one per node of the old graph
  Simplified simplified_;
};

Simplified simplify(Graph& graph, SimplifyObserver* observer) {
  auto [simpler, simplified] = Simplifier(graph, observer).run();
#if !defined(NDEBUG)
  verify(simpler);
#endif
  if (observer != nullptr) observer->on_pass("rules", simpler);
  simplified.dropped = drop_dead_code(simpler);
#if !defined(NDEBUG)
  verify(simpler);
#endif
  if (observer != nullptr) observer->on_pass("dead-code", simpler);
  graph = std::move(simpler);
  return std::move(simplified);
}

std::string to_string(const Simplified& simplified) {
  std::string text;
  for (std::size_t i = 0; i < simplified.fired.size(); ++i) {
    if (simplified.fired[i] != 0) text += fmt::format("# {} times {}\n", simplified.fired[i], all_rules()[i].name);
  }
  if (simplified.merged + simplified.dropped != 0) {
    text += fmt::format("# {} nodes merged with equal ones, {} left out\n", simplified.merged, simplified.dropped);
  }
  return text;
}

}  // namespace lento
