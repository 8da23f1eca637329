#include "gil.h"

#include "base/interrupt.h"

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <utility>

namespace lento::python {
namespace {

/// Threads of Lento's own that are inside Python or on their way in, and whether there is a way in.
std::atomic<int> workers_inside{0};
std::atomic<bool> closed{false};

/// Calls a function of CPython that takes the GIL. CPython before 3.14 ends a thread that comes too late by
/// pthread_exit, which unwinds C++ frames that do not expect it and would call std::terminate. Leaving this handler is
/// not allowed, so the thread stays in it.
template <class F>
auto taking_gil(F&& take) noexcept {
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    while (true) ::pause();
  }
}

/// The state of a thread that is inside a WithoutGil. Taking the GIL with it is right at any time: unlike
/// PyGILState_Ensure, PyEval_RestoreThread looks whether the interpreter is ending before it looks at anything else.
constinit thread_local PyThreadState* released = nullptr;
/// True inside a MayBlock.
constinit thread_local bool may_block = false;
/// True on threads of Lento's own that have been on the way into Python.
constinit thread_local bool is_worker = false;

/// The thread that ends the interpreter, once it has begun to.
std::atomic<pthread_t> ending_thread{};

/// Once the interpreter is ending, only the thread that ends it has the GIL. CPython ends others that run Python code
/// by pthread_exit, which comes through our frames; and when the interpreter is gone, nobody would stop them any more.
void stay_if_ended() {
  if (Py_IsInitialized() != 0 || pthread_equal(ending_thread.load(), pthread_self()) != 0) return;
  while (true) ::pause();
}

/// Ends the time without the GIL.
void take_back() {
  stay_if_ended();
  PyThreadState* state = std::exchange(released, nullptr);
  taking_gil([state] { PyEval_RestoreThread(state); });
}

void release(PyObject* object) {
  const bool has_gil = released == nullptr && Py_IsInitialized() != 0 && PyGILState_Check() != 0;
  if (is_worker || (released == nullptr && !has_gil)) {
    if (const WorkerGil gil; gil) Py_DECREF(object);
  } else {
    const WithGil gil;
    Py_DECREF(object);
  }
}

// The threads that were inside are not in the child.
[[maybe_unused]] const int installed = pthread_atfork(nullptr, nullptr, [] { workers_inside.store(0); });

}  // namespace

WithoutGil::WithoutGil() { released = PyEval_SaveThread(); }

WithoutGil::~WithoutGil() { take_back(); }

WithGil::WithGil() : taken_(released != nullptr), outer_may_block_(std::exchange(may_block, false)) {
  if (taken_) take_back();
}

WithGil::~WithGil() {
  may_block = outer_may_block_;
  if (!taken_) return;
  stay_if_ended();
  released = PyEval_SaveThread();
}

MayBlock::MayBlock(bool may) : outer_(std::exchange(may_block, may)) {}
MayBlock::~MayBlock() { may_block = outer_; }

void install_blocking_hooks() {
  const auto before = [](WhoMayBlock who) -> void* {
    if (released != nullptr) return nullptr;
    const bool may = may_block || (who == WhoMayBlock::anybody && Py_IsInitialized() != 0 && PyGILState_Check() != 0);
    return may ? released = PyEval_SaveThread() : nullptr;
  };
  const auto after = [](void* /*token*/) { take_back(); };
  const auto may = [] { return may_block || released != nullptr || PyGILState_Check() == 0; };
  set_blocking_hooks({before, after, may});
}

InsidePython::InsidePython() {
  // Comes in before it looks, and close_python_to_workers closes before it counts: one of the two sees the other.
  workers_inside.fetch_add(1);
  entered_ = !closed.load();
  if (!entered_) workers_inside.fetch_sub(1);
}

InsidePython::~InsidePython() {
  if (!entered_) return;
  workers_inside.fetch_sub(1);
  workers_inside.notify_all();
}

WorkerGil::WorkerGil() {
  is_worker = true;
  if (inside_) state_ = taking_gil([] { return PyGILState_Ensure(); });
}

WorkerGil::~WorkerGil() {
  if (inside_) PyGILState_Release(state_);
}

void close_python_to_workers() {
  ending_thread.store(pthread_self());
  closed.store(true);
}

void wait_for_workers_inside() {
  for (int inside = workers_inside.load(); inside != 0; inside = workers_inside.load()) workers_inside.wait(inside);
}

bool python_closed_to_workers() { return closed.load(); }

SharedObject share(PyObject* object) { return {Py_NewRef(object), release}; }

void check_signals() {
  if (released == nullptr) return;  // not a thread of Python's that waits
  const WithGil gil;
  if (PyErr_CheckSignals() != 0) throw PythonError{};
}

}  // namespace lento::python
