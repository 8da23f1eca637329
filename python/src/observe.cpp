#include "observe.h"

#include "arguments.h"
#include "classes.h"
#include "convert.h"
#include "gil.h"
#include "items.h"
#include "source.h"
#include "tensor_type.h"

#include <lento/about.h>
#include <lento/cache.h>
#include <lento/eval.h>
#include <lento/memory.h>
#include <lento/metrics.h>
#include <lento/threads.h>

#include "ir/graph.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace lento::python {
namespace {

// --- graphs ---

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

// --- the plan cache ---

nb::dict cache_info() {
  cache::Info info;
  {
    const WithoutGil without_gil;
    info = cache::info();
  }
  nb::dict entry;
  entry["entries"] = info.entries;
  entry["bytes"] = info.bytes;
  entry["limit"] = info.limit;
  // As os.fsdecode does: the name of a folder is bytes, which need not be text.
  entry["disk_folder"] = info.disk_folder.empty()
                             ? nb::object(nb::none())
                             : nb::steal(checked(PyUnicode_DecodeFSDefault(info.disk_folder.c_str())));
  entry["disk_bytes"] = info.disk_bytes;
  entry["disk_limit"] = info.disk_limit;
  return entry;
}

nb::list cached_plans() {
  nb::list list;
  for (const cache::PlanInfo& plan : cache::plans()) {
    nb::dict entry;
    entry["key"] = plan.key;
    entry["device"] = nb::steal(checked(from_device(plan.device)));
    entry["nodes"] = plan.nodes;
    entry["inputs"] = plan.inputs;
    entry["outputs"] = plan.outputs;
    entry["kernels"] = plan.kernels;
    entry["code_bytes"] = plan.code_bytes;
    entry["planned_peak"] = plan.planned_peak;
    entry["compile_seconds"] = plan.compile_seconds;
    list.append(entry);
  }
  return list;
}

nb::list wrap_all(std::vector<Tensor> tensors) {
  nb::list list;
  for (Tensor& tensor : tensors) list.append(nb::steal(wrap(std::move(tensor))));
  return list;
}

nb::list run_cached(const nb::object& number, const nb::object& object) {
  const std::uint64_t key = count_argument(number.ptr(), "cache.run", "key");
  std::vector<Tensor> inputs;
  collect_tensors(object.ptr(), "cache.run", inputs);
  std::vector<Tensor> outputs;
  const PythonSourceScope source;
  {
    const WithoutGil without_gil;
    outputs = cache::run(key, inputs);
  }
  return wrap_all(std::move(outputs));
}

cache::Captured capture_outputs(const nb::object& inputs, const nb::object& outputs) {
  std::vector<Tensor> given;
  std::vector<Tensor> wanted;
  collect_tensors(inputs.ptr(), "cache.capture", given);
  collect_tensors(outputs.ptr(), "cache.capture", wanted);
  const PythonSourceScope source;
  const WithoutGil without_gil;
  return cache::capture(given, wanted);
}

nb::list run_captured(const cache::Captured& captured, const nb::args& args) {
  std::vector<Tensor> inputs;
  for (const nb::handle arg : args) collect_tensors(arg.ptr(), "captured", inputs);
  std::vector<Tensor> outputs;
  const PythonSourceScope source;
  {
    const WithoutGil without_gil;
    outputs = captured(inputs);
  }
  return wrap_all(std::move(outputs));
}

void bind_captures(nb::module_& module) {
  nb::class_<cache::Captured>(module, "Captured",
                              "A computation that was recorded once and runs with other inputs: what "
                              "``lento.cache.capture`` makes.")
      .def("__init__",
           [](cache::Captured* /*self*/, const nb::args& /*args*/, const nb::kwargs& /*names*/) {
             raise(PyExc_TypeError, "Captured(): use lento.cache.capture(inputs, outputs), which makes one");
           })
      .def("__call__", &run_captured, nb::arg("inputs"),
           "The outputs, as a list, for these inputs: one per input that was captured, of the same dtypes and shapes.")
      .def_prop_ro("key", &cache::Captured::key, "The ``lento.graph_key`` of what it runs; 0 when that is nothing.");
  module.def(
      "cache_capture", &capture_outputs, nb::arg("inputs"), nb::arg("outputs"),
      "Makes what computes ``outputs`` from ``inputs`` (lists of tensors) callable, with other inputs of the same "
      "dtypes and\nshapes, without calling the functions that recorded it. The inputs must have been evaluated before "
      "the outputs were\nrecorded. Numbers, random ones included, and other tensors are those of the trace.\n\n"
      "    >>> x = lento.asarray([1.0, 2.0])\n"
      "    >>> double = lento.cache.capture([x], [x * 2, x + 1])\n"
      "    >>> double(lento.asarray([3.0, 4.0]))\n"
      "    [tensor([6., 8.], dtype=float32), tensor([4., 5.], dtype=float32)]\n");
}

void bind_cache(nb::module_& module) {
  module.def(
      "cache_info", &cache_info,
      "Entries, bytes and limit of the plan cache, and disk_folder, disk_bytes and disk_limit of the one on disk (None "
      "and 0 while there is none).");
  module.def(
      "cache_clear",
      [](const nb::object& disk) {
        const bool files = bool_argument(disk.ptr(), "cache.clear", "disk");
        const WithoutGil without_gil;
        cache::clear(files);
      },
      nb::kw_only(), nb::arg("disk") = false,
      "Forgets all plans; those that are running live on until they are done. With ``disk=True`` also removes the "
      "files of compiled code.");
  module.def(
      "cache_remove",
      [](const nb::object& key) { return cache::remove(count_argument(key.ptr(), "cache.remove", "key")); },
      nb::arg("key"), "Forgets the plan with this ``lento.graph_key``; False when there is none.");
  module.def(
      "cache_run", &run_cached, nb::arg("key"), nb::arg("inputs"),
      "Computes what the cached plan with this ``lento.graph_key`` computes, with other inputs of the same dtypes and\n"
      "shapes, in the order in which the trace first used them. Numbers are those of the trace that was compiled. "
      "Returns\nthe plan's outputs, oldest first.\n\n"
      "    >>> x, y = lento.asarray([1.0, 2.0]), lento.asarray([3.0, 4.0])\n"
      "    >>> z = x * 2\n"
      "    >>> key = lento.graph_key(z)\n"
      "    >>> lento.eval(z)\n"
      "    >>> lento.cache.run(key, [y])\n"
      "    [tensor([6., 8.], dtype=float32)]\n");
  module.def(
      "cache_set_limit",
      [](const nb::object& bytes) { cache::set_limit(count_argument(bytes.ptr(), "cache.set_limit", "bytes")); },
      nb::arg("bytes"), "Evicts at once what is over the new limit.");
  module.def(
      "cache_set_disk_limit",
      [](const nb::object& bytes) {
        const std::uint64_t limit = count_argument(bytes.ptr(), "cache.set_disk_limit", "bytes");
        const WithoutGil without_gil;
        cache::set_disk_limit(limit);
      },
      nb::arg("bytes"), "The same for the files of compiled code, of all processes together.");
  module.def("cache_plans", &cached_plans,
             "The cached plans, most recently used first: dicts with key, device, nodes, inputs, outputs, kernels, "
             "code_bytes,\nplanned_peak (bytes) and compile_seconds.");
}

// --- counters and timings ---

nb::dict timing_entry(const metrics::Timing& timing) {
  nb::dict entry;
  entry["count"] = timing.count;
  entry["total_seconds"] = timing.total_seconds;
  entry["median_seconds"] = timing.median_seconds;
  entry["p90_seconds"] = timing.p90_seconds;
  entry["p99_seconds"] = timing.p99_seconds;
  entry["max_seconds"] = timing.max_seconds;
  return entry;
}

nb::dict timing_entries() {
  nb::dict entries;
  for (const auto& [name, timing] : metrics::timings()) entries[name.c_str()] = timing_entry(timing);
  return entries;
}

void add_to_counter(const nb::object& given, const nb::object& n) {
  const std::string_view name = string_argument(given.ptr(), "add", "name");
  const auto count = PyBool_Check(n.ptr()) ? std::nullopt : to_int(n.ptr());
  if (!count) raise(PyExc_TypeError, "add(): argument 'n' must be int, not %s", Py_TYPE(n.ptr())->tp_name);
  if (*count < 0) raise(PyExc_ValueError, "add(): a counter only grows; got %lld", static_cast<long long>(*count));
  const PythonSourceScope source;
  metrics::add(name, static_cast<std::uint64_t>(*count));
}

void record_timing(const nb::object& given, const nb::object& seconds) {
  const std::string_view name = string_argument(given.ptr(), "record", "name");
  const double value = PyFloat_AsDouble(seconds.ptr());
  if (PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
    PyErr_Clear();
    raise(PyExc_TypeError, "record(): argument 'seconds' must be float, not %s", Py_TYPE(seconds.ptr())->tp_name);
  }
  const PythonSourceScope source;
  metrics::record(name, value);
}

void bind_metrics(nb::module_& module) {
  module.def(
      "counter",
      [](const nb::object& name) { return metrics::counter(string_argument(name.ptr(), "counter", "name")); },
      nb::arg("name"), "The value of one counter; 0 when nothing was counted.");
  module.def("counters", &metrics::counters, "Every counter that is not zero.");
  module.def(
      "timing",
      [](const nb::object& name) {
        return timing_entry(metrics::timing(string_argument(name.ptr(), "timing", "name")));
      },
      nb::arg("name"),
      "How often something happened and how long it took: a dict of count, total_seconds, and of the last 1024 times\n"
      "median_seconds, p90_seconds, p99_seconds and max_seconds. All zero when it never happened.");
  module.def("timings", &timing_entries, "Every timing that happened, by name.");
  module.def("report", &metrics::report, "Counters and timings as a table.");
  module.def("reset_metrics", &metrics::reset,
             "Sets all counters and timings to zero, and forgets those of the user's own.");
  module.def("add_to_counter", &add_to_counter, nb::arg("name"), nb::arg("n") = 1,
             "Adds to a counter of your own, which stands beside Lento's in ``counters`` and ``report``. At most 1000 "
             "names, none of\nLento's own.\n\n"
             "    >>> lento.metrics.add(\"batches\")\n"
             "    >>> lento.metrics.add(\"batches\", 2)\n"
             "    >>> lento.metrics.counter(\"batches\")\n"
             "    3\n");
  module.def("record_timing", &record_timing, nb::arg("name"), nb::arg("seconds"),
             "Records how long something took under a name of your own, which stands beside Lento's in ``timings`` and "
             "``report``.\nAt most 100 names, none of Lento's own.\n\n"
             "    >>> lento.metrics.record(\"load\", 0.25)\n"
             "    >>> lento.metrics.timing(\"load\")[\"total_seconds\"]\n"
             "    0.25\n");
}

// --- memory ---

nb::dict memory_use(const nb::object& device) {
  const MemoryUse use = memory(device_or_default(device.ptr(), "memory"));
  nb::dict entry;
  entry["live"] = use.live;
  entry["cached"] = use.cached;
  entry["peak"] = use.peak;
  entry["limit"] = use.limit;
  return entry;
}

void limit_memory(const nb::object& bytes, const nb::object& device) {
  const Device target = device_or_default(device.ptr(), "set_memory_limit");
  const auto limit = PyBool_Check(bytes.ptr()) ? std::nullopt : to_int(bytes.ptr());
  if (!limit) {
    raise(PyExc_TypeError, "set_memory_limit(): argument 'bytes' must be int, not %s", Py_TYPE(bytes.ptr())->tp_name);
  }
  if (*limit < 0) {
    raise(PyExc_ValueError, "set_memory_limit(): %lld bytes are less than none; 0 takes the limit away",
          static_cast<long long>(*limit));
  }
  set_memory_limit(*limit, target);
}

nb::list list_live_tensors(const nb::object& device) {
  std::optional<Device> wanted;
  if (!device.is_none()) wanted = device_or_default(device.ptr(), "live_tensors");
  std::vector<LiveTensor> found;
  {
    const WithoutGil without_gil;  // looks into the tapes of all threads
    found = live_tensors(wanted);
  }
  nb::list list;
  for (const LiveTensor& live : found) {
    nb::dict entry;
    entry["id"] = live.id;
    entry["shape"] = nb::steal(checked(from_ints(live.shape)));
    entry["dtype"] = nb::steal(from_dtype(live.dtype));
    entry["state"] = live.state;
    entry["source"] = live.source;
    entry["device"] = nb::steal(checked(from_device(live.device)));
    list.append(entry);
  }
  return list;
}

void limit_threads(const nb::object& count) {
  const auto threads = PyBool_Check(count.ptr()) ? std::nullopt : to_int(count.ptr());
  if (!threads) {
    raise(PyExc_TypeError, "set_num_threads(): argument 'count' must be int, not %s", Py_TYPE(count.ptr())->tp_name);
  }
  if (*threads < 1 || *threads > std::numeric_limits<int>::max()) {
    raise(PyExc_ValueError, "set_num_threads(): the number of threads must be at least 1, got %lld",
          static_cast<long long>(*threads));
  }
  set_num_threads(static_cast<int>(*threads));
}

nb::dict versions() {
  nb::dict rows;
  for (const auto& [row, text] : version_rows()) {
    // A variable or a folder need not be text.
    rows[row.c_str()] = nb::steal(PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
  }
  return rows;
}

void bind_threads(nb::module_& module) {
  module.def("version_rows", &versions, "For show_versions.");
  module.def("get_num_threads", &get_num_threads,
             "How many threads work on one computation of the CPU device, the calling one included. At first "
             "OMP_NUM_THREADS when\nthat is a number, else what the process may use.");
  module.def("set_num_threads", &limit_threads, nb::arg("count").none(),
             "Changes how many threads work on one computation of the CPU device. Results do not depend on it.\n\n"
             "    >>> before = lento.get_num_threads()\n"
             "    >>> lento.set_num_threads(1)\n"
             "    >>> lento.get_num_threads()\n"
             "    1\n"
             "    >>> lento.set_num_threads(before)\n");
}

void bind_memory(nb::module_& module) {
  module.def(
      "memory", &memory_use, nb::arg("device").none() = nb::none(),
      "Bytes of tensor memory of a device: a dict of live, cached (kept for reuse), peak and limit (0: none).\n\n"
      "    >>> x = lento.asarray([1.0, 2.0])\n"
      "    >>> lento.memory()[\"live\"] >= x.nbytes\n"
      "    True\n");
  module.def(
      "reset_peak_memory",
      [](const nb::object& device) { reset_peak_memory(device_or_default(device.ptr(), "reset_peak_memory")); },
      nb::arg("device").none() = nb::none(), "Starts measuring the peak anew.");
  module.def(
      "set_memory_limit", &limit_memory, nb::arg("bytes").none(), nb::arg("device").none() = nb::none(),
      "What would need more than this many bytes raises MemoryError before anything is changed; 0 takes the limit "
      "away.");
  module.def("live_tensors", &list_live_tensors, nb::arg("device").none() = nb::none(),
             "Every tensor that is alive in any thread, on one device or on all, oldest first: dicts with id, shape, "
             "dtype, state\n('pending', 'running', 'ready' or 'failed'), source and device.\n\n"
             "    >>> x = lento.ones((3,)) * 2\n"
             "    >>> [entry[\"state\"] for entry in lento.live_tensors() if entry[\"id\"] == x.id]\n"
             "    ['pending']\n");
}

}  // namespace

void collect_tensors(PyObject* object, const char* function, std::vector<Tensor>& tensors) {
  if (is_tensor(object)) {
    tensors.push_back(tensor_of(object));
    return;
  }
  if (!PyList_Check(object) && !PyTuple_Check(object)) {
    raise(PyExc_TypeError, "%s(): expected tensors, not %s", function, Py_TYPE(object)->tp_name);
  }
  const Recursion recursion(" while collecting tensors");
  const Items items(object);
  for (Py_ssize_t i = 0; i < items.size(); ++i) collect_tensors(items[i].get(), function, tensors);
}

void bind_observation(nb::module_& module) {
  bind_graphs(module);
  bind_cache(module);
  bind_captures(module);
  bind_metrics(module);
  bind_memory(module);
  bind_threads(module);
}

}  // namespace lento::python
