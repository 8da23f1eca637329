// Pending graphs as text and as keys, and why steps were compiled.
#include "arguments.h"
#include "convert.h"
#include "gil.h"
#include "observe.h"
#include "source.h"

#include <lento/cache.h>
#include <lento/eval.h>
#include <lento/metrics.h>

#include "ir/graph.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <string>
#include <string_view>
#include <vector>

namespace nb = nanobind;

namespace lento::python {
namespace {

std::string dump_tensors(const nb::object& object, const nb::object& chosen) {
  const std::string_view word = string_argument(chosen.ptr(), "dump", "format");
  std::vector<Tensor> tensors;
  collect_tensors(object.ptr(), "dump", tensors);
  DumpFormat format = DumpFormat::text;
  if (word == "dot") {
    format = DumpFormat::dot;
  } else if (word == "json") {
    format = DumpFormat::json;
  } else if (word == "backend") {
    format = DumpFormat::backend;
  } else if (word != "text") {
    raise(PyExc_ValueError, "dump(): format must be 'text', 'dot', 'json' or 'backend', not '%s'",
          std::string(word).c_str());
  }
  const PythonSourceScope source;
  const WithoutGil without_gil;
  return dump(tensors, format);
}

std::uint64_t key_of(const nb::args& args) {
  std::vector<Tensor> tensors;
  for (const nb::handle arg : args) collect_tensors(arg.ptr(), "graph_key", tensors);
  const PythonSourceScope source;
  const WithoutGil without_gil;
  return graph_key(tensors);
}

// Parses the text form of a graph and prints it again: the round trip of clause M2.
std::string reprint_graph(std::string_view text, std::string_view format) {
  const Graph graph = parse_graph(text);
  verify(graph);
  return to_string(graph, format == "dot"    ? GraphFormat::dot
                          : format == "json" ? GraphFormat::json
                                             : GraphFormat::text);
}

std::string explain_since_last_call() {
  const WithoutGil without_gil;
  return explain();
}

}  // namespace

void bind_graphs(nb::module_& module) {
  module.def(
      "dump", &dump_tensors, nb::arg("tensors"), nb::arg("format") = "text",
      "The pending graph of a tensor or a list of tensors as 'text', 'dot' or 'json', or what its backend makes of "
      "it\n('backend'; compiles it). Computes nothing.\n\n"
      "    >>> print(lento.dump(lento.zeros((2,)) + 1, \"dot\").splitlines()[0])\n"
      "    digraph lento {\n");
  module.def(
      "graph_key", &key_of, nb::arg("tensors"),
      "The key under which the pending graph of these tensors is or will be cached; 0 when nothing is pending.\n\n"
      "Graphs that differ only in the values of numbers and tensors have the same key.\n\n"
      "    >>> x = lento.ones((3,))\n"
      "    >>> lento.graph_key(x * 2) == lento.graph_key(x * 3)\n"
      "    True\n");
  module.def("reprint_graph", &reprint_graph, nb::arg("text"), nb::arg("format") = "text",
             "Parses a text dump, verifies the graph and prints it again.");
  module.def("explain", &explain_since_last_call,
             "Why steps were compiled and which lines waited for values since the last call, in plain sentences.");
}

}  // namespace lento::python
