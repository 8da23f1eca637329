#include "waiting.h"

#include "arguments.h"
#include "gil.h"
#include "tensor_type.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace lento::python {
namespace {

/// A tensor among these objects, and in lists and tuples of them, that is pending in another thread. `seen` are the
/// lists and tuples that were looked at: they may contain themselves, and each other many times.
std::optional<Tensor> find_pending_elsewhere(std::span<PyObject* const> objects, std::unordered_set<PyObject*>& seen,
                                             int depth = 0) {
  constexpr int kDeepest = 64;  // as deep as arrays may be
  for (PyObject* object : objects) {
    if (object == nullptr) continue;
    if (is_tensor(object)) {
      if (is_pending_elsewhere(tensor_of(object))) return tensor_of(object);
    } else if ((PyList_Check(object) || PyTuple_Check(object)) && depth < kDeepest && seen.insert(object).second) {
      const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(object));
      const std::span<PyObject* const> items(PySequence_Fast_ITEMS(object), size);
      if (auto found = find_pending_elsewhere(items, seen, depth + 1)) return found;
    }
  }
  return std::nullopt;
}

/// True for most operands: a tensor that is not pending in another thread, or what holds none.
bool is_here(PyObject* object) {
  if (object == nullptr || object == Py_None || PyFloat_CheckExact(object) || PyLong_CheckExact(object)) return true;
  return is_tensor(object) && !is_pending_elsewhere(tensor_of(object));
}

}  // namespace

void wait_before_recording(const char* op, const Source& source, PyObject* first, std::span<PyObject* const> others) {
  // Where several threads record this is asked for every op.
  if (!has_long_trace() && is_here(first) && std::ranges::all_of(others, is_here)) return;
  const SourceScope line(source);
  const CallScope call(op, source);
  if (has_long_trace()) {
    const WithoutGil without_gil;
    shorten_traces();
  }
  // While the GIL is released another thread may give an operand another value, so all are looked at again.
  while (true) {
    std::unordered_set<PyObject*> seen;
    std::optional<Tensor> held = find_pending_elsewhere({&first, 1}, seen);
    if (!held) held = find_pending_elsewhere(others, seen);
    if (!held) return;
    const WithoutGil without_gil;
    evaluate_operand(*held);
  }
}

}  // namespace lento::python
