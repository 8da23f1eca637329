#include "trees.h"

#include "arguments.h"
#include "errors.h"
#include "items.h"
#include "tensor_type.h"

#include <cstring>

namespace nb = nanobind;

namespace lento::python {
namespace {

enum class Kind { leaf, tuple, list, dict, other };

/// What is known of an object by its type alone. Only lento.tree knows of the others.
Kind kind_of(PyObject* object) {
  if (is_tensor(object) || object == Py_None) return Kind::leaf;
  if (PyTuple_CheckExact(object)) return Kind::tuple;
  if (PyList_CheckExact(object)) return Kind::list;
  if (PyDict_CheckExact(object)) return Kind::dict;
  const bool is_plain = PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
                        PyComplex_CheckExact(object) || PyUnicode_CheckExact(object);
  return is_plain ? Kind::leaf : Kind::other;
}

/// The children of a node, and what rebuilds one of a kind that is not known here.
struct Node {
  PyRef children;  // a list or a tuple; none for a leaf
  PyRef rebuild;
};

Node node_of(PyObject* tree, Kind kind, PyObject* look_closer) {
  switch (kind) {
    case Kind::leaf:
      return {};
    case Kind::tuple:
    case Kind::list:
      return {PyRef::borrow(tree), {}};
    case Kind::dict:
      return {own(PyDict_Values(tree)), {}};
    case Kind::other:
      break;
  }
  const PyRef found = own(PyObject_CallOneArg(look_closer, tree));
  if (found.get() == Py_None) return {};
  if (!PyTuple_Check(found.get()) || PyTuple_GET_SIZE(found.get()) != 2)
    raise(PyExc_TypeError, "a node is a pair of its children and what rebuilds it");
  return {own(PySequence_Fast(PyTuple_GET_ITEM(found.get(), 0), "the children of a node must be a list")),
          PyRef::borrow(PyTuple_GET_ITEM(found.get(), 1))};
}

/// The name of a type without its module.
const char* type_name(PyObject* object) {
  const char* name = Py_TYPE(object)->tp_name;
  const char* dot = std::strrchr(name, '.');
  return dot == nullptr ? name : dot + 1;
}

/// A node, and those it stands in.
struct Inside {
  PyObject* node;
  const Inside* outer;
};

void gather(PyObject* tree, PyObject* look_closer, PyObject* found, const Inside* outer) {
  const Node node = node_of(tree, kind_of(tree), look_closer);
  if (!node.children) {
    if (PyList_Append(found, tree) < 0) throw PythonError{};
    return;
  }
  for (const Inside* around = outer; around != nullptr; around = around->outer) {
    if (around->node == tree) raise(PyExc_ValueError, "a tree has a %s that contains itself", type_name(tree));
  }
  const Recursion level(" in a tree");
  const Inside inside{tree, outer};
  const Items children(node.children.get());
  for (Py_ssize_t i = 0; i < children.size(); ++i) gather(children[i].get(), look_closer, found, &inside);
}

/// The values that become leaves, in order.
struct Values {
  Items items;
  Py_ssize_t used = 0;

