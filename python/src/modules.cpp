#include "modules.h"

#include "errors.h"
#include "items.h"
#include "tensor_type.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_set>
#include <vector>

namespace nb = nanobind;

namespace lento::python {
namespace {

/// Set once by the class.
struct ModuleClass {
  PyTypeObject* type = nullptr;
  PyObject* tensors = nullptr;  // its method _tensors; a class that has another one is left to Python
  PyObject* begin = nullptr;    // what is called before the first call of a module
  PyObject* atoms = nullptr;    // the types of what holds nothing
};
ModuleClass the_class;

struct Names {
  PyObject* begun = PyUnicode_InternFromString("_begun");
  PyObject* buffers = PyUnicode_InternFromString("_buffers");
  PyObject* fields = PyUnicode_InternFromString("__dataclass_fields__");
  PyObject* forward = PyUnicode_InternFromString("forward");
  PyObject* hooks = PyUnicode_InternFromString("_hooks");
  PyObject* call = PyUnicode_InternFromString("call");
  PyObject* kept = PyUnicode_InternFromString("_kept");
  PyObject* tensors = PyUnicode_InternFromString("_tensors");
};
const Names& names() {
  static const Names all;
  return all;
}

bool is_module(PyObject* object) { return PyObject_TypeCheck(object, the_class.type) != 0; }

PyRef dict_of(PyObject* module) { return own(PyObject_GenericGetDict(module, nullptr)); }

/// An entry of a dict, or null (borrowed).
PyObject* find(PyObject* dict, PyObject* key) {
  PyObject* found = PyDict_GetItemWithError(dict, key);
  if (found == nullptr && PyErr_Occurred() != nullptr) throw PythonError{};
  return found;
}

// --- calls ---

/// The modules whose forward the calling thread is in, outer ones first. Borrowed: each is an argument of a call that
/// goes on.
constinit thread_local std::vector<PyObject*>* called = nullptr;

std::vector<PyObject*>& called_here() {
  if (called == nullptr) {
    static thread_local std::vector<PyObject*> own;
    called = &own;
  }
  return *called;
}

class Called {
 public:
  explicit Called(PyObject* module) : modules_(called_here()) { modules_.push_back(module); }
  ~Called() { modules_.pop_back(); }
  Called(const Called&) = delete;
  Called& operator=(const Called&) = delete;

 private:
  std::vector<PyObject*>& modules_;
};

/// module.forward(*args, **kwargs), without a frame of Python in between.
PyObject* call_forward(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  const auto all = static_cast<std::size_t>(count + named);
  std::array<PyObject*, 16> few;
  std::vector<PyObject*> many(all < few.size() ? 0 : all + 1);
  PyObject** const given = many.empty() ? few.data() : many.data();
  given[0] = module;
  for (std::size_t i = 0; i < all; ++i) given[i + 1] = args[i];
  return PyObject_VectorcallMethod(names().forward, given, static_cast<std::size_t>(count + 1), keywords);
}

/// The same with hooks: hooks.call(module, args, kwargs).
PyObject* call_hooks(PyObject* hooks, PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const PyRef positional = own(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(args[i]));
  const PyRef named = own(PyDict_New());
  for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_GET_SIZE(keywords); ++i) {
    if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(keywords, i), args[count + i]) < 0) throw PythonError{};
  }
  return PyObject_CallMethodObjArgs(hooks, names().call, module, positional.get(), named.get(), nullptr);
}

PyObject* module_call(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
  try {
    PyRef hooks;
    {
      const PyRef dict = dict_of(self);
      if (find(dict.get(), names().begun) == nullptr) own(PyObject_CallOneArg(the_class.begin, self));
      hooks = PyRef(Py_XNewRef(find(dict.get(), names().hooks)));
    }
    const Called scope(self);
    if (!hooks || hooks.get() == Py_None) return call_forward(self, args, count, keywords);
    return call_hooks(hooks.get(), self, args, count, keywords);
  } catch (...) {
    return set_exception();
  }
}

PyMethodDef call_method = {"__call__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&module_call)),
                           METH_FASTCALL | METH_KEYWORDS,
                           "__call__($self, /, *args, **kwargs)\n--\n\nWhat ``forward`` gives, with the hooks."};

PyObject* is_called(PyObject* /*module*/, PyObject* module) noexcept {
  const std::vector<PyObject*>& here = called_here();
  return PyBool_FromLong(std::find(here.begin(), here.end(), module) != here.end() ? 1 : 0);
}

// --- parameters ---

/// What Python has to look at itself: dataclasses, other classes of containers, and names that may be there twice.
struct Unusual {};

/// The parameters inside of a module, each once, in the order of Module.parameters().
class Parameters {
 public:
  explicit Parameters(PyObject* module) : list_(own(PyList_New(0))) { visit_module(module, nullptr); }

  PyRef take() { return std::move(list_); }

 private:
  /// A module or container, and those it stands in: one that points back is not followed.
  struct Inside {
    PyObject* object;
    const Inside* outer;
  };

