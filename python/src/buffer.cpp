// The buffer protocol: memoryview(x), bytes(x), np.asarray(x) and whatever else reads memory. Read-only and
// without a copy; an export holds the value, so that an update of the tensor meanwhile goes to other memory.
#include "frame.h"
#include "source.h"
#include "tensor_type.h"

#include <memory>
#include <utility>
#include <vector>

namespace lento::python {
namespace {

struct Exported {
  Tensor tensor;
  std::vector<Py_ssize_t> extents;  // first the shape, then the strides in bytes
};

// As the struct module and NumPy name element types; null where they have no name.
const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::bool_:
      return "?";
    case DType::int8:
      return "b";
    case DType::int16:
      return "h";
    case DType::int32:
      return "i";
    case DType::int64:
      return sizeof(long) == 8 ? "l" : "q";
    case DType::uint8:
      return "B";
    case DType::uint16:
      return "H";
    case DType::uint32:
      return "I";
    case DType::uint64:
      return sizeof(long) == 8 ? "L" : "Q";
    case DType::float16:
      return "e";
    case DType::float32:
      return "f";
    case DType::float64:
      return "d";
    case DType::complex64:
      return "Zf";
    case DType::complex128:
      return "Zd";
    default:
      return nullptr;
  }
}

bool also_column_major(const Shape& shape) {
  std::int64_t long_axes = 0;
  for (const std::int64_t extent : shape) long_axes += extent > 1 ? 1 : 0;
  return long_axes <= 1;
}

/// What ended a wait in get_buffer, and for whom. NumPy drops every exception of get_buffer and calls __array__ next,
/// which would wait again: Ctrl-C would be lost. Guarded by the GIL; signals arrive in the main thread alone.
struct Interruption {
  PyObject* tensor = nullptr;  // for comparison only
  LentoFrame frame{};
  PyObject* exception = nullptr;  // owned
};
Interruption last_interruption;

void note_interruption(PyObject* tensor) {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Interruption now{.tensor = tensor, .exception = Py_NewRef(value)};
  if (lento_innermost_frame(&now.frame) == 0) now.frame = {};
  Py_XDECREF(std::exchange(last_interruption, now).exception);
  PyErr_Restore(type, value, traceback);
}

void forget_interruption() { Py_XDECREF(std::exchange(last_interruption, {}).exception); }

}  // namespace

bool raise_interruption(PyObject* tensor) {
  if (last_interruption.exception == nullptr) return false;
  LentoFrame frame{};
  const bool same_call = last_interruption.tensor == tensor && lento_innermost_frame(&frame) != 0 &&
                         frame.frame == last_interruption.frame.frame && frame.code == last_interruption.frame.code &&
                         frame.instruction == last_interruption.frame.instruction;
  if (same_call) PyErr_SetObject(PyExceptionInstance_Class(last_interruption.exception), last_interruption.exception);
  forget_interruption();
  return same_call;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  view->obj = nullptr;
  forget_interruption();
  try {
    const PythonSourceScope source;
    auto exported = std::make_unique<Exported>(Exported{tensor_of(self), {}});
    const Tensor& x = exported->tensor;
    const char* format = format_of(x.dtype());
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE)
      raise(PyExc_BufferError, "the memory of a tensor is read-only; take a copy");
    if (format == nullptr)
      raise(PyExc_BufferError, "the buffer protocol has no bfloat16; use astype(lento.float32) first");
    if (x.rank() > PyBUF_MAX_NDIM)
      raise(PyExc_BufferError, "the buffer protocol has at most %d axes", static_cast<int>(PyBUF_MAX_NDIM));
    const bool column_major = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
    if (column_major && (flags & PyBUF_C_CONTIGUOUS) != PyBUF_C_CONTIGUOUS && !also_column_major(x.shape()))
      raise(PyExc_BufferError, "the elements of a tensor are in row-major order");

    const auto rank = static_cast<std::size_t>(x.rank());
    exported->extents.resize(2 * rank);
    auto stride = static_cast<Py_ssize_t>(size_of(x.dtype()));
    for (std::size_t axis = rank; axis-- > 0;) {
      exported->extents[axis] = static_cast<Py_ssize_t>(x.shape()[axis]);
      exported->extents[rank + axis] = stride;
      stride *= static_cast<Py_ssize_t>(x.shape()[axis]);
    }
    static char nothing = 0;
    const void* data = read_data(x);
    view->buf = x.size() == 0 ? &nothing : const_cast<void*>(data);
    view->itemsize = static_cast<Py_ssize_t>(size_of(x.dtype()));
    view->len = static_cast<Py_ssize_t>(x.size()) * view->itemsize;
    view->readonly = 1;
    view->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    const bool shaped = (flags & PyBUF_ND) == PyBUF_ND;
    view->ndim = shaped ? static_cast<int>(rank) : 1;
    view->shape = shaped ? exported->extents.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->extents.data() + rank : nullptr;
    view->suboffsets = nullptr;
    view->internal = exported.release();
    view->obj = Py_NewRef(self);
    return 0;
  } catch (const PythonError&) {
    if (PyErr_ExceptionMatches(PyExc_BufferError) == 0) note_interruption(self);
    return -1;
  } catch (...) {
    set_exception();
    return -1;
  }
}

void release_buffer(PyObject* /*self*/, Py_buffer* view) noexcept { delete static_cast<Exported*>(view->internal); }

}  // namespace lento::python
