#include "array_api.h"

#include "arguments.h"
#include "convert.h"
#include "functions.h"
#include "gil.h"

#include <lento/tensor.h>

#include <algorithm>

namespace lento::python {
namespace {

// Each version of the standard holds the ones before it.
constexpr std::string_view kVersions[] = {"2021.12", "2022.12", "2023.12", "2024.12", "2025.12"};

Parameter namespace_parameters[] = {{"self", Kind::tensor}, {"api_version", Kind::string, kOptional | kKeywordOnly}};
Signature namespace_signature{"__array_namespace__", namespace_parameters};

PyObject* array_namespace(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(namespace_signature, self, args, count, names, [](const Arguments& a) {
    const auto version = a.optional_string(1);
    if (version && std::ranges::find(kVersions, *version) == std::end(kVersions)) {
      raise(PyExc_ValueError, "__array_namespace__(): there is no version %R of the Array API here; the newest is %s",
            a.object(1), kVersions[std::size(kVersions) - 1].data());
    }
    return checked(PyImport_ImportModule("lento"));
  });
}

Parameter to_device_parameters[] = {
    {"self", Kind::tensor},
    {"device", Kind::device},
    {"stream", Kind::integer, kOptional | kKeywordOnly},
};
Signature to_device_signature{"to_device", to_device_parameters};

PyObject* to_device_method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(to_device_signature, self, args, count, names, [](const Arguments& a) {
    if (a.optional_integer(2)) raise(PyExc_ValueError, "to_device(): no device here has streams; stream must be None");
    const Tensor held = a.tensor(0);
    const Device device = a.device(1);
    const MayBlock may_block;
    return wrap(to_device(held, device));
  });
}

const Export kExports[] = {
    {"Tensor", "__array_namespace__", array_namespace, "(self, /, *, api_version=None)",
     "The module lento: the functions of the Array API standard for tensors."},
    {"Tensor", "to_device", to_device_method, "(self, device, /, *, stream=None)",
     "The tensor's value on another device; the tensor itself when it is there already. Computes the value if it is "
     "pending."},
};

}  // namespace

void add_array_api(PyObject* module) { add_functions(module, kExports); }

}  // namespace lento::python
