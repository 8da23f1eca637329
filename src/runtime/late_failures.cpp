#include "runtime/late_failures.h"

#include "base/fail.h"
#include "ir/index_operands.h"

namespace lento {

LateFailures::LateFailures(const Graph& graph, const Schedule& schedule,
                           std::span<const std::unique_ptr<const PreparedCall>> calls) {
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    first_.push_back(static_cast<std::uint32_t>(writers_.size()));
    const Step& step = schedule.steps[s];
    if (step.is_kernel()) {
      // A kernel picks rows for take_axis, which has a single operand of indices.
      for (const std::uint32_t node : step.kernel().pickers) writers_.push_back({node, 0});
      continue;
    }
    if (calls[s] == nullptr) continue;
    const std::uint32_t node = step.nodes[0];
    const std::size_t indices = index_operands(graph, graph.nodes[node]).size();
    for (std::uint32_t i = 0; i < indices; ++i) writers_.push_back({node, i});
    for (std::uint32_t i = 0; i < calls[s]->status_words(); ++i) writers_.push_back({node, i, calls[s].get()});
  }
  first_.push_back(static_cast<std::uint32_t>(writers_.size()));
}

void LateFailures::read(const Graph& graph, std::span<const StatusWord> words, std::span<const Source> sources,
                        NodeFailures& failures) const {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == 0) continue;
    const Writer& writer = writers_[i];
    const Record& node = graph.nodes[writer.node];
    const auto explain = [&]() -> BadValue {
      if (writer.call != nullptr) return writer.call->explain(writer.which, words[i]);
      const IndexOperand indices = index_operands(graph, node)[writer.which];
      const DType dtype = graph.meta_of(graph.operands(node)[indices.operand]).dtype;
      return bad_index(dtype, words[i], indices.axis, indices.extent);
    };
    const NodeContext context(node.op);
    BadValue told = explain();
    failures.emplace_back(writer.node, Failure::make(told.kind, complete_message(std::move(told.message)),
                                                     sources[graph.origin(writer.node)]));
  }
}

}  // namespace lento
