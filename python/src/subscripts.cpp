// x[...] and x[...] = v: Python's index objects as lento::Index.
#include "arguments.h"
#include "changes.h"
#include "convert.h"
#include "creation.h"
#include "gil.h"
#include "host_array.h"
#include "source.h"
#include "tensor_type.h"
#include "waiting.h"

#include <lento/indexing.h>

#include "ops/basic_index.h"

#include "frame.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace lento::python {
namespace {

std::optional<std::int64_t> slice_bound(PyObject* object) {
  if (object == Py_None) return std::nullopt;
  if (PyIndex_Check(object) == 0) {
    raise(PyExc_TypeError, "slice indices must be integers or None or have an __index__ method, not %s",
          Py_TYPE(object)->tp_name);
  }
  // Clamps what does not fit, as Python's own slices do.
  const Py_ssize_t value = PyNumber_AsSsize_t(object, nullptr);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError{};
  return value;
}

Index index_of(PyObject* item) {
  if (PyLong_CheckExact(item)) {
    const long long value = PyLong_AsLongLong(item);
    if (value == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      raise(PyExc_IndexError, "index %S is out of range", item);
    }
    return Index(static_cast<std::int64_t>(value));
  }
  if (PySlice_Check(item)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(item);
    return Index(Slice{slice_bound(slice->start), slice_bound(slice->stop), slice_bound(slice->step)});
  }
  if (is_tensor(item)) return Index(tensor_of(item));
  if (item == Py_None) return Index(newaxis);
  if (item == Py_Ellipsis) return Index(ellipsis);
  if (PyList_Check(item) || PyTuple_Check(item) || PyRange_Check(item)) {
    const Py_ssize_t size = is_list_or_tuple(item) ? Py_SIZE(item) : PyObject_Size(item);
    if (size < 0) throw PythonError{};
    const bool empty = size == 0;
    return Index(as_tensor(item, empty ? std::optional(kDefaultInt) : std::nullopt));
  }
  if (is_numpy_array(item)) return Index(as_tensor(item));
  if (const auto number = to_scalar(item)) {
    if (number->is_bool()) return Index(number->to<bool>());
    if (number->is_integer()) return Index(number->to<std::int64_t>());
  } else if (const auto value = to_int(item)) {
    return Index(*value);
  }
  raise(PyExc_IndexError,
        "only integers, slices (`:`), ellipsis (`...`), None, and integer or boolean tensors are valid indices, not %s",
        Py_TYPE(item)->tp_name);
}

std::vector<Index> index_list(PyObject* key) {
  std::vector<Index> index;
  if (!PyTuple_Check(key)) {
    index.push_back(index_of(key));
    return index;
  }
  const Py_ssize_t size = PyTuple_GET_SIZE(key);
  index.reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) index.push_back(index_of(PyTuple_GET_ITEM(key, i)));
  return index;
}

// An int as a number; false for other objects, and for an int of more than 64 bits. Runs no Python code.
inline bool plain_int(PyObject* object, std::int64_t& number) {
  if (!PyLong_CheckExact(object)) return false;
#if PY_VERSION_HEX >= 0x030c0000
  const auto* const integer = reinterpret_cast<const PyLongObject*>(object);
  if (PyUnstable_Long_IsCompact(integer) != 0) {
    number = PyUnstable_Long_CompactValue(integer);
    return true;
  }
#endif
  int is_too_large = 0;
  number = PyLong_AsLongLongAndOverflow(object, &is_too_large);
  return is_too_large == 0;
}

inline bool plain_bound(PyObject* object, bool& is_there, std::int64_t& bound) {
  is_there = object != Py_None;
  return !is_there || plain_int(object, bound);
}

