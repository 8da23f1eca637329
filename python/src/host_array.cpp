#include "host_array.h"

#include "convert.h"
#include "items.h"
#include "recorded_call.h"
#include "tensor_type.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <limits>
#include <memory>
#include <string>

namespace lento::python {
namespace {

// An element of a struct-module format string, as the buffer protocol gives it: "<f", "Zd", "?".
struct Format {
  DType dtype;
  bool swapped;
};

std::optional<DType> dtype_of_code(std::string_view code, std::size_t itemsize) {
  if (code == "?") return DType::bool_;
  if (code == "e") return DType::float16;
  if (code == "f") return DType::float32;
  if (code == "d") return DType::float64;
  if (code == "Zf") return DType::complex64;
  if (code == "Zd") return DType::complex128;
  if (code.size() != 1) return std::nullopt;
  // "l" has 4 or 8 bytes depending on the prefix: the item size decides.
  const bool is_signed = std::string_view("bhilqn").find(code) != std::string_view::npos;
  const bool is_unsigned = std::string_view("BHILQN").find(code) != std::string_view::npos;
  if (!is_signed && !is_unsigned) return std::nullopt;
  switch (itemsize) {
    case 1:
      return is_signed ? DType::int8 : DType::uint8;
    case 2:
      return is_signed ? DType::int16 : DType::uint16;
    case 4:
      return is_signed ? DType::int32 : DType::uint32;
    case 8:
      return is_signed ? DType::int64 : DType::uint64;
    default:
      return std::nullopt;
  }
}

std::optional<Format> parse_format(const char* format, std::size_t itemsize) {
  std::string_view code = format == nullptr ? "B" : format;
  bool swapped = false;
  if (!code.empty() && std::string_view("@=<>!").find(code.front()) != std::string_view::npos) {
    const bool big = code.front() == '>' || code.front() == '!';
    const bool little = code.front() == '<';
    swapped = itemsize > 1 && ((big && std::endian::native == std::endian::little) ||
                               (little && std::endian::native == std::endian::big));
    code.remove_prefix(1);
  }
  const auto dtype = dtype_of_code(code, itemsize);
  if (!dtype) return std::nullopt;
  return Format{*dtype, swapped};
}

Ints ints_from(PyObject* tuple) {
  Ints result;
  const Py_ssize_t size = PyTuple_Size(tuple);
  for (Py_ssize_t i = 0; i < size; ++i) {
    const PyRef item = PyRef::borrow(PyTuple_GET_ITEM(tuple, i));
    result.push_back(PyLong_AsLongLong(item.get()));
  }
  if (PyErr_Occurred() != nullptr) throw PythonError{};
  return result;
}

/// True when an array that is read-only is no view of memory that somebody may still write.
bool nobody_writes(PyObject* array) {
  PyRef owner = own(PyObject_GetAttrString(array, "base"));
  while (is_numpy_array(owner.get())) {
    const PyRef flags = own(PyObject_GetAttrString(owner.get(), "flags"));
    const PyRef writeable = own(PyObject_GetAttrString(flags.get(), "writeable"));
    if (writeable.get() != Py_False) return false;
    owner = own(PyObject_GetAttrString(owner.get(), "base"));
  }
  return owner.get() == Py_None || PyBytes_Check(owner.get());
}

// NumPy's own description, because its buffer protocol refuses bfloat16.
HostArray from_numpy(PyObject* object) {
  if (PyObject_HasAttrString(object, "mask") != 0 && PyObject_HasAttrString(object, "fill_value") != 0) {
    raise(PyExc_TypeError, "asarray(): masked arrays have no meaning here; use .filled() or .data");
  }
  HostArray array;
  const PyRef dtype = own(PyObject_GetAttrString(object, "dtype"));
  const auto element = to_dtype(dtype.get());
  if (!element) raise(PyExc_TypeError, "asarray(): %R is no dtype of an array", dtype.get());
  array.dtype = *element;
  const PyRef interface = own(PyObject_GetAttrString(object, "__array_interface__"));
  // A subclass may say what it likes, and change the dict while it is asked.
  const auto entry = [&](const char* name) {
    return PyRef::borrow(PyDict_Check(interface.get()) ? PyDict_GetItemString(interface.get(), name) : nullptr);
  };
  const PyRef shape = entry("shape");
  const PyRef strides = entry("strides");
  const PyRef data = entry("data");
  const bool well_formed = shape && PyTuple_Check(shape.get()) && data && PyTuple_Check(data.get()) &&
                           PyTuple_GET_SIZE(data.get()) == 2 && PyLong_Check(PyTuple_GET_ITEM(data.get(), 0));
  if (!well_formed) raise(PyExc_TypeError, "asarray(): malformed __array_interface__");
  array.shape = ints_from(shape.get());
  const bool has_strides = strides && strides.get() != Py_None;
  if (has_strides && !PyTuple_Check(strides.get())) raise(PyExc_TypeError, "asarray(): malformed __array_interface__");
  array.strides = has_strides ? ints_from(strides.get()) : contiguous_strides(array.shape, array.dtype);
  if (array.strides.size() != array.shape.size()) raise(PyExc_TypeError, "asarray(): malformed __array_interface__");
  array.data = static_cast<const std::byte*>(PyLong_AsVoidPtr(PyTuple_GET_ITEM(data.get(), 0)));
  if (array.data == nullptr && PyErr_Occurred() != nullptr) throw PythonError{};
  array.read_only = PyTuple_GET_ITEM(data.get(), 1) == Py_True && nobody_writes(object);
  const PyRef native = own(PyObject_GetAttrString(dtype.get(), "isnative"));
  array.swapped = native.get() == Py_False;
  // A NumPy scalar's interface points into a temporary array that the dictionary holds.
  array.owner = own(PyTuple_Pack(2, object, interface.get()));
  return array;
}

void destroy_buffer(PyObject* capsule) {
  auto* view = static_cast<Py_buffer*>(PyCapsule_GetPointer(capsule, nullptr));
  PyBuffer_Release(view);
  delete view;
}

HostArray from_buffer(PyObject* object) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object, view.get(), PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0) throw PythonError{};
  Py_buffer& buffer = *view;
  HostArray array;
  array.owner = PyRef(PyCapsule_New(view.release(), nullptr, destroy_buffer));
  checked(array.owner.get());
  const auto format = parse_format(buffer.format, static_cast<std::size_t>(buffer.itemsize));
  if (!format) {
    raise(PyExc_TypeError, "asarray(): a buffer of format '%s' has no dtype in Lento",
          buffer.format == nullptr ? "B" : buffer.format);
  }
  array.dtype = format->dtype;
  array.swapped = format->swapped;
  array.data = static_cast<const std::byte*>(buffer.buf);
  // A read-only view may be one of memory that is written: only what can never be is known to stay.
  array.read_only =
      buffer.readonly != 0 && buffer.obj != nullptr && (PyBytes_Check(buffer.obj) || is_tensor(buffer.obj));
  for (int axis = 0; axis < buffer.ndim; ++axis) array.shape.push_back(buffer.shape[axis]);
  if (buffer.strides != nullptr) {
    for (int axis = 0; axis < buffer.ndim; ++axis) array.strides.push_back(buffer.strides[axis]);
  } else {
    array.strides = contiguous_strides(array.shape, array.dtype);
  }
  return array;
}

