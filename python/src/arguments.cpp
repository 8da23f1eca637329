#include "arguments.h"

#include "classes.h"
#include "convert.h"
#include "creation.h"
#include "host_array.h"
#include "items.h"
#include "recorded_call.h"
#include "tensor_type.h"

#include <lento/differentiation.h>

#include <limits>
#include <string>
#include <string_view>

namespace lento::python {
bool is_int(PyObject* object) { return PyIndex_Check(object) != 0 && !PyBool_Check(object) && !is_tensor(object); }

namespace {

bool starts_with_shape(const Signature& signature) {
  const Parameter& first = signature.parameters[0];
  return first.kind == Kind::integers && first.name == std::string_view("shape");
}

bool could_be_shape(PyObject* object) {
  if (!is_list_or_tuple(object)) return false;
  const Items items(object);
  for (Py_ssize_t i = 0; i < items.size(); ++i) {
    if (!is_int(items[i].get())) return false;
  }
  return true;
}

/// What to write where a function of the same name takes more in NumPy or PyTorch; else nothing.
std::string hint_for_type(const Signature& signature, const Parameter& parameter, PyObject* object) {
  const std::string_view function = signature.name;
  const std::string_view name = parameter.name;
  const bool of_two = name == "axis" && (is_tensor(object) || is_numpy_array(object) || PyFloat_Check(object));
  if (of_two && (function == "max" || function == "min"))
    return std::string("; of two tensors it is lento.") + signature.name + "imum(x, y)";
  if (name == "sections" && is_list_or_tuple(object)) {
    return "; cut at positions, as NumPy does, with lento.split_at(x, positions, axis), or into parts of given sizes, "
           "as PyTorch does, with lento.split_with_sizes(x, sizes, axis)";
  }
  if (PySlice_Check(object)) return "; write lento.arange(start, stop, step) for a slice";
  return {};
}

// An iterable that is meant as a list of arguments: list, tuple, range; not a str, not a Tensor, not a dict.
PyRef as_sequence(PyObject* object) {
  if (is_list_or_tuple(object)) return PyRef::borrow(object);
  if (PyUnicode_Check(object) || PyBytes_Check(object) || PyDict_Check(object) || is_tensor(object)) return {};
  if (!PySequence_Check(object) && Py_TYPE(object)->tp_iter == nullptr) return {};
  PyRef list(PySequence_List(object));
  if (!list) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError{};
    PyErr_Clear();  // a 0-d NumPy array has tp_iter and refuses
  }
  return list;
}

}  // namespace

void Arguments::wrong_type(std::size_t index, const char* expected) const {
  const Parameter& parameter = signature_->parameters[index];
  PyObject* object = slots_[index];
  const bool shape_is_spread = parameter.kind == Kind::dtype && is_int(object) && starts_with_shape(*signature_) &&
                               slots_[0] != nullptr && is_int(slots_[0]);
  std::string hint = hint_for_type(*signature_, parameter, object);
  if (shape_is_spread) hint = "; the shape is one argument, a tuple";
  if (shape_comes_late(index)) {
    if (parameter.kind == Kind::operand) {
      hint = std::string("; the shape is the first argument, and after one that is no list or tuple (here ") +
             Py_TYPE(slots_[0])->tp_name + ") a list is given by name: " + parameter.name + "=…";
    } else if (!as_sequence(slots_[0])) {
      hint = "; the shape is the first argument";
    }
  }
  raise(PyExc_TypeError, "%s(): argument '%s' must be %s%s, not %s%s", signature_->name, parameter.name, expected,
        (parameter.flags & kOptional) != 0 ? " or None" : "", object == Py_None ? "None" : Py_TYPE(object)->tp_name,
        hint.c_str());
}

void Arguments::wrong_element(std::size_t index, const char* expected, PyObject* element, Py_ssize_t at) const {
  raise(PyExc_TypeError, "%s(): argument '%s' must be %s, but element %zd is %s", signature_->name,
        signature_->parameters[index].name, expected, at, Py_TYPE(element)->tp_name);
}

