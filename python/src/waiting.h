// Waiting before an op is recorded, where the engine would wait in the middle of it (tensor/before_recording.h).
#pragma once

#include "errors.h"

#include "base/source.h"
#include "tensor/before_recording.h"

#include <span>

namespace lento::python {

/// The slow half of before_recording.
void wait_before_recording(const char* op, const Source& source, PyObject* first, std::span<PyObject* const> others);

/// Every function that records calls this first. Where the trace is to be shortened, or an operand is pending in
/// another thread, this waits with the GIL released and answers Ctrl-C (clause E10); the op itself then has nothing to
/// wait for. Operands may be any objects or null; tensors in lists and tuples are found too. Throws PythonError when
/// interrupted.
inline void before_recording(const char* op, const Source& source, PyObject* first,
                             std::span<PyObject* const> others = {}) {
  if (reasons_to_wait.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wait_before_recording(op, source, first, others);
}
inline void before_recording(const char* op, const Source& source, PyObject* first, PyObject* second) {
  before_recording(op, source, first, {&second, 1});
}

}  // namespace lento::python
