// f"{loss:.3f}", round(x, 2) and what notebooks show. repr() and str() are in tensor_type.cpp.
#include "arguments.h"
#include "convert.h"
#include "python/formatting.calls.gen.h"
#include "source.h"
#include "tensor_type.h"
#include "waiting.h"

namespace lento::python {

PyObject* format_method(PyObject* self, PyObject* spec) noexcept {
  try {
    if (!PyUnicode_Check(spec))
      raise(PyExc_TypeError, "__format__() argument must be str, not %s", Py_TYPE(spec)->tp_name);
    if (PyUnicode_GET_LENGTH(spec) == 0) return checked(PyObject_Str(self));
    const PythonSourceScope source;
    const Tensor held = tensor_of(self);
    if (held.size() != 1) {
      const PyRef shape = own(from_ints(held.shape()));
      raise(PyExc_TypeError, "unsupported format string passed to lento.Tensor.__format__: shape %S is not one number",
            shape.get());
    }
    const PyRef number = own(from_scalar(read_scalar(held)));
    return checked(PyObject_Format(number.get(), spec));
  } catch (...) {
    return set_exception();
  }
}

PyObject* round_method(PyObject* self, PyObject* const* args, Py_ssize_t count) noexcept {
  try {
    if (count > 1) raise(PyExc_TypeError, "__round__() takes at most 1 argument but %zd were given", count);
    std::int64_t decimals = 0;
    if (count == 1 && args[0] != Py_None) {
      const auto given = to_int(args[0]);
      if (!given)
        raise(PyExc_TypeError, "round(): the number of decimals must be int, not %s", Py_TYPE(args[0])->tp_name);
      decimals = *given;
    }
    const Source line = current_source();
    const SourceScope source(line);
    before_recording("round", line, self);
    return wrap(lento::around(tensor_of(self), decimals));
  } catch (...) {
    return set_exception();
  }
}

PyObject* html_method(PyObject* self, PyObject* /*unused*/) noexcept {
  try {
    const PyRef module = own(PyImport_ImportModule("lento._html"));
    return checked(PyObject_CallMethod(module.get(), "table", "O", self));
  } catch (...) {
    return set_exception();
  }
}

}  // namespace lento::python