// An index of ints, slices of ints, `...` and None: most are. Runs no Python code.
class BasicIndex {
 public:
  // False for any other index.
  bool read(PyObject* key) {
    if (!PyTuple_CheckExact(key)) return read_item(key, items_[count_++]);
    const auto size = static_cast<std::size_t>(PyTuple_GET_SIZE(key));
    if (size > items_.size()) return false;
    for (; count_ < size; ++count_) {
      if (!read_item(PyTuple_GET_ITEM(key, static_cast<Py_ssize_t>(count_)), items_[count_])) return false;
    }
    return true;
  }

  std::span<const BasicItem> items() const { return {items_.data(), count_}; }

 private:
  static bool read_item(PyObject* object, BasicItem& item) {
    if (PySlice_Check(object)) {
      const auto* slice = reinterpret_cast<PySliceObject*>(object);
      item.kind = BasicItem::Kind::slice;
      item.step = 1;
      return plain_bound(slice->start, item.has_start, item.start) &&
             plain_bound(slice->stop, item.has_stop, item.stop) &&
             (slice->step == Py_None || plain_int(slice->step, item.step));
    }
    item.kind = object == Py_None       ? BasicItem::Kind::new_axis
                : object == Py_Ellipsis ? BasicItem::Kind::ellipsis
                                        : BasicItem::Kind::position;
    return item.kind != BasicItem::Kind::position || plain_int(object, item.start);
  }

  std::array<BasicItem, kMostBasicItems> items_;
  std::size_t count_ = 0;
};

// Whether the running instruction is an item assignment. Then the interpreter's stack holds one reference to the
// target, and a variable, an attribute or a container that also has it a second one. Code compiled to C (Cython) holds
// its variables by one reference and is at a call here.
bool assigns_by_instruction() {
  static const std::pair<int, int> opcodes = [] {
    const PyRef module(PyImport_ImportModule("opcode"));
    const PyRef map(module ? PyObject_GetAttrString(module.get(), "opmap") : nullptr);
    const auto number = [&](const char* name) {
      PyObject* found = map ? PyDict_GetItemString(map.get(), name) : nullptr;
      return found == nullptr ? -1 : static_cast<int>(PyLong_AsLong(found));
    };
    const std::pair<int, int> numbers(number("STORE_SUBSCR"), number("STORE_SLICE"));
    PyErr_Clear();
    return numbers;
  }();
  LentoFrame frame;
  if (lento_innermost_frame(&frame) == 0) return false;
#if PY_VERSION_HEX >= 0x030b0000
  const PyRef code(PyCode_GetCode(frame.code));
#else
  const PyRef code = PyRef::borrow(frame.code->co_code);
#endif
  if (!code || frame.instruction < 0 || frame.instruction >= PyBytes_GET_SIZE(code.get())) {
    PyErr_Clear();
    return false;
  }
  const int opcode = static_cast<unsigned char>(PyBytes_AS_STRING(code.get())[frame.instruction]);
  return opcode == opcodes.first || opcode == opcodes.second;
}

// `f(x)[0] = 1` and `x[0][1] = 1` change a value that nobody can look at: parts of a tensor are values of their own.
void warn_of_temporary(PyObject* self) {
  // From 3.14 on the stack may borrow its references, and the count says nothing.
  if (PY_VERSION_HEX >= 0x030e0000 || Py_REFCNT(self) > 1 || !assigns_by_instruction()) return;
  const int result = PyErr_WarnEx(assignment_warning_class(),
                                  "this assigns to a temporary tensor, which is dropped at once: nothing else changes. "
                                  "Write x[0, 1] = v instead of x[0][1] = v",
                                  1);
  if (result < 0) throw PythonError{};
}

}  // namespace

PyObject* get_item_object(PyObject* self, PyObject* key) noexcept {
  try {
    const Source line = current_source();
    if (BasicIndex basic; basic.read(key)) {
      before_recording("getitem", line, self);
      const CallScope call("getitem", line);
      if (Tensor part = get_basic(tensor_of(self), basic.items()); part.defined()) return wrap(std::move(part));
    }
    const SourceScope source(line);
    const std::vector<Index> index = index_list(key);
    // A mask is counted, which waits; then this thread holds the only handles that matter (an Index has its own).
    const Tensor x = tensor_of(self);
    const MayBlock may_block;
    return wrap(get_item(x, index));
  } catch (...) {
    return set_exception();
  }
}