bool Arguments::shape_comes_late(std::size_t index) const {
  const bool is_random = starts_with_shape(*signature_) && signature_->parameters.back().kind == Kind::generator;
  return is_random && index != 0 && index < positional_ && !is_list_or_tuple(slots_[0]) &&
         could_be_shape(slots_[index]);
}

bool Arguments::convert_array(std::size_t index) const {
  PyObject* object = slots_[index];
  if (is_numpy_array(object)) {
    slots_[index] = converted_.emplace_back(wrap(as_tensor(object))).get();
    return true;
  }
  // normal(0, 1, (3,)) must not be no numbers at all, of three deviations.
  if ((!is_list_or_range(object) && !to_scalar(object)) || shape_comes_late(index)) return false;
  std::optional<DType> beside;
  for (std::size_t i = 0; i < signature_->parameters.size(); ++i) {
    const Kind kind = signature_->parameters[i].kind;
    if (slots_[i] == nullptr || (kind != Kind::tensor && kind != Kind::operand)) continue;
    if (is_numpy_array(slots_[i])) convert_array(i);
    if (!is_tensor(slots_[i])) continue;
    const DType dtype = tensor_of(slots_[i]).dtype();
    beside = beside ? promote(*beside, dtype) : dtype;
  }
  slots_[index] = converted_.emplace_back(wrap(plain_as_tensor(object, beside))).get();
  return true;
}

const Tensor& Arguments::tensor(std::size_t index) const {
  if (!is_tensor(slots_[index]) && !convert_array(index)) wrong_type(index, "Tensor");
  return tensor_of(slots_[index]);
}

std::optional<Tensor> Arguments::optional_tensor(std::size_t index) const {
  if (absent_or_none(index)) return std::nullopt;
  return tensor(index);
}

std::vector<Tensor> Arguments::tensors(std::size_t index) const {
  std::vector<Tensor> result;
  std::optional<DType> beside;
  std::vector<std::pair<std::size_t, PyRef>> plain;  // lists and numbers, with their places
  const auto add = [&](PyRef item) {
    if (is_tensor(item.get()) || is_numpy_array(item.get())) {
      result.push_back(is_tensor(item.get()) ? tensor_of(item.get()) : as_tensor(item.get()));
      beside = beside ? promote(*beside, result.back().dtype()) : result.back().dtype();
      return true;
    }
    if (!is_list_or_range(item.get()) && !to_scalar(item.get())) return false;
    plain.emplace_back(result.size(), std::move(item));
    result.emplace_back();
    return true;
  };
  if (rest_index_ == index) {
    for (PyObject* item : rest_) add(PyRef::borrow(item));
  } else if (!absent(index)) {
    const PyRef sequence = as_sequence(slots_[index]);
    if (!sequence) wrong_type(index, "a sequence of tensors");
    const Items items(sequence.get());
    for (Py_ssize_t i = 0; i < items.size(); ++i) {
      if (!add(items[i])) wrong_element(index, "a sequence of tensors", items[i].get(), i);
    }
  }
  for (const auto& [at, object] : plain) result[at] = plain_as_tensor(object.get(), beside);
  return result;
}

std::optional<std::vector<Tensor>> Arguments::optional_tensors(std::size_t index) const {
  if (absent_or_none(index)) return std::nullopt;
  return tensors(index);
}

Operand Arguments::operand(std::size_t index) const {
  if (is_tensor(slots_[index])) return Operand(tensor_of(slots_[index]));
  if (const auto scalar = to_scalar(slots_[index])) return Operand(*scalar);
  if (convert_array(index)) return Operand(tensor_of(slots_[index]));
  wrong_type(index, "Tensor or a number");
}

Operand Arguments::operand(std::size_t index, const Scalar& fallback) const {
  return absent(index) ? Operand(fallback) : operand(index);
}

std::optional<Operand> Arguments::optional_operand(std::size_t index) const {
  if (absent_or_none(index)) return std::nullopt;
  return operand(index);
}

