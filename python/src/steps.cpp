#include "steps.h"

#include "convert.h"
#include "gil.h"
#include "source.h"
#include "tensor_type.h"

#include <lento/closures.h>
#include <lento/eval.h>

#include "base/interrupt.h"
#include "executor/call_recorder.h"
#include "executor/closures.h"

#include <utility>
#include <vector>

namespace nb = nanobind;

namespace lento::python {
namespace {

/// What an asynchronous closure raised, kept until a step reports it.
struct RaisedInClosure {
  SharedObject exception;
};

/// Takes the exception that is set, with its traceback.
PyRef take_exception() {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return PyRef(value);
}

// --- steps ---

void step_device(const nb::object& device, const nb::object& waits, const nb::object& takes_all) {
  const Device target = device_or_default(device.ptr(), "step");
  const bool wait = bool_argument(waits.ptr(), "step", "wait");
  const bool all_threads = bool_argument(takes_all.ptr(), "step", "all_threads");
  const PythonSourceScope source;
  refuse_recorded_call("lento.step() is called inside; call it outside, a frozen call starts by itself");
  const WithoutGil without_gil;
  step(target, {.wait = wait, .all_threads = all_threads});
}

void wait_for_devices(const nb::object& which) {
  std::vector<Device> list;
  if (PyList_Check(which.ptr()) || PyTuple_Check(which.ptr())) {
    for (const nb::handle each : which) list.push_back(device_or_default(each.ptr(), "wait"));
    if (list.empty()) return;  // to the engine none means all
  } else if (!which.is_none()) {
    list.push_back(device_or_default(which.ptr(), "wait"));
  }
  const PythonSourceScope source;
  const WithoutGil without_gil;
  wait(list);
}

// --- closures ---

void call_on_stepping_thread(PyObject* function, PyObject* arguments) {
  const WithGil gil;
  const PyRef result(PyObject_CallObject(function, arguments));
  if (!result) throw PythonError{};  // the exception stays set and leaves step()
}

void call_on_worker(PyObject* function, PyObject* arguments) {
  const WorkerGil gil;
  if (!gil) return;
  const PyRef result(PyObject_CallObject(function, arguments));
  if (result) return;
  closure_is_failing();  // while the GIL is held: no other Python code runs between the failure and this
  throw RaisedInClosure{share(take_exception().get())};
}

/// `arguments` is what the function is called with, `tensors` the tensors in it; the Python side has made the
/// snapshots.
void add_closure(const nb::callable& function, const nb::tuple& arguments, const nb::list& tensors, bool run_async,
                 const nb::object& device) {
  const Device target = device_or_default(device.ptr(), "add_step_closure");
  {
    const PythonSourceScope source;
    refuse_recorded_call("a step closure is added inside; add it outside");
  }
  std::vector<Tensor> roots;
  for (const nb::handle tensor : tensors) {
    if (!is_tensor(tensor.ptr())) raise(PyExc_TypeError, "add_step_closure(): the roots must be tensors");
    roots.push_back(tensor_of(tensor.ptr()));
  }
  // While the interpreter ends there is no worker any more, but an exit handler may still take a step.
  const bool on_worker = run_async && !python_closed_to_workers();
  const auto call = on_worker ? call_on_worker : call_on_stepping_thread;
  StepClosure closure = [call, f = share(function.ptr()), a = share(arguments.ptr())](const std::vector<Tensor>&) {
    call(f.get(), a.get());
  };
  add_step_closure(std::move(closure), std::move(roots), on_worker, target);
}

void run_closures_of(const nb::object& device) {
  const Device target = device_or_default(device.ptr(), "run_step_closures");
  const PythonSourceScope source;
  const WithoutGil without_gil;
  run_step_closures(target);
}

void wait_for_closures() {
  const WithoutGil without_gil;
  wait_closures();
}

/// For the end of the interpreter: lets the asynchronous closures run, then keeps workers out of Python. When the user
/// does not want to wait (Ctrl-C), nobody does.
void finish_closures() {
  try {
    bool ended = false;
    {
      const WithoutGil without_gil;
      ended = lento::finish_closures();
    }
    // A closure that hangs never comes out of Python again.
    if (!ended) return close_python_to_workers();
  } catch (...) {
    close_python_to_workers();
    abandon_closures();
    throw;
  }
  for (const std::exception_ptr& failure : take_closure_failures()) {
    set_closure_error("an asynchronous step closure failed after the last step", failure);
    PyErr_Print();
  }
  close_python_to_workers();
  const WithoutGil without_gil;
  wait_for_workers_inside();
}

}  // namespace

void set_closure_error(const char* message, const std::exception_ptr& cause) {
  PyRef original;
  try {
    std::rethrow_exception(cause);
  } catch (const RaisedInClosure& raised) {
    original = PyRef::borrow(raised.exception.get());
  } catch (...) {
    set_exception();
    original = take_exception();
  }
  PyErr_SetString(PyExc_RuntimeError, message);
  const PyRef error = take_exception();
  PyException_SetCause(error.get(), original.release());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

void bind_steps(nb::module_& module) {
  set_interrupt_check(check_signals);
  install_blocking_hooks();
  module.def("step", &step_device, nb::arg("device").none() = nb::none(), nb::arg("wait") = false,
             nb::arg("all_threads") = false,
             "Starts computing every live pending tensor that this thread recorded for the device, then runs the step "
             "closures.\n\n"
             "Returns before the work is done, unless ``wait`` is true or more than ``max_inflight_steps`` steps (see\n"
             "``lento.options``) are under way. ``all_threads`` takes what every thread has recorded.\n\n"
             "    >>> x = lento.ones((3,)) * 2\n"
             "    >>> lento.step()\n"
             "    >>> x.is_pending\n"
             "    False\n");
  module.def("wait", &wait_for_devices, nb::arg("devices").none() = nb::none(),
             "Blocks until everything that was started on these devices (one, a list, all by default) is done.\n\n"
             "Raises a failure that no wait has raised before.\n\n"
             "    >>> x = lento.ones((3,)) * 2\n"
             "    >>> lento.step()\n"
             "    >>> lento.wait()\n");
  module.def("add_step_closure", &add_closure, nb::arg("function"), nb::arg("arguments"), nb::arg("tensors"),
             nb::arg("run_async"), nb::arg("device").none());
  module.def("run_step_closures", &run_closures_of, nb::arg("device").none() = nb::none(),
             "Runs the closures added since the device's last step now, as ``step`` does after launching.");
  module.def(
      "wait_closures", &wait_for_closures,
      "Blocks until the asynchronous step closures handed over so far have run, or were dropped after a failure.");
  module.def("_finish_closures", &finish_closures);
}

}  // namespace lento::python
