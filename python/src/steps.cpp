#include "steps.h"

#include "classes.h"
#include "convert.h"
#include "errors.h"
#include "source.h"
#include "tensor_type.h"

#include <lento/closures.h>
#include <lento/eval.h>

#include "base/value.h"

#include <nanobind/stl/string.h>

#include <memory>
#include <vector>

namespace nb = nanobind;

namespace lento::python {
namespace {

class WithGil {
 public:
  WithGil() : state_(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// A Python object that may be let go by any thread.
using SharedObject = std::shared_ptr<PyObject>;
SharedObject share(PyObject* object) {
  return {Py_NewRef(object), [](PyObject* held) {
            const WithGil gil;
            Py_DECREF(held);
          }};
}

/// What an asynchronous closure raised, kept until a step reports it.
struct RaisedInClosure {
  SharedObject exception;
};

Device device_argument(const nb::object& device, const char* function) {
  if (device.is_none()) return {};
  const auto given = to_device(device.ptr());
  if (!given) {
    raise(PyExc_TypeError, "%s(): argument 'device' must be Device, str or None, not %s", function, Py_TYPE(device.ptr())->tp_name);
  }
  return *given;
}

void step_device(const nb::object& device, bool wait) {
  const Device target = device_argument(device, "step");
  const PythonSourceScope source;
  const WithoutGil without_gil;
  step(target, wait);
}

void wait_devices(const nb::object& which) {
  std::vector<Device> list;
  if (!which.is_none()) {
    if (PyList_Check(which.ptr()) || PyTuple_Check(which.ptr())) {
      for (const nb::handle each : which) list.push_back(device_argument(nb::borrow(each), "wait"));
    } else {
      list.push_back(device_argument(which, "wait"));
    }
  }
  const WithoutGil without_gil;
  wait(list);
}

PyObject* fetch_exception() {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return value;
}

/// `args` is what the function is called with, `tensors` the tensors in it; the Python side has made the snapshots.
void add_closure(const nb::callable& function, const nb::tuple& args, const nb::list& tensors, bool run_async, const nb::object& device) {
  const Device target = device_argument(device, "add_step_closure");
  std::vector<Tensor> roots;
  for (const nb::handle tensor : tensors) roots.push_back(tensor_of(tensor.ptr()));
  const SharedObject f = share(function.ptr());
  const SharedObject arguments = share(args.ptr());
  add_step_closure(
      [f, arguments, run_async](const std::vector<Tensor>&) {
        const WithGil gil;
        PyObject* result = PyObject_CallObject(f.get(), arguments.get());
        if (result != nullptr) {
          Py_DECREF(result);
          return;
        }
        // On the stepping thread the exception stays set and leaves step(); a worker keeps it for the next submission.
        if (!run_async) throw PythonError{};
        PyObject* exception = fetch_exception();
        RaisedInClosure raised{share(exception)};
        Py_DECREF(exception);
        throw raised;
      },
      std::move(roots), run_async, target);
}

void check_signals() {
  const WithGil gil;
  if (PyErr_CheckSignals() != 0) throw PythonError{};
}

}  // namespace

void set_closure_error(const char* message, const std::exception_ptr& cause) {
  SharedObject original;
  try {
    std::rethrow_exception(cause);
  } catch (const RaisedInClosure& raised) {
    original = raised.exception;
  } catch (const std::exception& error) {
    const PyRef made(PyObject_CallFunction(PyExc_RuntimeError, "s", error.what()));
    if (made) original = share(made.get());
  } catch (...) {
  }
  PyErr_SetString(PyExc_RuntimeError, message);
  if (!original) return;
  PyObject* error = fetch_exception();
  PyException_SetCause(error, Py_NewRef(original.get()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  Py_DECREF(error);
}

void bind_steps(nb::module_& module) {
  set_interrupt_check(check_signals);
  module.def("step", &step_device, nb::arg("device").none() = nb::none(), nb::arg("wait") = false,
             "Starts computing every live pending tensor that this thread recorded for the device, then runs the step "
             "closures.\nReturns before the work is done unless wait is true.");
  module.def("wait", &wait_devices, nb::arg("devices").none() = nb::none(),
             "Blocks until everything that was started on these devices (all of them by default) is done; raises a failure "
             "that no\nwait has raised before.");
  module.def("add_step_closure", &add_closure, nb::arg("function"), nb::arg("args"), nb::arg("tensors"), nb::arg("run_async"),
             nb::arg("device").none());
  module.def(
      "run_step_closures",
      [](const nb::object& device) {
        const Device target = device_argument(device, "run_step_closures");
        const WithoutGil without_gil;
        run_step_closures(target);
      },
      nb::arg("device").none() = nb::none(), "Runs the closures added since the last step, as step() does.");
  module.def(
      "wait_closures",
      [] {
        const WithoutGil without_gil;
        wait_closures();
      },
      "Blocks until the asynchronous step closures handed over so far have run.");
  module.def("explain", &explain,
             "Why steps were compiled and which lines waited for values since the last call, in plain sentences.");
  module.def(
      "cache_info",
      [] {
        const CacheInfo info = cache::info();
        nb::dict entry;
        entry["entries"] = info.entries;
        entry["bytes"] = info.bytes;
        entry["limit"] = info.limit;
        return entry;
      });
  module.def("cache_clear", &cache::clear);
  module.def("cache_remove", &cache::remove, nb::arg("key"));
  module.def("cache_set_limit", &cache::set_limit, nb::arg("bytes"));
  module.def("graph_key", [](const nb::args& args) {
    std::vector<Tensor> tensors;
    for (const nb::handle arg : args) {
      if (!is_tensor(arg.ptr())) raise(PyExc_TypeError, "graph_key(): expected tensors, not %s", Py_TYPE(arg.ptr())->tp_name);
      tensors.push_back(tensor_of(arg.ptr()));
    }
    return graph_key(tensors);
  });
  module.def("set_max_inflight_steps", [](std::uint32_t limit) {
    Options changed = options();
    const std::uint32_t old = changed.max_inflight_steps;
    changed.max_inflight_steps = limit;
    set_options(changed);
    return old;
  });
}

}  // namespace lento::python