Scalar Arguments::number(std::size_t index) const {
  // Its operands are the start and the step, and how many there are is not seen.
  if (is_host_number(slots_[index]) && std::string_view(signature_->name) == "arange")
    refuse_recorded_call("arange() is given a number from lento.host_number");
  if (const auto scalar = to_scalar(slots_[index])) return *scalar;
  if (is_tensor(slots_[index])) {
    const Tensor& tensor = tensor_of(slots_[index]);
    if (is_differentiated(tensor)) {
      raise(PyExc_ValueError,
            "%s(): argument '%s' is a plain number, which has no derivative, and the tensor given for it is being "
            "differentiated; write stop_gradient(x) or x.item() if it is meant as a constant",
            signature_->name, signature_->parameters[index].name);
    }
    if (tensor.size() == 1) return read_scalar(tensor);
    const PyRef shape = own(from_ints(tensor.shape()));
    raise(PyExc_TypeError, "%s(): argument '%s' must be a number, not a tensor of shape %S", signature_->name,
          signature_->parameters[index].name, shape.get());
  }
  wrong_type(index, "a number");
}

Scalar Arguments::number(std::size_t index, const Scalar& fallback) const {
  return absent(index) ? fallback : number(index);
}

std::optional<Scalar> Arguments::optional_number(std::size_t index, std::optional<Scalar> fallback) const {
  if (absent(index)) return fallback;
  if (slots_[index] == Py_None) return std::nullopt;
  return number(index);
}

std::vector<Scalar> Arguments::numbers(std::size_t index) const {
  std::vector<Scalar> result;
  if (const auto scalar = to_scalar(slots_[index])) return {*scalar};
  const PyRef sequence = as_sequence(slots_[index]);
  if (!sequence) wrong_type(index, "a number or a sequence of numbers");
  const Items items(sequence.get());
  for (Py_ssize_t i = 0; i < items.size(); ++i) {
    const PyRef item = items[i];
    if (const auto scalar = to_scalar(item.get())) {
      result.push_back(*scalar);
      continue;
    }
    // Pairs, as in range=((0, 1), (-1, 1)), are taken one after the other.
    if (!is_list_or_tuple(item.get())) wrong_element(index, "a sequence of numbers", item.get(), i);
    const Items pair(item.get());
    for (Py_ssize_t j = 0; j < pair.size(); ++j) {
      const auto scalar = to_scalar(pair[j].get());
      if (!scalar) wrong_element(index, "a sequence of numbers", item.get(), i);
      result.push_back(*scalar);
    }
  }
  return result;
}

std::vector<Scalar> Arguments::numbers(std::size_t index, std::vector<Scalar> fallback) const {
  return absent(index) ? std::move(fallback) : numbers(index);
}

std::optional<std::vector<Scalar>> Arguments::optional_numbers(std::size_t index) const {
  if (absent_or_none(index)) return std::nullopt;
  return numbers(index);
}

std::int64_t Arguments::integer(std::size_t index) const {
  if (const auto value = to_int(slots_[index])) return *value;
  wrong_type(index, "int");
}

std::int64_t Arguments::integer(std::size_t index, std::int64_t fallback) const {
  return absent(index) ? fallback : integer(index);
}

std::optional<std::int64_t> Arguments::optional_integer(std::size_t index, std::optional<std::int64_t> fallback) const {
  if (absent(index)) return fallback;
  if (slots_[index] == Py_None) return std::nullopt;
  return integer(index);
}

std::int64_t Arguments::offset(std::size_t index) const {
  PyObject* object = slots_[index];
  if (PyLong_Check(object) == 0 || PyBool_Check(object)) return integer(index);
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) return value;
  return overflow < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

std::int64_t Arguments::offset(std::size_t index, std::int64_t fallback) const {
  return absent(index) ? fallback : offset(index);
}

Ints Arguments::integers(std::size_t index) const {
  Ints result;
  if (rest_index_ == index) {
    for (PyObject* item : rest_) {
      const auto value = to_int(item);
      if (!value) wrong_element(index, "ints", item, static_cast<Py_ssize_t>(result.size()));
      result.push_back(*value);
    }
    return result;
  }
  if (const auto value = to_int(slots_[index])) return {*value};
  const PyRef sequence = as_sequence(slots_[index]);
  if (!sequence) wrong_type(index, "int or a sequence of ints");
  const Items items(sequence.get());
  for (Py_ssize_t i = 0; i < items.size(); ++i) {
    const PyRef item = items[i];
    if (const auto value = to_int(item.get())) {
      result.push_back(*value);
      continue;
    }
    // Pairs, as in pad_width=((1, 2), (3, 4)) and axes=((0, 1), (1, 0)), are taken one after the other.
    if (!is_list_or_tuple(item.get())) wrong_element(index, "a sequence of ints", item.get(), i);
    const Items pair(item.get());
    for (Py_ssize_t j = 0; j < pair.size(); ++j) {
      const auto value = to_int(pair[j].get());
      if (!value) wrong_element(index, "a sequence of ints", item.get(), i);
      result.push_back(*value);
    }
  }
  return result;
}