  PyRef next() {
    if (used == items.size()) raise(PyExc_ValueError, "unflatten(): there are fewer values than leaves");
    return items[used++];
  }
};

PyRef rebuilt(PyObject* tree, PyObject* look_closer, Values& values) {
  const Kind kind = kind_of(tree);
  // Its keys, before Python code may change it.
  const PyRef keys = kind == Kind::dict ? own(PyDict_Keys(tree)) : PyRef();
  const Node node = node_of(tree, kind, look_closer);
  if (!node.children) return values.next();
  const Recursion level(" in a tree");
  const Items children(node.children.get());
  PyRef made = own(kind == Kind::tuple ? PyTuple_New(children.size()) : PyList_New(children.size()));
  for (Py_ssize_t i = 0; i < children.size(); ++i) {
    PyObject* child = rebuilt(children[i].get(), look_closer, values).release();
    if (kind == Kind::tuple) {
      PyTuple_SET_ITEM(made.get(), i, child);
    } else {
      PyList_SET_ITEM(made.get(), i, child);
    }
  }
  if (kind == Kind::other) return own(PyObject_CallOneArg(node.rebuild.get(), made.get()));
  if (kind != Kind::dict) return made;
  PyRef dict = own(PyDict_New());
  for (Py_ssize_t i = 0; i < children.size(); ++i) {
    if (PyDict_SetItem(dict.get(), PyList_GET_ITEM(keys.get(), i), PyList_GET_ITEM(made.get(), i)) < 0)
      throw PythonError{};
  }
  return dict;
}

constexpr int kDeepest = 100;  // levels that are looked at here

/// True when there are only tensors, numbers, text and None in tuples, lists and dicts. False for a tree that contains
/// itself.
bool is_plain(PyObject* tree, int depth = 0) {
  switch (kind_of(tree)) {
    case Kind::leaf:
      return true;
    case Kind::other:
      return false;
    case Kind::dict: {
      PyObject* value = nullptr;
      for (Py_ssize_t at = 0; PyDict_Next(tree, &at, nullptr, &value) != 0;) {
        if (depth == kDeepest || !is_plain(value, depth + 1)) return false;
      }
      return true;
    }
    case Kind::tuple:
    case Kind::list:
      break;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(tree); ++i) {
    if (depth == kDeepest || !is_plain(PySequence_Fast_GET_ITEM(tree, i), depth + 1)) return false;
  }
  return true;
}

/// The leaves of `other`, which has the form of `tree`; false where lento.tree has to look closer, or says what is
/// wrong.
bool gather_like(PyObject* tree, PyObject* other, PyObject* found, int depth = 0) {
  const Kind kind = kind_of(tree);
  if (kind == Kind::other || kind_of(other) != kind || depth == kDeepest) return false;
  if (kind == Kind::leaf) {
    if (PyList_Append(found, other) < 0) throw PythonError{};
    return true;
  }
  if (kind == Kind::dict) {
    if (PyDict_GET_SIZE(tree) != PyDict_GET_SIZE(other)) return false;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(tree, &at, &key, &value) != 0;) {
      // A lookup by any other key may run Python code.
      if (!PyUnicode_CheckExact(key)) return false;
      PyObject* same = PyDict_GetItemWithError(other, key);
      if (same == nullptr && PyErr_Occurred() != nullptr) throw PythonError{};
      if (same == nullptr || !gather_like(value, same, found, depth + 1)) return false;
    }
    return true;
  }
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(tree);
  if (PySequence_Fast_GET_SIZE(other) != size) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!gather_like(PySequence_Fast_GET_ITEM(tree, i), PySequence_Fast_GET_ITEM(other, i), found, depth + 1))
      return false;
  }
  return true;
}

template <class F>
PyObject* guarded(Py_ssize_t count, Py_ssize_t wanted, F&& body) noexcept {
  try {
    if (count != wanted) raise(PyExc_TypeError, "%zd arguments are wanted, not %zd", wanted, count);
    return body();
  } catch (...) {
    return set_exception();
  }
}

PyObject* tree_leaves(PyObject* /*module*/, PyObject* const* args, Py_ssize_t count) noexcept {
  return guarded(count, 2, [&] {
    PyRef found = own(PyList_New(0));
    gather(args[0], args[1], found.get(), nullptr);
    return found.release();
  });
}

PyObject* tree_unflatten(PyObject* /*module*/, PyObject* const* args, Py_ssize_t count) noexcept {
  return guarded(count, 3, [&] {
    Values values{Items(args[1])};
    PyRef made = rebuilt(args[0], args[2], values);
    if (values.used != values.items.size()) raise(PyExc_ValueError, "unflatten(): there are more values than leaves");
    return made.release();
  });
}

/// None where lento.tree has to look closer.
PyObject* tree_leaves_like(PyObject* /*module*/, PyObject* const* args, Py_ssize_t count) noexcept {
  return guarded(count, 2, [&] {
    PyRef found = own(PyList_New(0));
    return gather_like(args[0], args[1], found.get()) ? found.release() : Py_NewRef(Py_None);
  });
}

PyObject* tree_is_plain(PyObject* /*module*/, PyObject* tree) noexcept {
  return PyBool_FromLong(is_plain(tree) ? 1 : 0);
}

PyObject* is_differentiable(PyObject* /*module*/, PyObject* leaf) noexcept {
  return PyBool_FromLong(is_tensor(leaf) && is_inexact(tensor_of(leaf).dtype()) ? 1 : 0);
}

template <class F>
PyCFunction function(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

PyMethodDef functions[] = {
    {"_tree_leaves", function(tree_leaves), METH_FASTCALL, nullptr},
    {"_tree_leaves_like", function(tree_leaves_like), METH_FASTCALL, nullptr},
    {"_tree_unflatten", function(tree_unflatten), METH_FASTCALL, nullptr},
    {"_is_plain_tree", function(tree_is_plain), METH_O, nullptr},
    {"_is_differentiable", function(is_differentiable), METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void bind_trees(nb::module_& module) {
  if (PyModule_AddFunctions(module.ptr(), functions) < 0) throw nb::python_error();
}

}  // namespace lento::python
