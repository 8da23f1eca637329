// lento._core: puts the parts together. The public package re-exports from here.
#include "arguments.h"
#include "array_api.h"
#include "autograd.h"
#include "changes.h"
#include "classes.h"
#include "compiled.h"
#include "convert.h"
#include "creation.h"
#include "dlpack.h"
#include "dtype_info.h"
#include "files.h"
#include "functions.h"
#include "gil.h"
#include "init.h"
#include "modules.h"
#include "observe.h"
#include "optim.h"
#include "options.h"
#include "recorded_call.h"
#include "source.h"
#include "steps.h"
#include "tensor_type.h"
#include "testing.h"
#include "trees.h"

#include <lento/eval.h>
#include <lento/version.h>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace lento::python {
namespace {

void eval_tensors(const nb::args& args, const nb::object& waits) {
  const bool wait_for_them = bool_argument(waits.ptr(), "eval", "wait");
  std::vector<Tensor> tensors;
  for (const nb::handle arg : args) collect_tensors(arg.ptr(), "eval", tensors);
  const PythonSourceScope source;
  const WithoutGil without_gil;
  eval(tensors, {.wait = wait_for_them});
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
    // Without a copy it is the same cell: what is assigned to one is assigned to the other.
    if (is_tensor(a.object(0)) && a.optional_boolean(3) == false) {
      (void)as_tensor(a.object(0), a.optional_dtype(1), a.optional_device(2), false);  // raises if it needs one
      return Py_NewRef(a.object(0));
    }
    return wrap(as_tensor(a.object(0), a.optional_dtype(1), a.optional_device(2), a.optional_boolean(3)));
  });
}

const Export kExports[] = {
    {"lento", "asarray", asarray, "(obj, dtype=None, *, device=None, copy=None)",
     "A tensor with the values of obj: a number, nested lists, a NumPy array, an object with the buffer protocol, "
     "__dlpack__ or\n__array__, or a tensor.\n\n"
     "Numbers become bool, int64, float32 or complex64; arrays keep their dtype. Memory that may be written is copied "
     "at once, so\nthat changing obj later does not change the tensor; read-only memory is shared. copy=True always "
     "copies, copy=False always\nshares or raises ValueError; changing shared memory while work that reads it is "
     "pending "
     "is the caller's fault.\n\n"
     "    >>> lento.asarray([[1, 2], [3, 4]])\n"
     "    tensor([[1, 2],\n"
     "            [3, 4]])\n"
     "    >>> lento.asarray([1, 2], dtype=\"float32\")\n"
     "    tensor([1., 2.], dtype=float32)\n"},
};

/// The bytes of any object that has some: what was pickled may come back as whatever the unpickler was given.
class ReadBytes {
 public:
  explicit ReadBytes(PyObject* object) {
    if (PyObject_GetBuffer(object, &view_, PyBUF_SIMPLE) < 0) throw PythonError{};
  }
  ~ReadBytes() { PyBuffer_Release(&view_); }
  ReadBytes(const ReadBytes&) = delete;
  ReadBytes& operator=(const ReadBytes&) = delete;
  const void* data() const { return view_.buf; }
  std::size_t size() const { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

nb::object rebuild(std::string_view dtype, const nb::tuple& shape, const nb::object& object) {
  const ReadBytes content(object.ptr());
  Shape extents;
  for (const nb::handle extent : shape) {
    const auto length = to_int(extent.ptr());
    if (!length)
      raise(PyExc_TypeError, "the shape of a pickled tensor has int, not %s", Py_TYPE(extent.ptr())->tp_name);
    extents.push_back(*length);
  }
  const auto element = dtype_from_name(dtype);
  if (!element) raise(PyExc_ValueError, "unknown dtype '%s'", std::string(dtype).c_str());
  if (element_count(extents) * static_cast<std::int64_t>(size_of(*element)) !=
      static_cast<std::int64_t>(content.size())) {
    raise(PyExc_ValueError, "the pickled tensor has the wrong number of bytes");
  }
  return nb::steal(wrap(from_host(content.data(), *element, extents)));
}

void bind_engine(nb::module_& module) {
  module.def(
      "eval", &eval_tensors, nb::arg("tensors"), nb::arg("wait") = false,
      "Starts computing these tensors (also in lists and tuples). Returns before they are done; what fails while "
      "running\nis raised by reading it. With ``wait`` it goes on as ``lento.wait`` for the devices they are on.\n\n"
      "    >>> x = lento.ones((3,)) * 2\n"
      "    >>> lento.eval(x, [x + 1])\n"
      "    >>> x.is_pending\n"
      "    False\n");
  module.def("_set_package_folder", &set_package_folder, nb::arg("folder"));
  module.def("_place", [] { return to_string(current_source()); });
  module.def("_rebuild", &rebuild);
  auto scope = nb::class_<OpenScope>(module, "_Scope", nb::is_final());
  scope.def(nb::init<std::string_view>()).def("close", &OpenScope::close);
  make_only_by_call(scope.ptr());
  bind_autograd(module);
  bind_changes(module);
  bind_modules(module);
  bind_trees(module);
  bind_dtype_info(module);
  bind_files(module);
  bind_steps(module);
  bind_optim(module);
  bind_options(module);
  bind_graphs(module);
  bind_cache(module);
  bind_recorded_calls(module);
  bind_metrics(module);
  bind_resources(module);
  bind_testing(module);
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
  } catch (const std::bad_alloc&) {
    set_exception();
  }
}

}  // namespace

NB_MODULE(_core, module) {
  // Threads of Lento's take the GIL of the main interpreter; a second one would wait for itself at its end.
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError, "lento works in the main interpreter only, not in a subinterpreter");
    throw nb::python_error();
  }
#ifdef Py_GIL_DISABLED
  // A free-threaded interpreter turns the GIL on for a module that does not say it can do without (and warns of it),
  // unless it was told by PYTHON_GIL=0 or -X gil=0 never to.
  const nb::object enabled = nb::module_::import_("sys").attr("_is_gil_enabled")();
  if (!nb::cast<bool>(enabled)) {
    PyErr_SetString(PyExc_ImportError, "lento needs the GIL; run Python without PYTHON_GIL=0 and -X gil=0");
    throw nb::python_error();
  }
#endif
  nb::set_leak_warnings(false);  // dtype constants live as long as the process
  nb::register_exception_translator(&translate);
  if (!add_errors(module.ptr())) throw nb::python_error();
  try {
    install_source_resolver();
    add_tensor_type(module.ptr());
    add_classes(module.ptr());
    add_compiled_type(module.ptr());
    bind_engine(module);
    add_functions(module.ptr(), kExports);
    add_dlpack(module.ptr());
    add_array_api(module.ptr());
    add_generated_functions(module.ptr());
    add_init(module.ptr());
  } catch (const PythonError&) {
    throw nb::python_error();
  }
}

}  // namespace lento::python
