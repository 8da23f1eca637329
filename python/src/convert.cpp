#include "convert.h"

#include "classes.h"
#include "items.h"
#include "recorded_call.h"
#include "source.h"
#include "tensor_type.h"

#include <complex>

namespace lento::python {
namespace {

// NumPy is optional: its types are looked up once somebody has imported it. Checking sys.modules is a dictionary
// look-up, and happens only for objects that are no Python number.
struct NumpyTypes {
  PyObject* generic = nullptr;
  PyObject* ndarray = nullptr;
  PyObject* dtype = nullptr;
};

const NumpyTypes& numpy_types() {
  static NumpyTypes types;
  if (types.generic != nullptr) return types;
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* numpy = PyDict_GetItemString(modules, "numpy");
  // A half-imported NumPy has no types yet.
  if (numpy == nullptr || PyObject_HasAttrString(numpy, "ndarray") == 0) return types;
  PyObject* generic = PyObject_GetAttrString(numpy, "generic");
  types.ndarray = PyObject_GetAttrString(numpy, "ndarray");
  types.dtype = PyObject_GetAttrString(numpy, "dtype");
  types.generic = generic;
  PyErr_Clear();
  return types;
}

Scalar from_long(PyObject* object) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) {
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError{};
    return Scalar(static_cast<std::int64_t>(value));
  }
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(object);
    if (PyErr_Occurred() == nullptr) return Scalar(static_cast<std::uint64_t>(large));
    PyErr_Clear();
  }
  raise(PyExc_OverflowError, "the integer %S does not fit into 64 bits", object);
}

// dtype.kind of a NumPy scalar, '\0' when it has none.
char numpy_kind(PyObject* scalar) {
  const PyRef dtype(PyObject_GetAttrString(scalar, "dtype"));
  const PyRef kind(dtype ? PyObject_GetAttrString(dtype.get(), "kind") : nullptr);
  if (!kind || !PyUnicode_Check(kind.get())) {
    PyErr_Clear();
    return '\0';
  }
  return static_cast<char>(PyUnicode_ReadChar(kind.get(), 0));
}

std::optional<Scalar> from_numpy_scalar(PyObject* object) {
  switch (numpy_kind(object)) {
    case 'b': {
      const int truth = PyObject_IsTrue(object);
      if (truth < 0) throw PythonError{};
      return Scalar(truth != 0);
    }
    case 'i':
    case 'u': {
      const PyRef index = own(PyNumber_Index(object));
      return from_long(index.get());
    }
    case 'c': {
      const Py_complex value = PyComplex_AsCComplex(object);
      if (value.real == -1.0 && PyErr_Occurred() != nullptr) throw PythonError{};
      return Scalar(std::complex<double>(value.real, value.imag));
    }
    case 'f':
    case 'V': {  // ml_dtypes.bfloat16 calls itself a void type
      const double value = PyFloat_AsDouble(object);
      if (value == -1.0 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return std::nullopt;
      }
      return Scalar(value);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

PyObject* numpy_generic() { return numpy_types().generic; }

bool is_numpy_array(PyObject* object) {
  PyObject* type = numpy_types().ndarray;
  return type != nullptr && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(type));
}

std::optional<Scalar> to_scalar(PyObject* object) {
  if (PyFloat_CheckExact(object)) return Scalar(PyFloat_AS_DOUBLE(object));
  if (PyBool_Check(object)) return Scalar(object == Py_True);
  if (PyLong_Check(object)) return from_long(object);
  if (PyFloat_Check(object)) return Scalar(PyFloat_AS_DOUBLE(object));
  if (is_host_number(object)) return take_host_number(object);
  if (PyComplex_Check(object)) {
    const Py_complex value = PyComplex_AsCComplex(object);
    return Scalar(std::complex<double>(value.real, value.imag));
  }
  PyObject* generic = numpy_generic();
  if (generic != nullptr && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(generic))) {
    return from_numpy_scalar(object);
  }
  return std::nullopt;
}

PyObject* from_scalar(const Scalar& scalar) {
  switch (scalar.kind()) {
    case Scalar::Kind::bool_:
      return PyBool_FromLong(scalar.to<bool>() ? 1 : 0);
    case Scalar::Kind::int_:
      return PyLong_FromLongLong(scalar.to<std::int64_t>());
    case Scalar::Kind::uint_:
      return PyLong_FromUnsignedLongLong(scalar.to<std::uint64_t>());
    case Scalar::Kind::float_:
      return PyFloat_FromDouble(scalar.to<double>());
    case Scalar::Kind::complex_: {
      const auto value = scalar.to<std::complex<double>>();
      return PyComplex_FromDoubles(value.real(), value.imag());
    }
  }
  return nullptr;
}

std::optional<std::int64_t> to_int(PyObject* object) {
  if (PyBool_Check(object) || !PyIndex_Check(object)) return std::nullopt;
  const PyRef index(PyNumber_Index(object));
  if (!index) {
    // An object may have the slot and refuse (a NumPy array of floats): then it is no int.
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError{};
    PyErr_Clear();
    return std::nullopt;
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow != 0) raise(PyExc_OverflowError, "the integer %S does not fit into 64 bits", index.get());
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError{};
  return value;
}

PyObject* from_ints(std::span<const std::int64_t> values) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  if (tuple == nullptr) return nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) {
    PyObject* item = PyLong_FromLongLong(values[i]);
    if (item == nullptr) {
      Py_DECREF(tuple);
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), item);
  }
  return tuple;
}

std::optional<std::string_view> to_string_view(PyObject* object) {
  if (!PyUnicode_Check(object)) return std::nullopt;
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) throw PythonError{};
  return std::string_view(text, static_cast<std::size_t>(size));
}

