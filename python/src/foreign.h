// What keeps memory of others alive that tensors share: a Python object, or what a DLPack producer asks to be called.
#pragma once

#include "errors.h"

#include <functional>
#include <memory>

namespace lento::python {

/// An owner for from_memory. Tensors are dropped on any thread and under locks, where nobody may wait for the GIL: what
/// is to be done then is put off until the interpreter's main thread is between two instructions (or the next call of
/// this function), and done with the GIL. Nothing is done any more when the interpreter ends.
std::shared_ptr<const void> owner_that_ends_with(std::function<void()> release);

/// An owner that holds this object.
std::shared_ptr<const void> owner_of(PyObject* object);

}  // namespace lento::python
