#include "cpu/graph_case.h"

#include <lento/error.h>
#include <lento/threads.h>

#include "backends/reference/arithmetic.h"
#include "backends/reference/interpreter.h"
#include "base/dispatch.h"
#include "base/format.h"
#include "cpu/cpu_program.h"
#include "cpu/random_kernel.h"
#include "ir/op.h"
#include "ir/op_cast.gen.h"
#include "ir/op_elementwise.gen.h"
#include "ir/random_inputs.h"
#include "ir/run_graph.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

namespace lento::test {

namespace {

/// How far two elements are apart, in units of the last place; 0 for two nans.
template <class T>
std::uint64_t distance(T a, T b) {
  if constexpr (requires { a.real(); }) {
    return std::max(distance(a.real(), b.real()), distance(a.imag(), b.imag()));
  } else if constexpr (std::is_integral_v<T>) {
    return a == b ? 0 : ~std::uint64_t{0};
  } else {
    if (reference::is_nan(a) || reference::is_nan(b)) {
      return reference::is_nan(a) && reference::is_nan(b) ? 0 : ~std::uint64_t{0};
    }
    using Bits = std::conditional_t<sizeof(T) == 2, std::int16_t,
                                    std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>;
    const auto place = [](T x) {
      const auto bits = static_cast<std::int64_t>(std::bit_cast<Bits>(x));
      return bits < 0 ? static_cast<std::int64_t>(std::numeric_limits<Bits>::min()) - bits : bits;
    };
    const std::int64_t x = place(a);
    const std::int64_t y = place(b);
    // -0 and 0 have one place, and are not the same.
    if (x == y) return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b) ? 0 : 1;
    return x > y ? static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y)
                 : static_cast<std::uint64_t>(y) - static_cast<std::uint64_t>(x);
  }
}

/// The first element that is further away than allowed, as text.
std::string first_distant(DType dtype, const std::string& actual, const std::string& expected, std::uint64_t allowed) {
  std::string found;
  dispatch(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < actual.size() && found.empty(); i += sizeof(T)) {
      T a;
      T b;
      std::memcpy(static_cast<void*>(&a), actual.data() + i, sizeof(T));
      std::memcpy(static_cast<void*>(&b), expected.data() + i, sizeof(T));
      if (distance(a, b) <= allowed) continue;
      found = fmt::format("element {} is {}, not {}", i / sizeof(T), Scalar::read(dtype, actual.data() + i).to_string(),
                          Scalar::read(dtype, expected.data() + i).to_string());
    }
  });
  return found;
}

bool is_complex_function(Op op) { return (op >= op::sqrt && op <= op::i1e) || op == op::general_pow; }

/// Whether the result depends on the sign or the payload of a nan that was computed, which is nobody's promise.
bool shows_nans(const Graph& graph, const Record& record) {
  const bool shows = record.op == op::signbit || record.op == op::copysign || record.op == op::bitcast;
  return std::ranges::any_of(graph.operands(record), [&](OperandRef operand) {
    const DType dtype = graph.meta_of(operand).dtype;
    if (operand.kind() != OperandRef::Kind::record) return false;
    return (shows && (is_floating(dtype) || is_complex(dtype))) ||
           (is_complex(dtype) && is_complex_function(record.op));  // which branch it takes may hang on it
  });
}

/// Of an op whose operands agree to the bit.
Agreement agreement_of(const Graph& graph, const Record& record) {
  const std::span<const OperandRef> operands = graph.operands(record);
  const Family family = info(record.op).family;
  const bool has_its_dtype = operands.empty() || family == Family::contraction;  // a mask may come last
  const DType dtype = has_its_dtype ? record.dtype : graph.meta_of(operands.back()).dtype;
  const bool inexact = is_floating(dtype) || is_complex(dtype);
  if (inexact && (family == Family::contraction || family == Family::fft || family == Family::linalg)) {
    return Agreement::rough;
  }
  if (is_complex(dtype) && is_complex_function(record.op)) return Agreement::rough;
  // A sum of two numbers of either sign, so that the units of its terms count and not those of the result.
  if (record.op == op::logaddexp) return inexact ? Agreement::rough : Agreement::bits;
  return testing::differs_between_backends(record.op, dtype) ? Agreement::ulps : Agreement::bits;
}

/// Kernels of a few ops, in tiles of a few elements: what long chains of large tensors become.
/// Picked rows of any length.
Target in_tiles() {
  Target target = cpu::cpu_driver().target();
  target.most_nodes = 2;
  target.tile_elements = 3;
  target.least_row = 1;
  return target;
}

/// Runs of one graph, compared with the first one of the device and with the reference backend's.
class Comparison {
 public:
  explicit Comparison(const GraphCase& given)
      : graph_(given.random.graph),
        seed_(given.seed),
        inputs_(make_inputs(given.random, given.seed)),
        promised_(promised(graph_)),
        separate_(cpu_program(graph_, kUnfused)),
        fused_(cpu_program(graph_)) {}

