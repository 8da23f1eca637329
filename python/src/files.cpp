#include "files.h"

#include "arguments.h"
#include "convert.h"
#include "errors.h"
#include "gil.h"

#include <lento/dtype.h>
#include <lento/tensor.h>

#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <unistd.h>

namespace nb = nanobind;

namespace lento::python {
namespace {

/// Reads all bytes that are asked for. Throws PythonError: EOFError when there are fewer, OSError.
void read_all(int file, std::int64_t offset, void* data, std::size_t bytes) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 26;  // between two looks at signals
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    ssize_t count = 0;
    int error = 0;
    {
      const WithoutGil unlocked;
      count = ::pread(file, to, std::min(bytes, kAtOnce), offset);
      error = errno;
    }
    if (PyErr_CheckSignals() < 0) throw PythonError{};
    if (count == 0) raise(PyExc_EOFError, "the file ended");
    if (count < 0) {
      if (error == EINTR) continue;
      errno = error;
      PyErr_SetFromErrno(PyExc_OSError);
      throw PythonError{};
    }
    to += count;
    offset += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

/// Throws PythonError: BufferError for truth values other than 0 and 1, and what read_all throws.
nb::object read_tensor(int file, std::int64_t offset, std::string_view dtype, const nb::tuple& shape) {
  const auto element = dtype_from_name(dtype);
  if (!element) raise(PyExc_ValueError, "unknown dtype '%s'", std::string(dtype).c_str());
  Shape extents;
  for (const nb::handle extent : shape) {
    const auto length = to_int(extent.ptr());
    if (!length)
      raise(PyExc_TypeError, "the shape of a tensor in a file has int, not %s", Py_TYPE(extent.ptr())->tp_name);
    extents.push_back(*length);
  }
  const auto fill = [&](void* data, std::size_t bytes) {
    read_all(file, offset, data, bytes);
    if (*element != DType::bool_) return;
    const auto* first = static_cast<const unsigned char*>(data);
    // Of a class of its own: whatever else is wrong with the tensor is not the file's fault.
    if (std::any_of(first, first + bytes, [](unsigned char byte) { return byte > 1; }))
      raise(PyExc_BufferError, "bools are bytes of 0 and 1");
  };
  return nb::steal(wrap(from_filler(fill, *element, extents)));
}

}  // namespace

void bind_files(nb::module_& module) {
  module.def("_read_tensor", &read_tensor, nb::arg("file"), nb::arg("offset"), nb::arg("dtype"), nb::arg("shape"));
}

}  // namespace lento::python
