#include "binary_functions.h"

#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace lento::python {
namespace {

// With their other names, in alphabetical order.
constexpr std::string_view kNames[] = {
    "add",
    "arctan2",
    "atan2",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "copysign",
    "divide",
    "equal",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "greater",
    "greater_equal",
    "heaviside",
    "hypot",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "nextafter",
    "not_equal",
    "pow",
    "power",
    "remainder",
    "right_shift",
    "subtract",
    "true_divide",
};
static_assert(std::ranges::is_sorted(kNames));

constexpr std::string_view kMethods[] = {"accumulate", "at", "outer", "reduce", "reduceat"};

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const Export* entry;
  PyObject* weakrefs;
};

PyTypeObject* function_type = nullptr;

const Export& entry_of(PyObject* self) { return *reinterpret_cast<FunctionObject*>(self)->entry; }

PyObject* call_function(PyObject* self, PyObject* const* args, std::size_t count, PyObject* names) {
  return entry_of(self).function(nullptr, args, PyVectorcall_NARGS(count), names);
}

PyObject* text(const char* what) { return PyUnicode_FromString(what); }
PyObject* get_name(PyObject* self, void*) { return text(entry_of(self).name); }
PyObject* get_signature(PyObject* self, void*) { return text(entry_of(self).signature); }
PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("<function lento.%s>", entry_of(self).name); }

// The name: pickles find it in the module.
PyObject* reduce(PyObject* self, PyObject*) { return get_name(self, nullptr); }

PyObject* get_attribute(PyObject* self, PyObject* name) {
  if (!PyUnicode_Check(name)) return PyObject_GenericGetAttr(self, name);
  const char* found = PyUnicode_AsUTF8(name);
  if (found == nullptr) return nullptr;
  const std::string_view wanted = found;
  // Not in the table of attributes, where the type would have them in place of its own.
  if (wanted == "__module__") return text("lento");
  if (wanted == "__doc__") return text(entry_of(self).doc);
  if (std::ranges::find(kMethods, wanted) == std::end(kMethods)) {
    PyObject* value = PyObject_GenericGetAttr(self, name);
    const bool missing = value == nullptr && !wanted.starts_with('_') && PyErr_ExceptionMatches(PyExc_AttributeError);
    if (!missing) return value;
    PyErr_Clear();
  }
  const PyRef module(PyImport_ImportModule("lento._binary"));
  return module ? PyObject_CallMethod(module.get(), "method", "OO", self, name) : nullptr;
}

// Functions are no methods: a class that has one among its attributes gives it as it is. That the slot is there tells
// the module inspect that this is a function with a text signature.
PyObject* get_from_class(PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); }

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_ClearWeakRefs(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weakrefs), READONLY, nullptr},
    {},
};

PyGetSetDef attributes[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_name, nullptr, nullptr, nullptr},
    {"__text_signature__", get_signature, nullptr, nullptr, nullptr},
    {},
};

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {},
};

}  // namespace

bool is_binary_function(std::string_view name) { return std::ranges::binary_search(kNames, name); }

PyObject* make_binary_function(const Export& entry) {
  auto* made = PyObject_New(FunctionObject, function_type);
  if (made == nullptr) throw PythonError{};
  made->vectorcall = call_function;
  made->entry = &entry;
  made->weakrefs = nullptr;
  return reinterpret_cast<PyObject*>(made);
}

void add_binary_function_type(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
      {Py_tp_descr_get, reinterpret_cast<void*>(get_from_class)},
      {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
      {Py_tp_getset, attributes},
      {Py_tp_members, members},
      {Py_tp_methods, methods},
      {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {0, nullptr},
  };
  PyType_Spec spec{"lento._core.BinaryFunction", sizeof(FunctionObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  function_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  if (PyObject_SetAttrString(module, "BinaryFunction", reinterpret_cast<PyObject*>(function_type)) < 0)
    throw PythonError{};
}

}  // namespace lento::python
