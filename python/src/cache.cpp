// The plan cache, and computations that were captured.
#include "arguments.h"
#include "convert.h"
#include "gil.h"
#include "observe.h"
#include "source.h"
#include "tensor_type.h"

#include <lento/cache.h>

#include <utility>
#include <vector>

namespace nb = nanobind;

namespace lento::python {
namespace {

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

}  // namespace

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
  bind_captures(module);
}

}  // namespace lento::python
