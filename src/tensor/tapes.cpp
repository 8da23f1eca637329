#include "tensor/tapes.h"

#include "base/fail.h"
#include "base/fork.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

namespace lento {

namespace {

/// Tapes whose thread ended. Some still hold pending records that handles elsewhere name.
struct Idle {
  std::mutex mutex;
  std::vector<Tape*> tapes[kMaxDevices];
};

Idle& idle() {
  static auto* pool = [] {
    auto* made = new Idle;  // threads may end while the process exits
    lock_while_forking(made->mutex, ForkOrder::tapes);
    return made;
  }();
  return *pool;
}

struct ThreadEnd {
  ~ThreadEnd() {
    for (std::size_t device = 0; device < kMaxDevices; ++device) {
      if (Tape* tape = std::exchange(current_tapes[device], nullptr)) {
        Idle& pool = idle();
        const std::lock_guard lock(pool.mutex);
        pool.tapes[device].push_back(tape);
      }
    }
  }
};

}  // namespace

constinit thread_local Tape* current_tapes[kMaxDevices] = {};

Tape& make_tape(std::uint8_t device) {
  if (device >= kMaxDevices) fail<DeviceError>("there are more than {} devices", kMaxDevices);
  static thread_local ThreadEnd at_thread_end;
  (void)at_thread_end;
  Idle& pool = idle();
  const std::lock_guard lock(pool.mutex);
  std::vector<Tape*>& unused = pool.tapes[device];
  const auto empty = std::find_if(unused.begin(), unused.end(), [](Tape* tape) {
    const TapeGuard guard(*tape);
    return tape->size() == 0;
  });
  Tape* tape;
  if (empty == unused.end()) {
    tape = std::make_unique<Tape>(device).release();
  } else {
    tape = *empty;
    unused.erase(empty);
  }
  current_tapes[device] = tape;
  return *tape;
}

}  // namespace lento