  static bool contains(const Inside* inside, PyObject* object) {
    for (; inside != nullptr; inside = inside->outer) {
      if (inside->object == object) return true;
    }
    return false;
  }

  static bool is_in(PyObject* set, PyObject* name) {
    const int found = PyObject_Size(set) == 0 ? 0 : PySequence_Contains(set, name);
    if (found < 0) throw PythonError{};
    return found == 1;
  }

  /// Names with dots, and keys that are no text, may give two tensors one name.
  static void require_plain_name(PyObject* name) {
    if (!PyUnicode_CheckExact(name) || PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name), 1) != -1)
      throw Unusual{};
  }

  void add(PyObject* tensor) {
    if (!is_inexact(tensor_of(tensor).dtype()) || !seen_.insert(tensor).second) return;
    if (PyList_Append(list_.get(), tensor) < 0) throw PythonError{};
  }

  void visit_module(PyObject* module, const Inside* outer) {
    if (contains(outer, module)) return;
    const Recursion level(" in a module");
    const PyRef tensors = own(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(module)), names().tensors));
    if (tensors.get() != the_class.tensors) throw Unusual{};
    const Inside inside{module, outer};
    const PyRef dict = dict_of(module);
    const PyRef kept = own(PyObject_GetAttr(module, names().kept));
    const PyRef buffers = own(PyObject_GetAttr(module, names().buffers));
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(dict.get(), &at, &name, &value) != 0;) {
      if (is_atom(value)) continue;
      require_plain_name(name);
      if (is_tensor(value) && !is_in(kept.get(), name) && !is_in(buffers.get(), name)) add(value);
    }
    for (Py_ssize_t at = 0; PyDict_Next(dict.get(), &at, &name, &value) != 0;) {
      if (is_atom(value) || is_tensor(value)) continue;
      const bool is_kept = is_in(kept.get(), name);
      const PyRef held = PyRef::borrow(value);
      visit(held.get(), &inside, is_kept);
    }
  }

  static bool is_atom(PyObject* value) {
    if (PyUnicode_CheckExact(value) || PyLong_CheckExact(value) || PyBool_Check(value) || value == Py_None) return true;
    const int found = PySet_Contains(the_class.atoms, reinterpret_cast<PyObject*>(Py_TYPE(value)));
    if (found < 0) throw PythonError{};
    return found == 1;
  }

  void visit(PyObject* value, const Inside* inside, bool kept) {
    if (is_tensor(value)) {
      if (!kept) add(value);
    } else if (is_module(value)) {
      visit_module(value, inside);
    } else if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
      if (contains(inside, value)) return;
      const Inside here{value, inside};
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
        const PyRef held = PyRef::borrow(PySequence_Fast_GET_ITEM(value, i));
        visit(held.get(), &here, kept);
      }
    } else if (PyDict_CheckExact(value)) {
      if (contains(inside, value)) return;
      const Inside here{value, inside};
      PyObject* key = nullptr;
      PyObject* item = nullptr;
      for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item) != 0;) {
        require_plain_name(key);
        const PyRef held = PyRef::borrow(item);
        visit(held.get(), &here, kept);
      }
    } else if (!is_atom(value) && may_have_children(value)) {
      throw Unusual{};
    }
  }

  static bool may_have_children(PyObject* value) {
    return PyList_Check(value) || PyTuple_Check(value) || PyDict_Check(value) ||
           PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(value)), names().fields) != 0;
  }

  PyRef list_;
  std::unordered_set<PyObject*> seen_;
};

PyObject* module_parameters(PyObject* /*module*/, PyObject* module) noexcept {
  try {
    return Parameters(module).take().release();
  } catch (const Unusual&) {
    return Py_NewRef(Py_None);
  } catch (...) {
    return set_exception();
  }
}

/// Gives the class its call.
PyObject* complete_class(PyObject* /*module*/, PyObject* const* args, Py_ssize_t count) noexcept {
  try {
    if (count != 3 || !PyType_Check(args[0]) || !PyFrozenSet_Check(args[2]))
      raise(PyExc_TypeError, "the class of modules, a function and the types of atoms are wanted");
    the_class.type = reinterpret_cast<PyTypeObject*>(Py_NewRef(args[0]));
    the_class.tensors = checked(PyObject_GetAttr(args[0], names().tensors));
    the_class.begin = Py_NewRef(args[1]);
    the_class.atoms = Py_NewRef(args[2]);
    const PyRef call = own(PyDescr_NewMethod(the_class.type, &call_method));
    if (PyObject_SetAttrString(args[0], "__call__", call.get()) < 0) throw PythonError{};
    Py_RETURN_NONE;
  } catch (...) {
    return set_exception();
  }
}

PyMethodDef functions[] = {
    {"_complete_module_class", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&complete_class)), METH_FASTCALL,
     nullptr},
    {"_is_called", is_called, METH_O, nullptr},
    {"_module_parameters", module_parameters, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void bind_modules(nb::module_& module) {
  if (PyModule_AddFunctions(module.ptr(), functions) < 0) throw nb::python_error();
}

}  // namespace lento::python