  std::string run() {
    const std::vector<Outcome> alone = run(separate_, 1, false);
    std::string found = against("fusion", run(fused_, 1, false), alone);
    if (found.empty()) found = against("a second thread, or memory", run(fused_, 2, true), alone);
    // Compiling takes all the time, careful compiling most of it: not every case tries these.
    if (found.empty() && seed_ % 3 == 0) {
      CompiledProgram tiled = cpu_program(graph_, {}, in_tiles());
      found = against("cutting into tiles", run(tiled, 1, false), alone);
    }
    if (found.empty() && seed_ % 4 == 0) {
      fused_.improve();
      found = against("the tier", run(fused_, 1, true), alone);
    }
    return found.empty() ? against_reference(alone) : found;
  }

 private:
  std::vector<Outcome> run(Program& program, int threads, bool donate) {
    set_num_threads(threads);
    RunOptions options;
    options.donate = donate;
    return run_graph(program, graph_, inputs_, options);
  }

  std::string against(std::string_view what, const std::vector<Outcome>& actual, const std::vector<Outcome>& expected) {
    for (std::size_t k = 0; k < actual.size(); ++k) {
      const std::uint32_t node = graph_.outputs[k];
      if (promised_[node] == 0) continue;
      const std::string found = described(graph_.nodes[node].dtype, actual[k], expected[k], 0);
      if (!found.empty()) return fmt::format("{} changes %{}: {}\n{}", what, node, found, fused_.text());
    }
    return "";
  }

  std::string against_reference(const std::vector<Outcome>& actual) {
    reference::Interpreter reference(graph_, 0);
    const std::vector<Outcome> expected = run(reference, 1, false);
    const std::vector<Agreement> agree = agreements(graph_);
    for (std::size_t k = 0; k < actual.size(); ++k) {
      const std::uint32_t node = graph_.outputs[k];
      // What was computed roughly may be an index that lies outside on one side.
      if (agree[node] == Agreement::rough || promised_[node] == 0) continue;
      const std::string found =
          described(graph_.nodes[node].dtype, actual[k], expected[k], agree[node] == Agreement::bits ? 0 : kUlps);
      if (!found.empty()) return fmt::format("the reference backend differs in %{}: {}\n", node, found);
    }
    return "";
  }

  static std::string described(DType dtype, const Outcome& actual, const Outcome& expected, std::uint64_t allowed) {
    if (actual.failed() || expected.failed()) {
      if (actual.failed() && expected.failed()) return "";
      return (actual.failed() ? actual : expected).text() + (actual.failed() ? "" : " was expected");
    }
    return first_distant(dtype, actual.bytes, expected.bytes, allowed);
  }

  const Graph& graph_;
  std::uint64_t seed_;
  InputBytes inputs_;
  std::vector<std::uint8_t> promised_;
  CompiledProgram separate_;
  CompiledProgram fused_;
};

}  // namespace

std::vector<std::uint8_t> promised(const Graph& graph) {
  std::vector<std::uint8_t> result;
  for (const Record& record : graph.nodes) {
    const bool good = std::ranges::all_of(graph.operands(record), [&](OperandRef operand) {
      return operand.kind() != OperandRef::Kind::record || result[operand.index()] != 0;
    });
    result.push_back(good && !shows_nans(graph, record) ? 1 : 0);
  }
  return result;
}

std::vector<Agreement> agreements(const Graph& graph) {
  std::vector<Agreement> result;
  for (const Record& record : graph.nodes) {
    const bool same_operands = std::ranges::all_of(graph.operands(record), [&](OperandRef operand) {
      return operand.kind() != OperandRef::Kind::record || result[operand.index()] == Agreement::bits;
    });
    if (!same_operands) {
      result.push_back(Agreement::rough);
    } else if (record.op == op::result) {
      result.push_back(Agreement::bits);  // as its op
    } else {
      result.push_back(agreement_of(graph, record));
    }
  }
  return result;
}

std::string difference(const GraphCase& graph) {
  const int threads = get_num_threads();
  std::string found;
  try {
    found = Comparison(graph).run();
  } catch (const std::exception& error) {
    found = fmt::format("it throws: {}\n", error.what());
  }
  set_num_threads(threads);
  return found;
}

GraphCase random_case(std::uint64_t seed) {
  const bool long_rows = seed % 10 == 9;
  GraphCase result{random_graph(seed, long_rows ? 6 : 4 + seed % 16, long_rows ? 5000 : 5), seed};
  // A trace has no nodes that nobody needs: what nobody reads is an output.
  Graph& graph = result.random.graph;
  std::vector<std::uint8_t> wanted(graph.nodes.size(), 1);
  for (const Record& record : graph.nodes) {
    for (const OperandRef operand : graph.operands(record)) {
      if (operand.kind() == OperandRef::Kind::record) wanted[operand.index()] = 0;
    }
  }
  for (const std::uint32_t output : graph.outputs) wanted[output] = 1;
  graph.outputs.clear();
  for (std::uint32_t node = 0; node < wanted.size(); ++node) {
    if (wanted[node] != 0) graph.outputs.push_back(node);
  }
  return result;
}

}  // namespace lento::test
