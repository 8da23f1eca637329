#include "functions.h"
#include "python/functions.calls.gen.h"

#include "base/source.h"
#include "tensor_type.h"

#include "python/functions.gen.h"

#include <deque>
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

Export find_export(std::string_view name) {
  for (const std::span<const Export> exports : all_exports())
    for (const Export& entry : exports)
      if (entry.space == std::string_view("lento") && entry.name == name) return entry;
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
    const PyRef function = own(PyCFunction_NewEx(make_definition(entry, false), nullptr, home_name.get()));
    if (PyObject_SetAttrString(target.get(), entry.name, function.get()) < 0) throw PythonError{};
  }
}

void add_generated_functions(PyObject* module) {
  for (const std::span<const Export> exports : all_exports()) add_functions(module, exports);
  Export made = find_export("where");
  where_of_three = std::exchange(made.function, where);
  add_functions(module, std::span(&made, 1));
  auto* type = reinterpret_cast<PyObject*>(tensor_type);
  const PyRef conjugate = own(PyObject_GetAttrString(type, "conj"));
  if (PyObject_SetAttrString(type, "conjugate", conjugate.get()) < 0) throw PythonError{};  // NumPy's other name
}

}  // namespace lento::python
