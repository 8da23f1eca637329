// The global interpreter lock at the border: let go while Lento works, taken when Lento calls back, and left alone once
// the interpreter is ending.
#pragma once

#include "errors.h"

#include <memory>

namespace lento::python {

/// Releases the GIL while it lives. A daemon thread that wants it back when the interpreter is ending never gets it: it
/// sleeps until the process is gone.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
};

/// Holds the GIL while it lives: takes it back inside a WithoutGil of the same thread. For calling Python: an outer
/// MayBlock says nothing about the tensors that Python code has in play.
class WithGil {
 public:
  WithGil();
  ~WithGil();
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  bool taken_;
  bool outer_may_block_;
};

/// While it lives and is true, there is an interpreter: its end waits. For calls that need no GIL. False once Python is
/// closed to Lento's own threads.
class InsidePython {
 public:
  InsidePython();
  ~InsidePython();
  InsidePython(const InsidePython&) = delete;
  InsidePython& operator=(const InsidePython&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  bool entered_;
};

/// WithGil for Lento's own threads. False once Python is closed to them: a thread that asked for the GIL then would be
/// stopped for ever where it stands, and whoever waits for it with it.
class WorkerGil {
 public:
  WorkerGil();
  ~WorkerGil();
  WorkerGil(const WorkerGil&) = delete;
  WorkerGil& operator=(const WorkerGil&) = delete;
  explicit operator bool() const { return static_cast<bool>(inside_); }

 private:
  InsidePython inside_;
  PyGILState_STATE state_ = PyGILState_UNLOCKED;
};

/// No worker gets into Python any more; called when the interpreter ends. Then waits until none is inside.
void close_python_to_workers();
void wait_for_workers_inside();
bool python_closed_to_workers();

/// A Python object that any thread may let go, with or without the GIL, also after the end of the interpreter (then it
/// is left behind).
using SharedObject = std::shared_ptr<PyObject>;
SharedObject share(PyObject* object);

/// While it lives, Lento releases the GIL where it blocks inside an op, as ops do whose shapes depend on data. Whoever
/// makes one holds handles of its own on all tensors in play, because other threads may rebind theirs meanwhile.
class MayBlock {
 public:
  explicit MayBlock(bool may = true);
  ~MayBlock();
  MayBlock(const MayBlock&) = delete;
  MayBlock& operator=(const MayBlock&) = delete;

 private:
  bool outer_;
};
/// Teaches Lento what MayBlock promises. Called once.
void install_blocking_hooks();

/// Called by Lento while a thread waits: lets Python's signal handlers run, and throws PythonError when one raised.
void check_signals();

}  // namespace lento::python
