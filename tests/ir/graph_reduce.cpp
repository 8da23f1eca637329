// Making a failing case small, and its text.
#include "ir/graph_case.h"

#include "base/format.h"
#include "compiler/passes/dead_code.h"
#include "ir/op_number.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace lento::test {

namespace {

/// Everything that reads a node reads `by`; outputs too, when that is a node.
bool replace(Graph& graph, std::uint32_t node, OperandRef by) {
  if (graph.result_count(node) > 1 || graph.nodes[node].op == op::result) return false;
  const auto is_output = std::ranges::find(graph.outputs, node);
  if (is_output != graph.outputs.end()) {
    if (by.kind() != OperandRef::Kind::record) return false;
    *is_output = by.index();
    std::ranges::sort(graph.outputs);
    graph.outputs.erase(std::ranges::unique(graph.outputs).begin(), graph.outputs.end());
  }
  const auto change = [&](OperandRef& operand) {
    if (operand == OperandRef::record(node)) operand = by;
  };
  for (Record& record : graph.nodes) {
    if (record.operand_count == Record::kOperandList) continue;
    for (std::size_t i = 0; i < record.operand_count; ++i) change(record.operands[i]);
  }
  for (OperandRef& operand : graph.operand_lists) change(operand);
  return true;
}

void clean(Graph& graph) {
  drop_dead_code(graph);
  graph.origins.clear();
}

class Reducer {
 public:
  Reducer(GraphCase graph, const std::function<bool(const GraphCase&)>& fails)
      : case_(std::move(graph)), fails_(fails) {}

  GraphCase reduce() {
    bool smaller = true;
    while (smaller) smaller = with_one_output() || without_outputs() || without_nodes();
    without_inputs();
    return case_;
  }

 private:
  /// Keeps the change when the case still fails.
  template <class Change>
  bool attempt(const Change& change) {
    GraphCase candidate = case_;
    if (!change(candidate)) return false;
    if (!fails_(candidate)) return false;
    case_ = std::move(candidate);
    return true;
  }

  /// One node as the only output: the first that fails has the least behind it.
  bool with_one_output() {
    for (std::uint32_t node = 0; node < case_.random.graph.nodes.size(); ++node) {
      const bool smaller = attempt([&](GraphCase& c) {
        const std::size_t before = c.random.graph.nodes.size() + c.random.graph.outputs.size();
        c.random.graph.outputs = {node};
        clean(c.random.graph);
        return c.random.graph.nodes.size() + c.random.graph.outputs.size() < before;
      });
      if (smaller) return true;
    }
    return false;
  }

  bool without_outputs() {
    bool smaller = false;
    for (std::size_t k = case_.random.graph.outputs.size(); k-- > 0 && case_.random.graph.outputs.size() > 1;) {
      smaller |= attempt([&](GraphCase& c) {
        c.random.graph.outputs.erase(c.random.graph.outputs.begin() + static_cast<std::ptrdiff_t>(k));
        clean(c.random.graph);
        return true;
      });
    }
    return smaller;
  }

  bool without_nodes() {
    for (std::uint32_t node = static_cast<std::uint32_t>(case_.random.graph.nodes.size()); node-- > 0;) {
      const Graph& graph = case_.random.graph;
      const Meta type = graph.meta_of(OperandRef::record(node));
      for (const OperandRef operand : graph.operands(graph.nodes[node])) {
        if (operand.kind() == OperandRef::Kind::scalar || graph.meta_of(operand) != type) continue;
        if (attempt([&](GraphCase& c) { return without(c, node, operand); })) return true;
      }
      const bool cut = attempt([&](GraphCase& c) {
        c.random.graph.inputs.push_back({type.dtype, intern_shape(type.shape)});
        c.random.domains.push_back({});
        return without(c, node, OperandRef::leaf(static_cast<std::uint32_t>(c.random.graph.inputs.size() - 1)));
      });
      if (cut) return true;
    }
    return false;
  }

  static bool without(GraphCase& c, std::uint32_t node, OperandRef by) {
    const std::size_t before = c.random.graph.nodes.size();
    if (!replace(c.random.graph, node, by)) return false;
    clean(c.random.graph);
    return c.random.graph.nodes.size() < before;
  }

  /// Those that nobody reads, from the last one on: those before it keep their values.
  void without_inputs() {
    while (!case_.random.graph.inputs.empty()) {
      const OperandRef last = OperandRef::leaf(static_cast<std::uint32_t>(case_.random.graph.inputs.size() - 1));
      const Graph& graph = case_.random.graph;
      const bool read = std::ranges::any_of(graph.nodes, [&](const Record& record) {
        return std::ranges::find(graph.operands(record), last) != graph.operands(record).end();
      });
      if (read) return;
      case_.random.graph.inputs.pop_back();
      case_.random.domains.pop_back();
    }
  }

  GraphCase case_;
  const std::function<bool(const GraphCase&)>& fails_;
};

}  // namespace

GraphCase reduce(GraphCase graph, const std::function<bool(const GraphCase&)>& fails) {
  return Reducer(std::move(graph), fails).reduce();
}

// "# inputs of seed 7: 0 0 0, 1 -3 2": the kind and bounds of each input's domain.
std::string to_text(const GraphCase& graph) {
  std::string text = fmt::format("# inputs of seed {}:", graph.seed);
  for (const InputDomain& domain : graph.random.domains) {
    text += fmt::format(" {} {} {}", static_cast<int>(domain.kind), domain.low, domain.high);
  }
  return text + "\n" + to_string(graph.random.graph);
}

GraphCase parse_case(std::string_view text) {
  GraphCase result;
  constexpr std::string_view kHead = "# inputs of seed ";
  if (!text.starts_with(kHead))
    throw std::invalid_argument("the text does not start with '" + std::string(kHead) + "'");
  result.random.graph = parse_graph(text);
  std::istringstream numbers{std::string(text.substr(kHead.size(), text.find('\n') - kHead.size()))};
  char colon = 0;
  numbers >> result.seed >> colon;
  int kind = 0;
  InputDomain domain;
  while (numbers >> kind >> domain.low >> domain.high) {
    domain.kind = static_cast<InputDomain::Kind>(kind);
    result.random.domains.push_back(domain);
  }
  if (result.random.domains.size() != result.random.graph.inputs.size()) {
    throw std::invalid_argument("the first line does not say how each input is made");
  }
  return result;
}

}  // namespace lento::test
