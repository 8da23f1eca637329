#include "functions.h"
#include "python/functions.calls.gen.h"

#include "base/source.h"
#include "binary_functions.h"
#include "classes.h"
#include "tensor_type.h"

#include "python/functions.gen.h"

#include <cstddef>
#include <deque>
#include <iterator>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace lento::python {
namespace {

// CPython keeps pointers to these for as long as the functions live: for ever.
struct Definition {
  std::string doc;
  PyMethodDef method;
};

PyMethodDef* make_definition(const Export& entry, bool is_method) {
  static auto* definitions = new std::deque<Definition>;
  Definition& made = definitions->emplace_back();
  std::string signature = entry.signature;
  if (is_method) {
    // The first parameter of a method is the tensor itself.
    const std::size_t end = signature.find_first_of(",)");
    signature.replace(1, end - 1, "$self");
  }
  made.doc = std::string(entry.name) + signature + "\n--\n\n" + entry.doc;
  made.method = {entry.name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(entry.function)),
                 METH_FASTCALL | METH_KEYWORDS, made.doc.c_str()};
  return &made.method;
}

PyRef space_module(PyObject* core, std::string_view space) {
  if (space == "lento") return PyRef::borrow(core);
  const std::string name(space);
  PyRef found(PyObject_GetAttrString(core, name.c_str()));
  if (found) return found;
  PyErr_Clear();
  const std::string full = "lento._core." + name;
  PyRef made = own(PyModule_New(full.c_str()));
  if (PyObject_SetAttrString(core, name.c_str(), made.get()) < 0) throw PythonError{};
  return made;
}

// NumPy's where(condition) is nonzero(condition). The standard has only the form of three arguments, but libraries call
// the other as well.
FastFunction where_of_three = nullptr;
Parameter kConditionOnly[] = {{"condition", Kind::tensor}};
Signature kWhereOfOne{.name = "where", .parameters = kConditionOnly, .blocks = true};

PyObject* where(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const bool named = names != nullptr && count == 0 && PyTuple_GET_SIZE(names) == 1 &&
                     PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "condition") == 0;
  if (named || (count == 1 && names == nullptr)) {
    return call(kWhereOfOne, self, args, count, names, [](const Arguments& a) {
      const CallScope scope("where", std::source_location::current());
      return wrap(lento::nonzero(a.tensor(0)));
    });
  }
  return where_of_three(self, args, count, names);
}

// round(x) is an op of its own; with decimals it is around.
FastFunction round_to_whole = nullptr;
FastFunction round_to_decimals = nullptr;

PyObject* round(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  bool decimals = count > 1;
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i)
    decimals = decimals || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "decimals") == 0;
  return (decimals ? round_to_decimals : round_to_whole)(self, args, count, names);
}

// PyTorch's x.repeat(2, 1) is tile, and would silently be something else.
FastFunction repeat_method = nullptr;

PyObject* repeat(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  int warned = 0;
  if (count == 2 && PyLong_Check(args[0]) && PyLong_Check(args[1])) {
    warned = PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                              "x.repeat(%S, %S) repeats each element %S times along axis %S, as in NumPy: write "
                              "x.repeat(%S, axis=%S). PyTorch's x.repeat(%S, %S) is lento.tile(x, (%S, %S))",
                              args[0], args[1], args[0], args[1], args[0], args[1], args[0], args[1], args[0], args[1]);
  } else if (count > 2) {
    PyErr_SetString(PyExc_TypeError,
                    "repeat() takes repeats and axis, as in NumPy; PyTorch's x.repeat(2, 1, 1) is "
                    "lento.tile(x, (2, 1, 1))");
    add_place();
    return nullptr;
  }
  return warned < 0 ? nullptr : repeat_method(self, args, count, names);
}

// NumPy's and PyTorch's x.view(dtype) is bitcast.
FastFunction view_method = nullptr;

PyObject* view(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (count == 1 && (dtype_value(args[0]) != nullptr || PyType_Check(args[0]) || PyUnicode_Check(args[0]))) {
    PyErr_SetString(PyExc_TypeError, "view() takes a shape; with a dtype it is lento.bitcast(x, dtype)");
    add_place();
    return nullptr;
  }
  return view_method(self, args, count, names);
}

// NumPy's uniform(0, 1, 5) would silently be an empty tensor: here the shape comes first.
constexpr const char* kShapeFirst[] = {"uniform", "normal", "laplace", "logistic", "gumbel", "lognormal"};
constexpr std::size_t kShapeFirstCount = std::size(kShapeFirst);
FastFunction drawn[kShapeFirstCount] = {};

template <std::size_t I>
PyObject* draw(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  int warned = 0;
  if (count == 3 && PyLong_CheckExact(args[0]) && PyLong_CheckExact(args[2]) && PyObject_Not(args[0]) == 1) {
    warned =
        PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                         "lento.random.%s(%S, %S, %S) is an empty tensor: the shape comes first. NumPy's call with "
                         "these numbers is lento.random.%s(%S, %S, %S)",
                         kShapeFirst[I], args[0], args[1], args[2], kShapeFirst[I], args[2], args[0], args[1]);
  }
  return warned < 0 ? nullptr : drawn[I](self, args, count, names);
}

Export find_export(std::string_view space, std::string_view name) {
  for (const std::span<const Export> exports : all_exports())
    for (const Export& entry : exports)
      if (entry.space == space && entry.name == name) return entry;
  throw std::logic_error("no op of the catalogue: " + std::string(name));
}

}  // namespace

void add_functions(PyObject* module, std::span<const Export> exports) {
  for (const Export& entry : exports) {
    const std::string_view space = entry.space;
    if (space == "Tensor") {
      const PyRef method = own(PyDescr_NewMethod(tensor_type, make_definition(entry, true)));
      if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), entry.name, method.get()) < 0)
        throw PythonError{};
      continue;
    }
    const PyRef target = space_module(module, space);
    const std::string home = space == "lento"  ? "lento"
                             : space == "prim" ? "lento._core.prim"
                                               : "lento." + std::string(space);
    const PyRef home_name = own(PyUnicode_FromString(home.c_str()));
    const PyRef function = space == "lento" && is_binary_function(entry.name)
                               ? own(make_binary_function(entry))
                               : own(PyCFunction_NewEx(make_definition(entry, false), nullptr, home_name.get()));
    if (PyObject_SetAttrString(target.get(), entry.name, function.get()) < 0) throw PythonError{};
  }
}

void add_generated_functions(PyObject* module) {
  add_binary_function_type(module);
  for (const std::span<const Export> exports : all_exports()) add_functions(module, exports);
  Export made[] = {find_export("lento", "where"), find_export("Tensor", "repeat"), find_export("Tensor", "view"),
                   find_export("lento", "around")};
  where_of_three = std::exchange(made[0].function, where);
  repeat_method = std::exchange(made[1].function, repeat);
  view_method = std::exchange(made[2].function, view);
  made[3].name = "round";
  round_to_whole = find_export("lento", "round").function;
  round_to_decimals = std::exchange(made[3].function, round);
  add_functions(module, made);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    Export random[] = {find_export("random", kShapeFirst[I])...};
    ((drawn[I] = std::exchange(random[I].function, draw<I>)), ...);
    add_functions(module, random);
  }(std::make_index_sequence<kShapeFirstCount>());
  auto* type = reinterpret_cast<PyObject*>(tensor_type);
  const PyRef conjugate = own(PyObject_GetAttrString(type, "conj"));
  if (PyObject_SetAttrString(type, "conjugate", conjugate.get()) < 0) throw PythonError{};  // NumPy's other name
}

}  // namespace lento::python
