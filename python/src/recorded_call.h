// Recording a call of a compiled function, for lento/_compile.py.
#pragma once

#include "executor/frozen_call.h"

#include <lento/scalar.h>

#include <nanobind/nanobind.h>

namespace lento::python {

/// The call that a `_CallRecorder` has recorded, with a copy of its own. Throws PythonError for anything else.
CallGraph take_call(PyObject* recorder);
/// The same without a copy.
const CallGraph& recorded_call(PyObject* recorder);

/// "…, at train.py:41", or the text alone where the line is not known.
std::string with_line(const std::string& text, const Source& line);

/// Whether it is a number as lento.host_number gives it to a call that is recorded.
bool is_host_number(PyObject* object);
/// Its value, for an op that is about to have it as an operand.
Scalar take_host_number(PyObject* number);

void bind_recorded_calls(nanobind::module_& module);

}  // namespace lento::python
