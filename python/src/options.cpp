#include "options.h"

#include "convert.h"
#include "gil.h"
#include "source.h"

#include <lento/eval.h>
#include <lento/print.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace lento::python {
namespace {

constexpr std::array<std::string_view, 3> kSyncModes = {"allow", "warn", "error"};  // in the order of SyncMode
constexpr std::array<std::string_view, 2> kFallbackModes = {"allow", "error"};      // in the order of FallbackMode

/// Which of the words it is.
std::size_t to_word(PyObject* object, std::span<const std::string_view> words, const char* name, const char* listed) {
  const auto word = to_string_view(object);
  for (std::size_t i = 0; word && i < words.size(); ++i) {
    if (*word == words[i]) return i;
  }
  if (!word) raise(PyExc_TypeError, "options(): argument '%s' must be str, not %s", name, Py_TYPE(object)->tp_name);
  raise(PyExc_ValueError, "options(): %s must be %s, not %R", name, listed, object);
}
nb::str from_word(std::string_view word) { return nb::str(word.data(), word.size()); }

std::uint32_t to_limit(PyObject* object, const char* name, std::int64_t smallest, std::int64_t largest) {
  const auto value = PyBool_Check(object) ? std::nullopt : to_int(object);
  if (!value) raise(PyExc_TypeError, "options(): argument '%s' must be int, not %s", name, Py_TYPE(object)->tp_name);
  if (*value < smallest || *value > largest) {
    raise(PyExc_ValueError, "options(): %s must be from %lld to %lld, not %lld", name, static_cast<long long>(smallest),
          static_cast<long long>(largest), static_cast<long long>(*value));
  }
  return static_cast<std::uint32_t>(*value);
}

bool to_switch(PyObject* object, const char* name) {
  if (!PyBool_Check(object)) {
    raise(PyExc_TypeError, "options(): argument '%s' must be bool, not %s", name, Py_TYPE(object)->tp_name);
  }
  return object == Py_True;
}

CodeTier to_tier(PyObject* object) {
  if (const auto word = to_string_view(object); word && *word == "auto") return CodeTier::automatic;
  const auto value = PyBool_Check(object) ? std::nullopt : to_int(object);
  if (value == 0) return CodeTier::zero;
  if (value == 1) return CodeTier::one;
  raise(PyExc_ValueError, "options(): tier must be 0, 1 or 'auto', not %R", object);
}
nb::object from_tier(CodeTier tier) {
  if (tier == CodeTier::automatic) return nb::str("auto");
  return nb::int_(tier == CodeTier::one ? 1 : 0);
}

/// Sets what is not None, all of it or nothing, and returns what those options were before. The GIL makes it one
/// action.
nb::dict swap_options(const nb::object& sync, const nb::object& sync_wait, const nb::object& max_pending_nodes,
                      const nb::object& max_inflight_steps, const nb::object& fallback, const nb::object& disk_cache,
                      const nb::object& fusion, const nb::object& tier, const nb::object& force_fallback) {
  const Options before = options();
  Options after = before;
  nb::dict old;
  if (!sync.is_none()) {
    after.sync = static_cast<SyncMode>(to_word(sync.ptr(), kSyncModes, "sync", "'allow', 'warn' or 'error'"));
    old["sync"] = from_word(kSyncModes[static_cast<std::size_t>(before.sync)]);
  }
  if (!sync_wait.is_none()) {
    after.sync_wait = to_switch(sync_wait.ptr(), "sync_wait");
    old["sync_wait"] = before.sync_wait;
  }
  if (!max_pending_nodes.is_none()) {
    after.max_pending_nodes = to_limit(max_pending_nodes.ptr(), "max_pending_nodes", 2, (1 << 30) - 1);
    old["max_pending_nodes"] = before.max_pending_nodes;
  }
  if (!max_inflight_steps.is_none()) {
    after.max_inflight_steps = to_limit(max_inflight_steps.ptr(), "max_inflight_steps", 1, (1 << 30) - 1);
    old["max_inflight_steps"] = before.max_inflight_steps;
  }
  if (!fallback.is_none()) {
    after.fallback =
        static_cast<FallbackMode>(to_word(fallback.ptr(), kFallbackModes, "fallback", "'allow' or 'error'"));
    old["fallback"] = from_word(kFallbackModes[static_cast<std::size_t>(before.fallback)]);
  }
  if (!disk_cache.is_none()) {
    after.disk_cache = to_switch(disk_cache.ptr(), "disk_cache");
    old["disk_cache"] = *before.disk_cache;
  }
  if (!fusion.is_none()) {
    after.fusion = to_switch(fusion.ptr(), "fusion");
    old["fusion"] = *before.fusion;
  }
  if (!tier.is_none()) {
    after.tier = to_tier(tier.ptr());
    old["tier"] = from_tier(*before.tier);
  }
  if (!force_fallback.is_none()) {
    const auto names = to_string_view(force_fallback.ptr());
    if (!names) {
      raise(PyExc_TypeError, "options(): argument 'force_fallback' must be str, not %s",
            Py_TYPE(force_fallback.ptr())->tp_name);
    }
    after.force_fallback = std::string(*names);
    old["force_fallback"] = nb::str(before.force_fallback->c_str());
  }
  const CallScope call("options", current_source());
  set_options(after);
  return old;
}

/// The engine says each thing once per line, so that no registry is needed.
void warn(WarningKind kind, const std::string& message) {
  const WithGil gil;
  PyObject* category = kind == WarningKind::sync ? sync_warning_class() : PyExc_RuntimeWarning;
  // A message may name a folder, which need not be text.
  const PyRef text =
      own(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
  const Line line = current_line();
  const int result =
      line.file ? PyErr_WarnExplicitObject(category, text.get(), line.file.get(), line.number, nullptr, nullptr)
                : PyErr_WarnFormat(category, 1, "%U", text.get());
  if (result < 0) throw PythonError{};  // the user's filters made an error of it
}

// --- lento.printoptions ---

nb::dict print_options_now() {
  const PrintOptions now = get_printoptions();
  nb::dict entry;
  entry["precision"] = now.precision;
  entry["threshold"] = now.threshold;
  entry["edgeitems"] = now.edgeitems;
  entry["linewidth"] = now.linewidth;
  entry["suppress"] = now.suppress;
  return entry;
}

void set_print_options(std::optional<int> precision, std::optional<std::int64_t> threshold,
                       std::optional<std::int64_t> edgeitems, std::optional<int> linewidth,
                       std::optional<bool> suppress) {
  PrintOptions now = get_printoptions();  // the GIL makes it one action
  now.precision = precision.value_or(now.precision);
  now.threshold = threshold.value_or(now.threshold);
  now.edgeitems = edgeitems.value_or(now.edgeitems);
  now.linewidth = linewidth.value_or(now.linewidth);
  now.suppress = suppress.value_or(now.suppress);
  const PythonSourceScope source;
  set_printoptions(now);
}

}  // namespace

void bind_options(nb::module_& module) {
  module.def("get_printoptions", &print_options_now, "The options of ``set_printoptions`` as they are now.");
  module.def(
      "set_printoptions", &set_print_options, nb::arg("precision").none() = nb::none(),
      nb::arg("threshold").none() = nb::none(), nb::arg("edgeitems").none() = nb::none(),
      nb::arg("linewidth").none() = nb::none(), nb::arg("suppress").none() = nb::none(),
      "How ``repr`` and ``str`` of tensors show values, as ``numpy.set_printoptions``: digits after the point at most\n"
      "(8), elements from which on there is a summary (1000), elements at each end of it (3), columns of a line (75),\n"
      "and whether small numbers are shown without an exponent (False). None leaves an option as it is.\n\n"
      "    >>> old = lento.get_printoptions()\n"
      "    >>> lento.set_printoptions(precision=2)\n"
      "    >>> lento.asarray([1 / 3, 2 / 3])\n"
      "    tensor([0.33, 0.67], dtype=float32)\n"
      "    >>> lento.set_printoptions(**old)\n");
  set_warning_handler(warn);
  module.def("_force_fallback", [] { return *options().force_fallback; });
  module.def("set_options", &swap_options, nb::kw_only(), nb::arg("sync").none() = nb::none(),
             nb::arg("sync_wait").none() = nb::none(), nb::arg("max_pending_nodes").none() = nb::none(),
             nb::arg("max_inflight_steps").none() = nb::none(), nb::arg("fallback").none() = nb::none(),
             nb::arg("disk_cache").none() = nb::none(), nb::arg("fusion").none() = nb::none(),
             nb::arg("tier").none() = nb::none(), nb::arg("force_fallback").none() = nb::none());
}

}  // namespace lento::python