namespace {

/// NumPy's short names of dtypes, and the names of Python's types.
std::optional<DType> dtype_from_short_name(std::string_view text) {
  static constexpr std::pair<std::string_view, DType> kShort[] = {
      {"?", DType::bool_},          {"b1", DType::bool_},       {"i1", DType::int8},        {"i2", DType::int16},
      {"i4", DType::int32},         {"i8", DType::int64},       {"u1", DType::uint8},       {"u2", DType::uint16},
      {"u4", DType::uint32},        {"u8", DType::uint64},      {"f2", DType::float16},     {"f4", DType::float32},
      {"f8", DType::float64},       {"c8", DType::complex64},   {"c16", DType::complex128}, {"half", DType::float16},
      {"single", DType::float32},   {"double", DType::float64}, {"float", kDefaultFloat},   {"int", kDefaultInt},
      {"complex", kDefaultComplex},
  };
  // The byte order of the machine; the other one, '>', is refused.
  const bool ordered = text.size() > 1 && std::string_view("<=|").find(text[0]) != std::string_view::npos;
  if (ordered) text.remove_prefix(1);
  for (const auto& [name, dtype] : kShort)
    if (name == text) return dtype;
  return std::nullopt;
}

constexpr const char* kNoFields =
    "a tensor has one dtype and no fields, unlike NumPy's %S; make a tensor of each field, as in "
    "{name: lento.asarray(a[name]) for name in a.dtype.names}";

}  // namespace

std::optional<DType> to_dtype(PyObject* object) {
  if (const DType* own_dtype = dtype_value(object)) return *own_dtype;
  if (const auto text = to_string_view(object)) {
    if (const auto found = dtype_from_name(*text)) return found;
    if (const auto found = dtype_from_short_name(*text)) return found;
    if (text->find(',') != std::string_view::npos) raise(PyExc_TypeError, kNoFields, object);
    raise(PyExc_TypeError, "unknown dtype %R", object);
  }
  const bool described = (PyList_Check(object) && PyList_GET_SIZE(object) > 0) || PyDict_Check(object);
  if (described) raise(PyExc_TypeError, kNoFields, object);
  if (PyType_Check(object)) {
    if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return kDefaultFloat;
    if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return kDefaultInt;
    if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::bool_;
    if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) return kDefaultComplex;
  }
  const NumpyTypes& numpy = numpy_types();
  if (numpy.dtype == nullptr) return std::nullopt;
  const bool is_dtype = PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(numpy.dtype));
  const bool is_scalar_type = PyType_Check(object) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(object),
                                                                       reinterpret_cast<PyTypeObject*>(numpy.generic));
  if (!is_dtype && !is_scalar_type) return std::nullopt;
  const PyRef dtype = is_dtype ? PyRef::borrow(object) : own(PyObject_CallOneArg(numpy.dtype, object));
  const PyRef name = own(PyObject_GetAttrString(dtype.get(), "name"));
  const auto text = to_string_view(name.get());
  if (const auto found = text ? dtype_from_name(*text) : std::nullopt) return found;
  const PyRef fields = own(PyObject_GetAttrString(dtype.get(), "names"));
  if (fields.get() != Py_None) raise(PyExc_TypeError, kNoFields, dtype.get());
  raise(PyExc_TypeError, "Lento has no dtype for NumPy's %S", dtype.get());
}

std::optional<Device> to_device(PyObject* object) {
  if (const Device* device = device_value(object)) return *device;
  const auto text = to_string_view(object);
  if (!text) return std::nullopt;
  const CallScope scope("", Source{});  // the caller adds the name of its function
  return Device(*text);
}

bool bool_argument(PyObject* object, const char* function, const char* name) {
  if (PyBool_Check(object)) return object == Py_True;
  raise(PyExc_TypeError, "%s(): argument '%s' must be bool, not %s", function, name, Py_TYPE(object)->tp_name);
}

std::string_view string_argument(PyObject* object, const char* function, const char* name) {
  if (const auto text = to_string_view(object)) return *text;
  raise(PyExc_TypeError, "%s(): argument '%s' must be str, not %s", function, name, Py_TYPE(object)->tp_name);
}

std::uint64_t count_argument(PyObject* object, const char* function, const char* name, std::uint64_t largest) {
  const PyRef index(PyBool_Check(object) ? nullptr : PyNumber_Index(object));
  if (!index) {
    PyErr_Clear();
    raise(PyExc_TypeError, "%s(): argument '%s' must be int, not %s", function, name, Py_TYPE(object)->tp_name);
  }
  const unsigned long long value = PyLong_AsUnsignedLongLong(index.get());
  if (PyErr_Occurred() != nullptr || value > largest) {
    PyErr_Clear();
    raise(PyExc_ValueError, "%s(): argument '%s' must be from 0 to %llu, not %R", function, name,
          static_cast<unsigned long long>(largest), index.get());
  }
  return value;
}

Device device_or_default(PyObject* object, const char* function) {
  if (object == Py_None) return {};
  const CallScope scope(function, current_source());
  if (const auto device = to_device(object)) return *device;
  raise(PyExc_TypeError, "%s(): argument 'device' must be Device, str or None, not %s", function,
        Py_TYPE(object)->tp_name);
}

void collect_tensors(PyObject* object, const char* function, std::vector<Tensor>& tensors) {
  if (is_tensor(object)) {
    tensors.push_back(tensor_of(object));
    return;
  }
  if (!PyList_Check(object) && !PyTuple_Check(object)) {
    raise(PyExc_TypeError, "%s(): expected tensors, not %s", function, Py_TYPE(object)->tp_name);
  }
  const Recursion recursion(" while collecting tensors");
  const Items items(object);
  for (Py_ssize_t i = 0; i < items.size(); ++i) collect_tensors(items[i].get(), function, tensors);
}

}  // namespace lento::python