// --- nested lists ---

bool is_nesting(PyObject* object) {
  return is_list_or_tuple(object) || PyRange_Check(object) || is_numpy_array(object);
}

struct Flattener {
  Shape shape;
  std::vector<Scalar> numbers;
  int depth = -1;  // nesting at which numbers stand; -1 before the first one

  void add(PyObject* object, int level) {
    if (PyUnicode_Check(object) || !is_nesting(object)) {
      add_number(object, level);
      return;
    }
    check_nesting(level);
    const Items items(object);
    const Py_ssize_t size = items.size();
    if (static_cast<std::size_t>(level) == shape.size()) {
      if (depth >= 0) ragged();
      shape.push_back(size);
    } else if (shape[static_cast<std::size_t>(level)] != size) {
      ragged();
    }
    for (Py_ssize_t i = 0; i < size; ++i) add(items[i].get(), level + 1);
    if (size == 0 && depth < 0) depth = level + 1;
  }

  void add_number(PyObject* object, int level) {
    if (depth < 0) depth = level;
    if (depth != level || static_cast<std::size_t>(level) != shape.size()) ragged();
    if (is_host_number(object)) refuse_recorded_call("data of the host is made of a number from lento.host_number");
    const auto number = to_scalar(object);
    if (!number) raise(PyExc_TypeError, "asarray(): cannot make a tensor of %s", Py_TYPE(object)->tp_name);
    numbers.push_back(*number);
  }

