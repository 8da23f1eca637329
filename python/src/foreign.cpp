#include "foreign.h"

#include "gil.h"

#include <atomic>
#include <utility>

namespace lento::python {
namespace {

// What is put off: a stack without a lock, because a fork may happen while another thread stands in here.
struct PutOff {
  std::function<void()> release;
  PutOff* next = nullptr;
};
std::atomic<PutOff*> newest = nullptr;
// The interpreter has a call of run_releases to make. Its queue is short; when it was full, the next release asks
// again.
std::atomic<bool> announced = false;

int run_releases(void* /*unused*/) {
  announced.store(false);
  PutOff* each = newest.exchange(nullptr);
  while (each != nullptr) {
    const std::unique_ptr<PutOff> done(each);
    each = done->next;
    done->release();
  }
  return 0;
}

void put_off(PutOff* item) {
  item->next = newest.load();
  while (!newest.compare_exchange_weak(item->next, item)) {
  }
  // A run may end after the interpreter has: then what it held goes with the process.
  if (const InsidePython inside; inside && !announced.exchange(true)) {
    if (Py_AddPendingCall(run_releases, nullptr) != 0) announced.store(false);
  }
}

}  // namespace

std::shared_ptr<const void> owner_that_ends_with(std::function<void()> release) {
  run_releases(nullptr);
  auto item = std::make_unique<PutOff>();
  item->release = std::move(release);
  return {item.release(), [](const void* done) { put_off(static_cast<PutOff*>(const_cast<void*>(done))); }};
}

std::shared_ptr<const void> owner_of(PyObject* object) {
  Py_INCREF(object);
  return owner_that_ends_with([object] { Py_DECREF(object); });
}

}  // namespace lento::python
