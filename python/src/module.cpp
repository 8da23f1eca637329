// lento._core: puts the parts together. The public package re-exports from here.
#include "arguments.h"
#include "classes.h"
#include "convert.h"
#include "creation.h"
#include "functions.h"
#include "source.h"
#include "steps.h"
#include "tensor_type.h"

#include <lento/eval.h>
#include <lento/version.h>

#include "ir/graph.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <memory>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace lento::python {
namespace {

void collect_tensors(PyObject* object, const char* function, std::vector<Tensor>& tensors) {
  if (is_tensor(object)) {
    tensors.push_back(tensor_of(object));
    return;
  }
  if (!PyList_Check(object) && !PyTuple_Check(object)) {
    raise(PyExc_TypeError, "%s(): expected tensors, not %s", function, Py_TYPE(object)->tp_name);
  }
  const PyRef items = own(PySequence_Fast(object, ""));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    collect_tensors(PySequence_Fast_GET_ITEM(items.get(), i), function, tensors);
  }
}

void eval_tensors(const nb::args& args) {
  std::vector<Tensor> tensors;
  for (const nb::handle arg : args) collect_tensors(arg.ptr(), "eval", tensors);
  const PythonSourceScope source;
  const WithoutGil without_gil;
  eval(tensors);
}

std::string dump_tensors(const nb::object& object, std::string_view format) {
  std::vector<Tensor> tensors;
  collect_tensors(object.ptr(), "dump", tensors);
  if (format == "text") return dump(tensors, DumpFormat::text);
  if (format == "dot") return dump(tensors, DumpFormat::dot);
  if (format == "json") return dump(tensors, DumpFormat::json);
  raise(PyExc_ValueError, "dump(): format must be 'text', 'dot' or 'json', not '%s'", std::string(format).c_str());
}

nb::list list_live_tensors() {
  nb::list list;
  for (const LiveTensor& live : live_tensors()) {
    nb::dict entry;
    entry["id"] = live.id;
    entry["shape"] = nb::steal(checked(from_ints(live.shape)));
    entry["dtype"] = nb::steal(from_dtype(live.dtype));
    entry["state"] = live.state;
    entry["source"] = live.source;
    list.append(entry);
  }
  return list;
}

std::uint32_t swap_max_pending_nodes(std::int64_t limit) {
  Options changed = options();
  const std::uint32_t old = changed.max_pending_nodes;
  if (limit < 1 || limit > INT64_C(0x3fffffff)) {
    raise(PyExc_ValueError, "options(): max_pending_nodes must be from 1 to 2**30 - 1, not %lld",
          static_cast<long long>(limit));
  }
  changed.max_pending_nodes = static_cast<std::uint32_t>(limit);
  set_options(changed);
  return old;
}

// Parses the text form of a graph and prints it again: the round trip of clause M2.
std::string reprint_graph(std::string_view text, std::string_view format) {
  const Graph graph = parse_graph(text);
  verify(graph);
  return to_string(graph, format == "dot"    ? GraphFormat::dot
                          : format == "json" ? GraphFormat::json
                                             : GraphFormat::text);
}

/// Holds a scope open from __enter__ to __exit__.
class OpenScope {
 public:
  explicit OpenScope(std::string_view name) : scope_(std::make_unique<Scope>(name)) {}
  void close() { scope_.reset(); }

 private:
  std::unique_ptr<Scope> scope_;
};

// --- asarray ---

Parameter asarray_parameters[] = {
    {"obj", Kind::tensor},  // any object: as_tensor decides
    {"dtype", Kind::dtype, kOptional},
    {"device", Kind::device, kOptional | kKeywordOnly},
    {"copy", Kind::boolean, kOptional | kKeywordOnly},
};
Signature asarray_signature{"asarray", asarray_parameters};

PyObject* asarray(PyObject* /*module*/, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(asarray_signature, nullptr, args, count, names, [](const Arguments& a) {
    return wrap(as_tensor(a.object(0), a.optional_dtype(1), a.optional_device(2), a.optional_boolean(3)));
  });
}