PyObject* get_row(PyObject* self, Py_ssize_t row) noexcept {
  const Shape& shape = tensor_of(self).shape();
  // The end of an iteration: cheaper than an exception from the engine.
  if (!shape.empty() && row >= shape[0]) {
    PyErr_Format(PyExc_IndexError, "index %zd is out of range for axis 0 of size %lld", row,
                 static_cast<long long>(shape[0]));
    return nullptr;
  }
  try {
    const Source line = current_source();
    const BasicItem item{BasicItem::Kind::position, true, false, static_cast<std::int64_t>(row), 0, 1};
    before_recording("getitem", line, self);
    {
      const CallScope call("getitem", line);
      if (Tensor part = get_basic(tensor_of(self), {&item, 1}); part.defined()) return wrap(std::move(part));
    }
    const SourceScope source(line);
    const Index index(static_cast<std::int64_t>(row));
    const Tensor x = tensor_of(self);
    const MayBlock may_block;  // as in get_item_object
    return wrap(get_item(x, std::span(&index, 1)));
  } catch (...) {
    return set_exception();
  }
}

// x[key] = value for what most programs write; false where it takes a closer look.
static bool set_plainly(PyObject* self, PyObject* key, PyObject* value, const Source& line) {
  BasicIndex basic;
  if (!basic.read(key)) return false;
  std::int64_t integer = 0;
  Scalar number;
  if (PyFloat_CheckExact(value)) {
    number = Scalar(PyFloat_AS_DOUBLE(value));
  } else if (plain_int(value, integer)) {
    number = Scalar(integer);
  } else if (!is_tensor(value)) {
    return false;
  }
  before_recording("setitem", line, self, value);
  const CallScope call("setitem", line);
  Tensor updated =
      set_basic(tensor_of(self), basic.items(), is_tensor(value) ? Operand(tensor_of(value)) : Operand(number));
  if (!updated.defined()) return false;
  note_change(self);
  tensor_of(self) = std::move(updated);
  return true;
}

int set_item_object(PyObject* self, PyObject* key, PyObject* value) noexcept {
  try {
    if (value == nullptr) raise(PyExc_TypeError, "cannot delete elements of a tensor");
    warn_of_temporary(self);
    const Source line = current_source();
    if (set_plainly(self, key, value, line)) return 0;
    const SourceScope source(line);
    const std::vector<Index> index = index_list(key);
    const DType dtype = tensor_of(self).dtype();
    Tensor operand;  // of the value, where that is no number
    std::optional<Scalar> number;
    if (is_tensor(value)) {
      operand = tensor_of(value);
    } else if (number = to_scalar(value); number) {
      // Numbers are weak: the engine takes 0 and 1 for a mask.
    } else if (auto mask = dtype == DType::bool_ ? as_mask(value) : std::nullopt; mask) {
      operand = *std::move(mask);
    } else {
      // Plain lists take the precision of the target; an array has a dtype of its own.
      const bool weak = (PyList_Check(value) || PyTuple_Check(value)) && is_inexact(dtype);
      operand = as_tensor(value, weak ? std::optional(dtype) : std::nullopt);
    }
    note_change(self);
    // Read only now: the conversions above may run Python code that assigns to this tensor itself.
    const Tensor x = tensor_of(self);
    const MayBlock may_block;  // as in get_item_object
    tensor_of(self) = set_item(x, index, number ? Operand(*number) : Operand(operand));
    return 0;
  } catch (...) {
    set_exception();
    return -1;
  }
}

PyObject* fill_method(PyObject* self, PyObject* value) noexcept {
  return set_item_object(self, Py_Ellipsis, value) < 0 ? nullptr : Py_NewRef(Py_None);
}

}  // namespace lento::python
