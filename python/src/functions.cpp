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
Signature kWhereOfOne{.name = "where", .parameters = kConditionOnly, .waits = true};

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

bool is_positive(PyObject* object) {
  int is_too_large = 0;
  return PyLong_Check(object) && PyLong_AsLongAndOverflow(object, &is_too_large) > 0;
}

PyObject* repeat(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  int warned = 0;
  if (count == 1 && names == nullptr && PyTuple_Check(args[0]) && PyTuple_GET_SIZE(args[0]) > 1) {
    warned = PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                              "x.repeat(%R) repeats each element as often as its own number says, as in NumPy: write "
                              "lento.repeat(x, %R). PyTorch's x.repeat(%R) is lento.tile(x, %R)",
                              args[0], args[0], args[0], args[0]);
  } else if (count == 2 && PyLong_Check(args[0]) && is_positive(args[1])) {
    // Nobody repeats 0 times, so that (2, 0) and (2, -1) are NumPy's.
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

// PyTorch's x.transpose(0, 2) swaps two axes. With more than two of them NumPy's would be an error; with two it leaves
// them as they are for (0, 1), and would silently be something else.
FastFunction transpose_to = nullptr;
FastFunction swap_axes = nullptr;

bool is_axis_of_matrix(PyObject* object, long axis) {
  if (!PyLong_Check(object)) return false;
  int is_too_large = 0;
  const long value = PyLong_AsLongAndOverflow(object, &is_too_large);
  return is_too_large == 0 && (value == axis || value == axis - 2);
}

PyObject* transpose(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const bool is_method = self != nullptr && is_tensor(self);
  PyObject* const x = is_method ? self : count > 0 ? args[0] : nullptr;
  PyObject* const* axes = args + (is_method ? 0 : 1);
  const bool two = names == nullptr && count == (is_method ? 2 : 3) && is_int(axes[0]) && is_int(axes[1]);
  if (!two || x == nullptr || !is_tensor(x)) return transpose_to(self, args, count, names);
  const std::int64_t rank = tensor_of(x).rank();
  if (rank > 2) return swap_axes(self, args, count, names);
  const bool stays = rank == 2 && is_axis_of_matrix(axes[0], 0) && is_axis_of_matrix(axes[1], 1);
  if (stays && PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                                "x.transpose(%S, %S) leaves the two axes as they are, as in NumPy. PyTorch's "
                                "x.transpose(%S, %S) is x.swapaxes(%S, %S), or x.T",
                                axes[0], axes[1], axes[0], axes[1], axes[0], axes[1]) < 0) {
    return nullptr;
  }
  return transpose_to(self, args, count, names);
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

// NumPy's uniform(0, 1, 5) would silently be an empty tensor, and normal(5, 2, 100) five numbers: here the shape comes
// first.
enum class Reading : std::uint8_t { range, location, positive };  ///< what NumPy's first two arguments are
struct ShapeFirst {
  const char* name;
  Reading reading;
};
constexpr ShapeFirst kShapeFirst[] = {
    {"uniform", Reading::range},      {"randint", Reading::range},     {"normal", Reading::location},
    {"laplace", Reading::location},   {"logistic", Reading::location}, {"gumbel", Reading::location},
    {"lognormal", Reading::location}, {"beta", Reading::positive},     {"gamma", Reading::positive},
};
constexpr std::size_t kShapeFirstCount = std::size(kShapeFirst);
FastFunction drawn[kShapeFirstCount] = {};

/// Whether the numbers make sense in NumPy's order, with one as the size that is much greater than what is drawn here.
/// Whoever means them as they are nearly always draws more numbers, or writes the shape as a tuple.
bool reads_as_numpys(Reading reading, PyObject* const* args) {
  if (!PyFloat_CheckExact(args[1]) && !PyLong_CheckExact(args[1])) return false;
  const double first = PyFloat_AsDouble(args[0]);
  const double second = PyFloat_AsDouble(args[1]);
  const double size = PyFloat_AsDouble(args[2]);
  PyErr_Clear();  // what is too large is refused by the function itself
  if (size < 1 || size < 10 * first || first < 0) return false;
  return reading == Reading::range ? first < second && (first == 0 || second < size) : second > 0;
}

template <std::size_t I>
PyObject* draw(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  int warned = 0;
  const auto [name, reading] = kShapeFirst[I];
  if (count == 3 && PyLong_CheckExact(args[0]) && PyLong_CheckExact(args[2])) {
    if (reads_as_numpys(reading, args) && PyObject_Not(args[0]) == 1) {
      warned =
          PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                           "lento.random.%s(%S, %S, %S) is an empty tensor: the shape comes first. NumPy's call with "
                           "these numbers is lento.random.%s(%S, %S, %S)",
                           name, args[0], args[1], args[2], name, args[2], args[0], args[1]);
    } else if (reads_as_numpys(reading, args)) {
      warned = PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                                "lento.random.%s(%S, %S, %S) draws %S numbers: the shape comes first. NumPy's call "
                                "with these numbers is lento.random.%s(%S, %S, %S); this one is also written "
                                "lento.random.%s((%S,), %S, %S)",
                                name, args[0], args[1], args[2], args[0], name, args[2], args[0], args[1], name,
                                args[0], args[1], args[2]);
    }
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
  Export made[] = {find_export("lento", "where"),     find_export("Tensor", "repeat"),
                   find_export("Tensor", "view"),     find_export("lento", "around"),
                   find_export("lento", "transpose"), find_export("Tensor", "transpose")};
  where_of_three = std::exchange(made[0].function, where);
  repeat_method = std::exchange(made[1].function, repeat);
  view_method = std::exchange(made[2].function, view);
  transpose_to = std::exchange(made[4].function, transpose);
  made[5].function = transpose;
  swap_axes = find_export("lento", "swapaxes").function;
  made[3].name = "round";
  round_to_whole = find_export("lento", "round").function;
  round_to_decimals = std::exchange(made[3].function, round);
  add_functions(module, made);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    Export random[] = {find_export("random", kShapeFirst[I].name)...};
    ((drawn[I] = std::exchange(random[I].function, draw<I>)), ...);
    add_functions(module, random);
  }(std::make_index_sequence<kShapeFirstCount>());
  auto* type = reinterpret_cast<PyObject*>(tensor_type);
  const PyRef conjugate = own(PyObject_GetAttrString(type, "conj"));
  if (PyObject_SetAttrString(type, "conjugate", conjugate.get()) < 0) throw PythonError{};  // NumPy's other name
}

}  // namespace lento::python
