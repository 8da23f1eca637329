// Several results of a bound function as one Python object (arguments.h declares it).
#include "arguments.h"
#include "convert.h"

#include <string>

namespace lento::python {
namespace {

PyRef tuple_of(std::span<Tensor> tensors) {
  PyRef tuple = own(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(wrap(std::move(tensors[i]))));
  }
  return tuple;
}

/// namedtuple is Python's own; C struct sequences have neither _fields nor _replace.
PyObject* make_named_tuple(const Signature& signature) {
  const PyRef fields = own(PyList_New(0));
  for (const char* name : signature.results) {
    const PyRef text = own(PyUnicode_FromString(name));
    if (PyList_Append(fields.get(), text.get()) < 0) throw PythonError{};
  }
  const PyRef collections = own(PyImport_ImportModule("collections"));
  const std::string type_name = std::string(signature.name) + "_result";
  return checked(PyObject_CallMethod(collections.get(), "namedtuple", "sO", type_name.c_str(), fields.get()));
}

}  // namespace

PyObject* wrap(std::vector<Tensor> tensors) { return tuple_of(tensors).release(); }

PyObject* wrap_results(Signature& signature, std::span<Tensor> tensors) {
  if (signature.result_type == nullptr) signature.result_type = make_named_tuple(signature);
  return checked(PyObject_CallObject(signature.result_type, tuple_of(tensors).get()));
}

}  // namespace lento::python
