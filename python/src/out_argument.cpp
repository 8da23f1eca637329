// NumPy's out= and where=, which every function takes: the result becomes the value of a tensor that is there already.
#include "arguments.h"
#include "changes.h"
#include "creation.h"
#include "python/out_argument.calls.gen.h"
#include "tensor_type.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace lento::python {
namespace {

bool is_named(PyObject* name, const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }

bool has_parameter(const Signature& signature, std::string_view name) {
  return std::ranges::any_of(signature.parameters, [&](const Parameter& parameter) { return parameter.name == name; });
}

/// What a reduction of the elements under a mask is.
const char* instead_of_where(std::string_view function) {
  constexpr std::pair<std::string_view, const char*> kInstead[] = {
      {"sum", "lento.sum(lento.where(mask, x, 0), axis)"},
      {"prod", "lento.prod(lento.where(mask, x, 1), axis)"},
      {"max", "lento.max(lento.where(mask, x, -lento.inf), axis)"},
      {"min", "lento.min(lento.where(mask, x, lento.inf), axis)"},
      {"any", "lento.any(lento.where(mask, x, False), axis)"},
      {"all", "lento.all(lento.where(mask, x, True), axis)"},
      {"mean", "lento.sum(lento.where(mask, x, 0), axis) / lento.sum(mask, axis)"},
      {"std", "lento.nanstd(lento.where(mask, x, lento.nan), axis)"},
      {"var", "lento.nanvar(lento.where(mask, x, lento.nan), axis)"},
  };
  const auto* found = std::ranges::find(kInstead, function, [](const auto& entry) { return entry.first; });
  return found == std::end(kInstead) ? "lento.where(mask, x, v) instead of x, with a v that changes nothing"
                                     : found->second;
}

}  // namespace

bool Arguments::take_numpy_keyword(PyObject* name, PyObject* value) {
  if (is_named(name, "out")) {
    // NumPy's ufuncs take a tuple as well, with one tensor for each result.
    const bool alone = PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 1;
    out_ = alone ? PyTuple_GET_ITEM(value, 0) : value;
    if (out_ == Py_None) out_ = nullptr;
    return true;
  }
  if (!is_named(name, "where")) return false;
  where_ = value == Py_True ? nullptr : value;
  return true;
}

bool Arguments::check_out() {
  const char* function = signature_->name;
  if (where_ != nullptr && (has_parameter(*signature_, "axis") || has_parameter(*signature_, "keepdims"))) {
    PyErr_Format(PyExc_TypeError, "%s() takes no where= here; write %s", function, instead_of_where(function));
    return false;
  }
  if (where_ != nullptr && out_ == nullptr) {
    PyErr_Format(PyExc_TypeError,
                 "%s() takes where= only beside out=, which has the other elements; write lento.where(mask, %s(...), "
                 "other)",
                 function, function);
    return false;
  }
  if (out_ != nullptr && !is_tensor(out_)) {
    PyErr_Format(PyExc_TypeError, "%s(): out= must be a Tensor, not %s; write y = lento.%s(...)", function,
                 Py_TYPE(out_)->tp_name, function);
    return false;
  }
  return true;
}

PyObject* into_out(const Arguments& arguments, PyRef result) {
  const char* function = arguments.signature().name;
  checked(result.get());
  if (!is_tensor(result.get())) {
    raise(PyExc_TypeError, "%s(): out= is for functions with one result, which is a tensor; write y = lento.%s(...)",
          function, function);
  }
  Tensor& x = tensor_of(arguments.out());
  Tensor value = tensor_of(result.get());
  if (arguments.where() != nullptr) value = lento::where(as_tensor(arguments.where()), value, x);
  note_change(arguments.out());
  x.assign(value, function);
  return Py_NewRef(arguments.out());
}

}  // namespace lento::python