  [[noreturn]] static void ragged() {
    raise(PyExc_ValueError, "asarray(): the nested sequences have different lengths");
  }

  DType common_dtype() const {
    if (numbers.empty()) return kDefaultFloat;
    DType dtype = DType::bool_;
    bool large = false;
    bool negative = false;
    for (const Scalar& number : numbers) {
      if (number.is_complex()) return kDefaultComplex;
      if (number.is_floating()) {
        dtype = kDefaultFloat;
      } else if (number.is_integer() && dtype == DType::bool_) {
        dtype = kDefaultInt;
      }
      large |= number.kind() == Scalar::Kind::uint_;
      negative |= number.kind() == Scalar::Kind::int_ && number.to<std::int64_t>() < 0;
    }
    if (dtype == kDefaultInt && large) {
      if (negative) raise(PyExc_OverflowError, "asarray(): no integer dtype holds all of these numbers");
      return DType::uint64;
    }
    return dtype;
  }
};

template <class T>
bool fits(const Scalar& number) {
  if (number.kind() == Scalar::Kind::uint_)
    return number.to<std::uint64_t>() <= std::uint64_t{std::numeric_limits<T>::max()};
  const auto value = number.to<std::int64_t>();
  if constexpr (std::is_unsigned_v<T>) {
    return value >= 0 && static_cast<std::uint64_t>(value) <= std::uint64_t{std::numeric_limits<T>::max()};
  } else {
    return value >= std::int64_t{std::numeric_limits<T>::min()} && value <= std::int64_t{std::numeric_limits<T>::max()};
  }
}

bool integer_fits(const Scalar& number, DType dtype) {
  if (!number.is_integer()) return true;
  switch (dtype) {
    case DType::int8:
      return fits<std::int8_t>(number);
    case DType::int16:
      return fits<std::int16_t>(number);
    case DType::int32:
      return fits<std::int32_t>(number);
    case DType::int64:
      return fits<std::int64_t>(number);
    case DType::uint8:
      return fits<std::uint8_t>(number);
    case DType::uint16:
      return fits<std::uint16_t>(number);
    case DType::uint32:
      return fits<std::uint32_t>(number);
    case DType::uint64:
      return fits<std::uint64_t>(number);
    default:
      return true;
  }
}

}  // namespace

std::optional<HostArray> host_array(PyObject* object) {
  PyObject* generic = numpy_generic();
  if (is_numpy_array(object) ||
      (generic != nullptr && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(generic)))) {
    return from_numpy(object);
  }
  if (PyList_Check(object) || PyTuple_Check(object) || PyUnicode_Check(object) || PyType_Check(object))
    return std::nullopt;
  if (is_host_number(object)) return std::nullopt;  // its __array__ is for NumPy alone
  if (PyObject_CheckBuffer(object)) return from_buffer(object);
  if (PyObject_HasAttrString(object, "__array__") != 0) {
    const PyRef array = own(PyObject_CallMethod(object, "__array__", nullptr));
    if (is_numpy_array(array.get())) return from_numpy(array.get());
    raise(PyExc_TypeError, "asarray(): __array__ of %s gave no NumPy array", Py_TYPE(object)->tp_name);
  }
  return std::nullopt;
}

void check_nesting(int level) {
  if (level > 64) raise(PyExc_ValueError, "asarray(): lists are nested deeper than 64 levels");
}

HostList host_list(PyObject* object, std::optional<DType> dtype) {
  Flattener flattener;
  flattener.add(object, 0);
  HostList list;
  list.dtype = dtype.value_or(flattener.common_dtype());
  list.shape = flattener.shape;
  const std::size_t size = size_of(list.dtype);
  list.bytes.resize(flattener.numbers.size() * size);
  for (std::size_t i = 0; i < flattener.numbers.size(); ++i) {
    const Scalar& number = flattener.numbers[i];
    if (!integer_fits(number, list.dtype)) {
      const std::string text = number.to_string();
      raise(PyExc_OverflowError, "asarray(): %s does not fit %s", text.c_str(), std::string(name(list.dtype)).c_str());
    }
    if (number.is_complex() && !is_complex(list.dtype)) {
      raise(PyExc_TypeError, "asarray(): a complex number cannot become %s", std::string(name(list.dtype)).c_str());
    }
    number.write(list.dtype, list.bytes.data() + i * size);
  }
  return list;
}

}  // namespace lento::python