const Export kExports[] = {
    {"lento", "asarray", asarray, "(obj, dtype=None, *, device=None, copy=None)",
     "A tensor with the values of obj: a number, nested lists, a NumPy array, an object with the buffer protocol, or a "
     "tensor.\n\n"
     "Numbers become bool, int64, float32 or complex64; arrays keep their dtype. The values are copied at once, so "
     "changing obj\n"
     "later does not change the tensor."},
};

nb::object rebuild(std::string_view dtype, const nb::tuple& shape, const nb::bytes& content) {
  Shape extents;
  for (const nb::handle extent : shape) extents.push_back(nb::cast<std::int64_t>(extent));
  const auto element = dtype_from_name(dtype);
  if (!element) raise(PyExc_ValueError, "unknown dtype '%s'", std::string(dtype).c_str());
  if (element_count(extents) * static_cast<std::int64_t>(size_of(*element)) !=
      static_cast<std::int64_t>(content.size())) {
    raise(PyExc_ValueError, "the pickled tensor has the wrong number of bytes");
  }
  return nb::steal(wrap(from_host(content.data(), *element, extents)));
}

void bind_engine(nb::module_& module) {
  module.def("eval", &eval_tensors, nb::arg("tensors"), "Starts computing these tensors (also in lists and tuples). Returns before they are done.");
  module.def("dump", &dump_tensors, nb::arg("tensors"), nb::arg("format") = "text",
             "The pending graph of a tensor or a list of tensors as 'text', 'dot' or 'json'. Computes nothing.");
  module.def(
      "live_tensors", &list_live_tensors,
      "Pending tensors that are alive in this thread, oldest first: dicts with id, shape, dtype, state and source.");
  module.def("counter", &metrics::counter, nb::arg("name"), "The value of one counter; 0 when nothing was counted.");
  module.def("counters", &metrics::counters, "Every counter that is not zero.");
  module.def("reset_counters", &metrics::reset, "Sets all counters to zero.");
  module.def(
      "memory",
      [] {
        const MemoryUse use = lento::memory();
        nb::dict entry;
        entry["live"] = use.live;
        entry["peak"] = use.peak;
        return entry;
      },
      "Bytes of tensor memory: live and peak.");
  module.def("reset_peak_memory", &reset_peak_memory, "Starts measuring the peak anew.");
  module.def("set_max_pending_nodes", &swap_max_pending_nodes, nb::arg("limit"),
             "Sets the limit and returns the old one.");
  module.def("reprint_graph", &reprint_graph, nb::arg("text"), nb::arg("format") = "text",
             "Parses a text dump, verifies the graph and prints it again.");
  module.def("_set_package_folder", &set_package_folder, nb::arg("folder"));
  module.def("_rebuild", &rebuild);
  nb::class_<OpenScope>(module, "_Scope").def(nb::init<std::string_view>()).def("close", &OpenScope::close);
  bind_steps(module);
  module.attr("__version__") = LENTO_VERSION;
}

// C++ errors that leave a function bound with nanobind become the same exceptions as everywhere else.
void translate(const std::exception_ptr& error, void* /*unused*/) {
  try {
    std::rethrow_exception(error);
  } catch (const PythonError&) {
    return;  // Python's own error is set already
  } catch (const Error&) {
    set_exception();
  }
}

}  // namespace

NB_MODULE(_core, module) {
  nb::set_leak_warnings(false);  // dtype constants live as long as the process
  nb::register_exception_translator(&translate);
  if (!add_errors(module.ptr())) throw nb::python_error();
  try {
    install_source_resolver();
    add_tensor_type(module.ptr());
    add_classes(module.ptr());
    bind_engine(module);
    add_functions(module.ptr(), kExports);
    add_generated_functions(module.ptr());
  } catch (const PythonError&) {
    throw nb::python_error();
  }
}

}  // namespace lento::python
