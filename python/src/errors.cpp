#include "errors.h"

#include "source.h"
#include "steps.h"

#include <lento/closures.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <new>
#include <string>
#include "executor/closures.h"

namespace lento::python {
namespace {

constexpr int kKindCount = static_cast<int>(ErrorKind::device_lost) + 1;

PyObject* base_class = nullptr;
PyObject* sync_warning = nullptr;
PyObject* assignment_warning = nullptr;
std::array<PyObject*, kKindCount> classes = {};

struct ClassSpec {
  ErrorKind kind;
  const char* name;
  PyObject** builtin;  // the exception Python users expect to catch
  const char* doc;
};

const ClassSpec kClasses[] = {
    {ErrorKind::shape, "ShapeError", &PyExc_ValueError, "Shapes do not fit the operation."},
    {ErrorKind::dtype, "DTypeError", &PyExc_TypeError, "Element types do not fit the operation."},
    {ErrorKind::device, "DeviceError", &PyExc_ValueError, "Operands on different devices, or no such device."},
    {ErrorKind::value, "ValueError", &PyExc_ValueError, "An argument has a value that makes no sense."},
    {ErrorKind::index, "IndexError", &PyExc_IndexError, "An index is out of range."},
    {ErrorKind::overflow, "OverflowError", &PyExc_OverflowError, "A number does not fit the element type."},
    {ErrorKind::memory, "MemoryError", &PyExc_MemoryError, "There is not enough memory."},
    {ErrorKind::linalg, "LinAlgError", &PyExc_ValueError, "A matrix has no such decomposition or solution."},
    {ErrorKind::backend, "BackendError", &PyExc_RuntimeError, "A backend failed."},
    {ErrorKind::file, "FileError", &PyExc_OSError, "A file is missing, unreadable or malformed."},
    {ErrorKind::device_lost, "DeviceLostError", &PyExc_RuntimeError,
     "A device stopped working; what was on it is gone."},
};

}  // namespace

bool add_errors(PyObject* module) {
  base_class = PyErr_NewExceptionWithDoc("lento.errors.Error", "Base of the errors that Lento raises on purpose.",
                                         nullptr, nullptr);
  if (base_class == nullptr || PyModule_AddObjectRef(module, "Error", base_class) < 0) return false;
  for (const ClassSpec& spec : kClasses) {
    PyObject* bases = PyTuple_Pack(2, base_class, *spec.builtin);
    if (bases == nullptr) return false;
    const std::string name = std::string("lento.errors.") + spec.name;
    PyObject* made = PyErr_NewExceptionWithDoc(name.c_str(), spec.doc, bases, nullptr);
    Py_DECREF(bases);
    if (made == nullptr || PyModule_AddObjectRef(module, spec.name, made) < 0) return false;
    classes[static_cast<int>(spec.kind)] = made;
  }
  sync_warning = PyErr_NewExceptionWithDoc("lento.errors.SyncWarning",
                                           "A read had to compute something first, under options(sync=\"warn\").",
                                           PyExc_RuntimeWarning, nullptr);
  if (sync_warning == nullptr || PyModule_AddObjectRef(module, "SyncWarning", sync_warning) < 0) return false;
  assignment_warning =
      PyErr_NewExceptionWithDoc("lento.errors.AssignmentWarning",
                                "An assignment to a part of a tensor that nobody holds: x[0][1] = v changes nothing.",
                                PyExc_RuntimeWarning, nullptr);
  return assignment_warning != nullptr && PyModule_AddObjectRef(module, "AssignmentWarning", assignment_warning) == 0;
}

PyObject* exception_class(ErrorKind kind) { return classes[static_cast<int>(kind)]; }

namespace {

// Who catches numpy.linalg.LinAlgError has imported NumPy: then what is raised is one of those, too. Borrowed.
PyObject* linalg_error_class() {
  static PyObject* both = nullptr;
  if (both == nullptr && PyDict_GetItemString(PyImport_GetModuleDict(), "numpy.linalg") != nullptr) {
    const PyRef module(PyImport_ImportModule("lento._numpy_errors"));
    both = module ? PyObject_GetAttrString(module.get(), "LinAlgError") : nullptr;
    if (both == nullptr) PyErr_Clear();
  }
  return both != nullptr ? both : exception_class(ErrorKind::linalg);
}

}  // namespace

PyObject* sync_warning_class() { return sync_warning; }
PyObject* assignment_warning_class() { return assignment_warning; }

bool has_place(std::string_view message) {
  constexpr std::string_view kAt = ", at ";
  const std::size_t at = message.rfind(kAt);
  const std::size_t colon = message.rfind(':');
  if (at == std::string_view::npos || colon == std::string_view::npos || colon < at + kAt.size()) return false;
  const std::string_view line = message.substr(colon + 1);
  return !line.empty() && std::ranges::all_of(line, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_own_kind(PyObject* type) {
  PyObject* const builtin[] = {PyExc_TypeError,   PyExc_ValueError,   PyExc_IndexError,          PyExc_OverflowError,
                               PyExc_BufferError, PyExc_RuntimeError, PyExc_NotImplementedError, PyExc_ImportError};
  return std::ranges::find(builtin, type) != std::end(builtin) || PyObject_IsSubclass(type, base_class) == 1;
}

void add_place() noexcept {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (type != nullptr && value != nullptr && traceback == nullptr && is_own_kind(type)) {
    try {
      const PyRef text(PyObject_Str(value));
      const char* message = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
      const std::string place = message == nullptr || has_place(message) ? "" : to_string(current_source());
      const PyRef placed(place.empty() ? nullptr : PyUnicode_FromFormat("%U, at %s", text.get(), place.c_str()));
      if (placed) {
        PyErr_Clear();
        PyErr_SetObject(type, placed.get());
        Py_DECREF(type);
        Py_DECREF(value);
        return;
      }
    } catch (const std::exception&) {  // no memory for a place: then it has none
    }
    PyErr_Clear();
  }
  PyErr_Restore(type, value, traceback);
}

PyObject* set_exception() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
    return nullptr;  // Python's own error is set already
  } catch (const ClosureError& error) {
    set_closure_error(kClosureRefused, error.cause());
  } catch (const Error& error) {
    PyErr_SetString(error.kind() == ErrorKind::linalg ? linalg_error_class() : exception_class(error.kind()),
                    error.what());
    add_place();
  } catch (const std::bad_alloc&) {
    PyErr_SetString(exception_class(ErrorKind::memory), "out of memory");
    add_place();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
  return nullptr;
}

}  // namespace lento::python
