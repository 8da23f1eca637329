// What Lento has and uses: memory and the tensors in it, threads, the versions of what it runs with.
#include "arguments.h"
#include "convert.h"
#include "gil.h"
#include "observe.h"

#include <lento/about.h>
#include <lento/memory.h>
#include <lento/threads.h>

#include <nanobind/stl/string.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace lento::python {
namespace {

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
             "How many threads work on one computation of the CPU device, the calling one included. At first, "
             "from when Lento\nis imported, OMP_NUM_THREADS when that is a number, else what the process may use.");
  module.def("set_num_threads", &limit_threads, nb::arg("count").none(),
             "Changes how many threads work on one computation of the CPU device. Results do not depend on it.\n\n"
             "    >>> before = lento.get_num_threads()\n"
             "    >>> lento.set_num_threads(1)\n"
             "    >>> lento.get_num_threads()\n"
             "    1\n"
             "    >>> lento.set_num_threads(before)\n");
}

}  // namespace

void bind_resources(nb::module_& module) {
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
  bind_threads(module);
}

}  // namespace lento::python
