// Graphs that nobody recorded: texts and attributes with something changed in them. The parser and the verifier refuse
// them, or they run: a value, or a failure, and never a byte outside of the operands (which a sanitizer sees).
#include "backends/reference/interpreter.h"
#include "fuzz/watch.h"
#include "ir/infer.h"
#include "ir/op.h"
#include "ir/random_graph.h"
#include "ir/random_inputs.h"
#include "ir/run_graph.h"

#include <lento/error.h>

#include <gtest/gtest.h>

#include <cctype>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace lento::test {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

constexpr std::int64_t kNumbers[] = {-5,
                                     -3,
                                     -2,
                                     -1,
                                     0,
                                     1,
                                     2,
                                     3,
                                     4,
                                     6,
                                     9,
                                     100,
                                     std::int64_t{1} << 32,
                                     std::int64_t{1} << 61,
                                     std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::max() - 1,
                                     std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::min() + 1};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::int64_t number() { return kNumbers[below(std::size(kNumbers))]; }

  /// One to three words, numbers or signs of the text replaced by others, left out, or doubled.
  std::string change(const std::string& text) {
    std::vector<std::string> tokens;
    for (const char c : text) {
      const bool in_word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
      const bool grows = in_word && !tokens.empty() &&
                         (std::isalnum(static_cast<unsigned char>(tokens.back().back())) != 0 ||
                          tokens.back().back() == '_' || tokens.back().back() == '-');
      if (grows) {
        tokens.back() += c;
      } else {
        tokens.emplace_back(1, c);
      }
    }
    for (std::size_t changes = 1 + below(3); changes-- > 0;) {
      std::string& token = tokens[below(tokens.size())];
      switch (below(4)) {
        case 0:
          token = tokens[below(tokens.size())];
          break;
        case 1:
          if (std::isdigit(static_cast<unsigned char>(token.back())) != 0) token = std::to_string(number());
          break;
        case 2:
          token = below(2) == 0 ? " " : token + token;
          break;
        default:
          if (std::isdigit(static_cast<unsigned char>(token.back())) != 0) token = std::to_string(below(5));
          break;
      }
    }
    std::string result;
    for (const std::string& token : tokens) result += token;
    return result;
  }

  /// Attributes of the first node changed, and its type made what inference says, whatever the attributes mean.
  Graph change_attributes(Graph graph) {
    Record& record = graph.nodes[0];
    Ints attrs(attrs_of(record.attrs));
    if (attrs.empty()) return graph;
    for (std::size_t changes = 1 + below(2); changes-- > 0;) attrs[below(attrs.size())] = number();
    record.attrs = intern_attrs(attrs);
    std::vector<Meta> operands;
    for (const OperandRef operand : graph.operands(record)) {
      if (operand.kind() != OperandRef::Kind::scalar) operands.push_back(graph.meta_of(operand));
    }
    std::vector<Meta> results(info(record.op).result_count, {record.dtype, {}});
    infer_node(record.op, operands, record.attrs, results);
    for (Record& node : graph.nodes) {
      node.dtype = results[node.result_index].dtype;
      node.shape = intern_shape(results[node.result_index].shape);
    }
    return graph;
  }

 private:
  std::mt19937_64 random_;
};

/// True when it ran.
bool run_if_small(const Graph& graph, std::uint64_t seed) {
  std::size_t bytes = 0;
  for (const GraphInput& input : graph.inputs) bytes = std::max(bytes, byte_size(input));
  for (const Record& node : graph.nodes) bytes = std::max(bytes, byte_size(node));
  if (bytes > kMostBytes) return false;
  reference::Interpreter program(graph, 0);
  if (program.planned_peak() > kMostBytes) return false;
  const std::vector<InputDomain> domains(graph.inputs.size(), InputDomain{InputDomain::Kind::range, -6, 6});
  (void)run_graph(program, graph, make_inputs({graph, domains}, seed));
  return true;
}

TEST(MutatedGraphs, TextsAreRefusedOrRun) {
  const std::uint64_t first = fuzz::from_environment("LENTO_FUZZ_FIRST", 0);
  const std::uint64_t rounds = fuzz::from_environment("LENTO_FUZZ_SEEDS", 4000);
  std::size_t ran = 0;
  fuzz::LastWords last_words;
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    last_words.set(seed);
    const std::string text = Mutator(seed).change(to_string(random_graph(seed % 997, 1 + seed % 8).graph));
    try {
      const Graph graph = parse_graph(text);
      verify(graph);
      ran += run_if_small(graph, seed) ? 1 : 0;
    } catch (const Error&) {  // refused
    }
  }
  EXPECT_GT(ran, rounds / 50) << "nearly all are refused at once: nothing is tested";
}

TEST(MutatedGraphs, AttributesAreRefusedOrRun) {
  const std::uint64_t first = fuzz::from_environment("LENTO_FUZZ_FIRST", 0);
  const std::uint64_t rounds = fuzz::from_environment("LENTO_FUZZ_SEEDS", 4000);
  const std::vector<Op> ops = all_primitives();
  std::size_t ran = 0;
  fuzz::LastWords last_words;
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    last_words.set(seed);
    RandomGraphBuilder builder(seed / 7);
    const Op op = ops[seed % ops.size()];
    if (info(op).rule != nullptr || !builder.add(op)) continue;
    const RandomGraph random = builder.finish();
    if (random.graph.nodes[0].op != op) continue;
    try {
      const Graph graph = Mutator(seed).change_attributes(random.graph);
      verify(graph);
      ran += run_if_small(graph, seed) ? 1 : 0;
    } catch (const Error&) {  // refused
    }
  }
  EXPECT_GT(ran, rounds / 50) << "nearly all are refused at once: nothing is tested";
}

}  // namespace
}  // namespace lento::test
