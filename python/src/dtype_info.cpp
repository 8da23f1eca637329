#include "dtype_info.h"

#include "convert.h"
#include "errors.h"
#include "source.h"
#include "tensor_type.h"

#include <lento/dtype_info.h>

#include <nanobind/stl/string_view.h>

#include <string_view>
#include <vector>

namespace nb = nanobind;

namespace lento::python {
namespace {

/// Of a tensor, or what stands for a dtype.
DType dtype_argument(const nb::handle& object) {
  if (is_tensor(object.ptr())) return tensor_of(object.ptr()).dtype();
  const auto dtype = to_dtype(object.ptr());
  if (!dtype) raise(PyExc_TypeError, "%R is no dtype", object.ptr());
  return *dtype;
}

nb::object dtype_object(DType dtype) { return nb::steal(from_dtype(dtype)); }

nb::tuple float_info(const nb::object& type) {
  const PythonSourceScope source;
  const FloatInfo info = finfo(dtype_argument(type));
  return nb::make_tuple(dtype_object(info.dtype), info.bits, info.eps, info.max, info.min, info.smallest_normal);
}

nb::tuple integer_info(const nb::object& type) {
  const PythonSourceScope source;
  const IntegerInfo info = iinfo(dtype_argument(type));
  return nb::make_tuple(dtype_object(info.dtype), info.bits, info.min, info.max);
}

/// Of a number only the kind counts: an int may be larger than any dtype holds.
DTypeSource type_source(const nb::handle& object) {
  PyObject* given = object.ptr();
  if (PyBool_Check(given)) return true;
  if (PyLong_Check(given)) return 1;
  if (PyFloat_Check(given)) return 1.0;
  if (PyComplex_Check(given)) return std::complex<double>(0, 1);
  return dtype_argument(object);
}

nb::object common_type(const nb::args& given) {
  const PythonSourceScope source;
  std::vector<DTypeSource> sources;
  for (const nb::handle each : given) sources.push_back(type_source(each));
  return dtype_object(result_type(std::span<const DTypeSource>(sources)));
}

Shape shape_of(const nb::handle& object) {
  if (const auto length = to_int(object.ptr())) return {*length};
  Shape shape;
  for (const nb::handle each : nb::iter(object)) {
    const auto length = to_int(each.ptr());
    if (!length) raise(PyExc_TypeError, "broadcast_shapes(): a length is int, not %s", Py_TYPE(each.ptr())->tp_name);
    shape.push_back(*length);
  }
  return shape;
}

nb::object common_shape(const nb::args& given) {
  const PythonSourceScope source;
  std::vector<Shape> shapes;
  for (const nb::handle each : given) shapes.push_back(shape_of(each));
  return nb::steal(from_ints(broadcast_shapes(std::span<const Shape>(shapes))));
}

}  // namespace

void bind_dtype_info(nb::module_& module) {
  module.def("_finfo", &float_info, nb::arg("type"));
  module.def("_iinfo", &integer_info, nb::arg("type"));
  module.def("_result_type", &common_type);
  module.def("_broadcast_shapes", &common_shape);
  module.def(
      "_can_cast",
      [](const nb::object& from, const nb::object& to) { return can_cast(dtype_argument(from), dtype_argument(to)); },
      nb::arg("from_"), nb::arg("to"));
  module.def(
      "_isdtype",
      [](const nb::object& dtype, std::string_view kind) {
        const PythonSourceScope source;
        return isdtype(dtype_argument(dtype), kind);
      },
      nb::arg("dtype"), nb::arg("kind"));
}

}  // namespace lento::python