Ints Arguments::integers(std::size_t index, Ints fallback) const { return absent(index) ? fallback : integers(index); }

OptionalInts Arguments::optional_integers(std::size_t index, OptionalInts fallback) const {
  if (absent(index)) return fallback;
  if (slots_[index] == Py_None) return std::nullopt;
  return integers(index);
}

double Arguments::real(std::size_t index) const {
  const auto scalar = to_scalar(slots_[index]);
  if (!scalar || scalar->is_bool() || scalar->is_complex()) wrong_type(index, "float");
  return scalar->to<double>();
}

double Arguments::real(std::size_t index, double fallback) const { return absent(index) ? fallback : real(index); }

std::optional<double> Arguments::optional_real(std::size_t index, std::optional<double> fallback) const {
  if (absent(index)) return fallback;
  if (slots_[index] == Py_None) return std::nullopt;
  return real(index);
}

bool Arguments::boolean(std::size_t index) const {
  PyObject* object = slots_[index];
  if (PyBool_Check(object)) return object == Py_True;
  const auto scalar = to_scalar(object);  // np.True_
  if (!scalar || !scalar->is_bool()) wrong_type(index, "bool");
  return scalar->to<bool>();
}

bool Arguments::boolean(std::size_t index, bool fallback) const { return absent(index) ? fallback : boolean(index); }

std::optional<bool> Arguments::optional_boolean(std::size_t index, std::optional<bool> fallback) const {
  if (absent(index)) return fallback;
  if (slots_[index] == Py_None) return std::nullopt;
  return boolean(index);
}

DType Arguments::dtype(std::size_t index) const {
  if (const auto dtype = to_dtype(slots_[index])) return *dtype;
  wrong_type(index, "a dtype");
}

DType Arguments::dtype(std::size_t index, DType fallback) const { return absent(index) ? fallback : dtype(index); }

std::optional<DType> Arguments::optional_dtype(std::size_t index, std::optional<DType> fallback) const {
  if (absent(index)) return fallback;
  if (slots_[index] == Py_None) return std::nullopt;
  return dtype(index);
}

Device Arguments::device(std::size_t index) const {
  try {
    if (const auto device = to_device(slots_[index])) return *device;
  } catch (const DeviceError& error) {
    raise(exception_class(ErrorKind::device), "%s: %s", signature_->name, error.what());
  }
  wrong_type(index, "Device or str");
}

std::optional<Device> Arguments::optional_device(std::size_t index) const {
  if (absent_or_none(index)) return std::nullopt;
  return device(index);
}

std::string_view Arguments::string(std::size_t index) const {
  if (const auto text = to_string_view(slots_[index])) return *text;
  // The order of a norm is a name or a number: matrix_norm(x, ord=1).
  const auto number = to_scalar(slots_[index]);
  if (!number || number->is_bool() || number->is_complex()) wrong_type(index, "str");
  thread_local std::string text;  // outlives the call that asked
  text = number->to_string();
  return text;
}

std::string_view Arguments::string(std::size_t index, std::string_view fallback) const {
  return absent(index) ? fallback : string(index);
}

std::optional<std::string_view> Arguments::optional_string(std::size_t index,
                                                           std::optional<std::string_view> fallback) const {
  if (absent(index)) return fallback;
  if (slots_[index] == Py_None) return std::nullopt;
  return string(index);
}

Generator* Arguments::generator(std::size_t index) const {
  if (absent_or_none(index)) return nullptr;
  if (Generator* generator = generator_value(slots_[index])) return generator;
  wrong_type(index, "Generator");
}

}  // namespace lento::python
