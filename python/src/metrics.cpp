// Counters and timings.
#include "arguments.h"
#include "convert.h"
#include "observe.h"
#include "source.h"

#include <lento/metrics.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string_view>

namespace nb = nanobind;

namespace lento::python {
namespace {

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

}  // namespace

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

}  // namespace lento::python
