// The number protocol of lento.Tensor. Everything here is on the path of every op from Python: exact type checks come
// first, then plain floats and ints, and only then the rest of the numbers.
#include "arguments.h"
#include "changes.h"
#include "convert.h"
#include "creation.h"
#include "python/operators.calls.gen.h"
#include "source.h"
#include "tensor_type.h"
#include "waiting.h"

#include <string_view>

namespace lento::python {
namespace {

using BinaryFunction = Tensor (*)(const Operand&, const Operand&);

PyObject* not_implemented() { return Py_NewRef(Py_NotImplemented); }

// The number that stands beside a tensor; false when `object` is no number.
inline bool number_of(PyObject* object, Scalar& number) {
  if (PyFloat_CheckExact(object)) {
    number = Scalar(PyFloat_AS_DOUBLE(object));
    return true;
  }
  const auto converted = to_scalar(object);
  if (converted) number = *converted;
  return converted.has_value();
}

// `x + a` and `a + x` with a NumPy array: the array becomes a tensor beside the tensor, never the other way round.
Tensor beside(const Tensor& x, PyObject* array) { return as_tensor(array, std::nullopt, x.device()); }

// What errors call the operation.
template <BinaryFunction function>
constexpr const char* kName = "assign";
template <>
constexpr const char* kName<&lento::add> = "add";
template <>
constexpr const char* kName<&lento::subtract> = "subtract";
template <>
constexpr const char* kName<&lento::multiply> = "multiply";
template <>
constexpr const char* kName<&lento::divide> = "divide";
template <>
constexpr const char* kName<&lento::floor_divide> = "floor_divide";
template <>
constexpr const char* kName<&lento::remainder> = "remainder";
template <>
constexpr const char* kName<&lento::pow> = "pow";
template <>
constexpr const char* kName<&lento::equal> = "equal";
template <>
constexpr const char* kName<&lento::not_equal> = "not_equal";
template <>
constexpr const char* kName<&lento::less> = "less";
template <>
constexpr const char* kName<&lento::less_equal> = "less_equal";
template <>
constexpr const char* kName<&lento::greater> = "greater";
template <>
constexpr const char* kName<&lento::greater_equal> = "greater_equal";
template <>
constexpr const char* kName<&lento::bitwise_and> = "bitwise_and";
template <>
constexpr const char* kName<&lento::bitwise_or> = "bitwise_or";
template <>
constexpr const char* kName<&lento::bitwise_xor> = "bitwise_xor";
template <>
constexpr const char* kName<&lento::bitwise_left_shift> = "bitwise_left_shift";
template <>
constexpr const char* kName<&lento::bitwise_right_shift> = "bitwise_right_shift";

template <BinaryFunction function>
PyObject* binary_with_array(PyObject* left, PyObject* right, const Source& source) {
  const bool tensor_first = is_tensor(left);
  PyObject* array = tensor_first ? right : left;
  if (!is_numpy_array(array)) return not_implemented();
  const SourceScope scope(source);
  const Tensor& x = tensor_of(tensor_first ? left : right);
  const Tensor other = beside(x, array);
  const Operand mine(x, source.unit, source.position);
  const Operand theirs(other, source.unit, source.position);
  return wrap(tensor_first ? function(mine, theirs) : function(theirs, mine));
}

template <BinaryFunction function>
PyObject* binary(PyObject* left, PyObject* right) noexcept {
  try {
    const Source source = current_source();
    before_recording(kName<function>, source, left, right);
    if (is_tensor(left)) {
      const Operand x(tensor_of(left), source.unit, source.position);
      if (is_tensor(right)) return wrap(function(x, Operand(tensor_of(right), source.unit, source.position)));
      Scalar number;
      if (!number_of(right, number)) return binary_with_array<function>(left, right, source);
      return wrap(function(x, Operand(number, source.unit, source.position)));
    }
    Scalar number;
    if (!number_of(left, number)) return binary_with_array<function>(left, right, source);
    return wrap(function(Operand(number, source.unit, source.position),
                         Operand(tensor_of(right), source.unit, source.position)));
  } catch (...) {
    return set_exception();
  }
}

// x op= y: the same object with a new value of the same shape and dtype (clause T6).
template <BinaryFunction function>
PyObject* in_place(PyObject* self, PyObject* other) noexcept {
  try {
    const Source source = current_source();
    before_recording(kName<function>, source, self, other);
    Tensor& x = tensor_of(self);
    const Operand left(x, source.unit, source.position);
    Tensor result;
    if (is_tensor(other)) {
      result = function(left, Operand(tensor_of(other), source.unit, source.position));
    } else {
      Scalar number;
      if (number_of(other, number)) {
        result = function(left, Operand(number, source.unit, source.position));
      } else if (is_numpy_array(other)) {
        const SourceScope scope(source);
        const Tensor array = beside(x, other);
        result = function(left, Operand(array, source.unit, source.position));
      } else {
        return not_implemented();
      }
    }
    note_change(self);
    // Shapes are interned: equal ones have one address.
    if (result.dtype() == x.dtype() && &result.shape() == &x.shape()) {
      x = std::move(result);
    } else {
      const SourceScope scope(source);
      x.assign(result, kName<function>);
    }
    return Py_NewRef(self);
  } catch (...) {
    return set_exception();
  }
}

template <class F>
PyObject* recorded(F&& body, const char* op = "", PyObject* first = nullptr, PyObject* second = nullptr) noexcept {
  try {
    const Source line = current_source();
    const SourceScope source(line);
    if (first != nullptr) before_recording(op, line, first, second);
    return body();
  } catch (...) {
    return set_exception();
  }
}

PyObject* power(PyObject* base, PyObject* exponent, PyObject* modulus) noexcept {
  if (modulus != Py_None) return not_implemented();
  return binary<&lento::pow>(base, exponent);
}

PyObject* power_in_place(PyObject* base, PyObject* exponent, PyObject* modulus) noexcept {
  if (modulus != Py_None) return not_implemented();
  return in_place<&lento::pow>(base, exponent);
}

PyObject* matmul(PyObject* left, PyObject* right) noexcept {
  return recorded(
      [&]() -> PyObject* {
        if (is_tensor(left) && is_tensor(right)) return wrap(lento::matmul(tensor_of(left), tensor_of(right)));
        if (is_tensor(left) && is_numpy_array(right))
          return wrap(lento::matmul(tensor_of(left), beside(tensor_of(left), right)));
        if (is_tensor(right) && is_numpy_array(left))
          return wrap(lento::matmul(beside(tensor_of(right), left), tensor_of(right)));
        return not_implemented();
      },
      "matmul", left, right);
}

PyObject* matmul_in_place(PyObject* self, PyObject* other) noexcept {
  return recorded(
      [&]() -> PyObject* {
        if (!is_tensor(other) && !is_numpy_array(other)) return not_implemented();
        const Tensor factor = is_tensor(other) ? tensor_of(other) : beside(tensor_of(self), other);
        note_change(self);
        tensor_of(self).assign(lento::matmul(tensor_of(self), factor));
        return Py_NewRef(self);
      },
      "matmul", self, other);
}

PyObject* divmod(PyObject* left, PyObject* right) noexcept {
  PyObject* quotient = binary<&lento::floor_divide>(left, right);
  if (quotient == nullptr || quotient == Py_NotImplemented) return quotient;
  PyObject* remainder = binary<&lento::remainder>(left, right);
  PyObject* both = remainder == nullptr ? nullptr : PyTuple_Pack(2, quotient, remainder);
  Py_DECREF(quotient);
  Py_XDECREF(remainder);
  return both;
}

PyObject* negative(PyObject* x) noexcept {
  return recorded([&] { return wrap(lento::negative(tensor_of(x))); }, "negative", x);
}
PyObject* positive(PyObject* x) noexcept {
  return recorded([&] { return wrap(Tensor(tensor_of(x))); });
}
PyObject* absolute(PyObject* x) noexcept {
  return recorded([&] { return wrap(lento::abs(tensor_of(x))); }, "abs", x);
}
PyObject* invert(PyObject* x) noexcept {
  return recorded([&] { return wrap(lento::bitwise_invert(tensor_of(x))); }, "bitwise_invert", x);
}

PyObject* compare(PyObject* left, PyObject* right, int operation) noexcept {
  switch (operation) {
    case Py_EQ:
      return binary<&lento::equal>(left, right);
    case Py_NE:
      return binary<&lento::not_equal>(left, right);
    case Py_LT:
      return binary<&lento::less>(left, right);
    case Py_LE:
      return binary<&lento::less_equal>(left, right);
    case Py_GT:
      return binary<&lento::greater>(left, right);
    case Py_GE:
      return binary<&lento::greater_equal>(left, right);
    default:
      return not_implemented();
  }
}

// --- one element as a Python number ---

Scalar one_element(PyObject* self, const char* target) {
  const Tensor& x = tensor_of(self);
  if (x.size() != 1) {
    const PyRef shape = own(from_ints(x.shape()));
    raise(PyExc_TypeError, "only a tensor of one element can be converted to %s, not one of shape %S", target,
          shape.get());
  }
  return read_scalar(x);
}

int truth(PyObject* self) noexcept {
  try {
    const PythonSourceScope source;
    const Tensor& x = tensor_of(self);
    if (x.size() != 1) {
      const PyRef shape = own(from_ints(x.shape()));
      raise(PyExc_ValueError, "the truth value of a tensor of shape %S is ambiguous; use any() or all()", shape.get());
    }
    return read_scalar(x).to<bool>() ? 1 : 0;
  } catch (...) {
    set_exception();
    return -1;
  }
}

PyObject* as_int(PyObject* self) noexcept {
  return recorded([&]() -> PyObject* {
    const Scalar number = one_element(self, "int");
    if (number.is_complex()) raise(PyExc_TypeError, "a complex tensor cannot be converted to int; use .real");
    if (number.is_floating()) return checked(PyLong_FromDouble(number.to<double>()));
    const PyRef plain = own(from_scalar(number));
    return checked(PyNumber_Long(plain.get()));
  });
}

PyObject* as_float(PyObject* self) noexcept {
  return recorded([&]() -> PyObject* {
    const Scalar number = one_element(self, "float");
    if (number.is_complex()) raise(PyExc_TypeError, "a complex tensor cannot be converted to float; use .real");
    return checked(PyFloat_FromDouble(number.to<double>()));
  });
}

PyObject* as_index(PyObject* self) noexcept {
  return recorded([&]() -> PyObject* {
    const Tensor& x = tensor_of(self);
    if (!is_integer(x.dtype()) || x.rank() != 0) {
      raise(PyExc_TypeError,
            "only a 0-d integer tensor can be used as an index, or to repeat a list; to compute with "
            "the list, make it a tensor with lento.asarray");
    }
    return checked(from_scalar(read_scalar(x)));
  });
}

template <class F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}

const PyType_Slot kSlots[] = {
    {Py_nb_add, slot(binary<&lento::add>)},
    {Py_nb_subtract, slot(binary<&lento::subtract>)},
    {Py_nb_multiply, slot(binary<&lento::multiply>)},
    {Py_nb_true_divide, slot(binary<&lento::divide>)},
    {Py_nb_floor_divide, slot(binary<&lento::floor_divide>)},
    {Py_nb_remainder, slot(binary<&lento::remainder>)},
    {Py_nb_divmod, slot(divmod)},
    {Py_nb_power, slot(power)},
    {Py_nb_and, slot(binary<&lento::bitwise_and>)},
    {Py_nb_or, slot(binary<&lento::bitwise_or>)},
    {Py_nb_xor, slot(binary<&lento::bitwise_xor>)},
    {Py_nb_lshift, slot(binary<&lento::bitwise_left_shift>)},
    {Py_nb_rshift, slot(binary<&lento::bitwise_right_shift>)},
    {Py_nb_matrix_multiply, slot(matmul)},
    {Py_nb_inplace_add, slot(in_place<&lento::add>)},
    {Py_nb_inplace_subtract, slot(in_place<&lento::subtract>)},
    {Py_nb_inplace_multiply, slot(in_place<&lento::multiply>)},
    {Py_nb_inplace_true_divide, slot(in_place<&lento::divide>)},
    {Py_nb_inplace_floor_divide, slot(in_place<&lento::floor_divide>)},
    {Py_nb_inplace_remainder, slot(in_place<&lento::remainder>)},
    {Py_nb_inplace_power, slot(power_in_place)},
    {Py_nb_inplace_and, slot(in_place<&lento::bitwise_and>)},
    {Py_nb_inplace_or, slot(in_place<&lento::bitwise_or>)},
    {Py_nb_inplace_xor, slot(in_place<&lento::bitwise_xor>)},
    {Py_nb_inplace_lshift, slot(in_place<&lento::bitwise_left_shift>)},
    {Py_nb_inplace_rshift, slot(in_place<&lento::bitwise_right_shift>)},
    {Py_nb_inplace_matrix_multiply, slot(matmul_in_place)},
    {Py_nb_negative, slot(negative)},
    {Py_nb_positive, slot(positive)},
    {Py_nb_absolute, slot(absolute)},
    {Py_nb_invert, slot(invert)},
    {Py_nb_bool, slot(truth)},
    {Py_nb_int, slot(as_int)},
    {Py_nb_float, slot(as_float)},
    {Py_nb_index, slot(as_index)},
    {Py_tp_richcompare, slot(compare)},
};

}  // namespace

std::span<const PyType_Slot> operator_slots() { return kSlots; }

}  // namespace lento::python
