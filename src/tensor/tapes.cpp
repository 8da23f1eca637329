#include "tensor/tapes.h"

#include "base/fail.h"
#include "base/fork.h"
#include "tensor/before_recording.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

namespace lento {

namespace {

struct Registry {
  ForkMutex mutex{ForkOrder::tapes};
  std::vector<Tape*> all[kMaxDevices];
  std::vector<Tape*> idle[kMaxDevices];  // whose thread ended; some hold pending records that handles elsewhere name

  Registry() {
    // A thread that is recording when another one forks would leave its tape locked for ever in the child.
    lock_while_forking([this] { lock_all(); }, [this] { unlock_all(&BiasedLock::unlock_visitor); },
                       [this] { unlock_all(&BiasedLock::unlock_in_child); }, ForkOrder::tape);
  }

  /// For fork: the list is locked already. The forking thread is not recording, so its own tapes are free.
  void lock_all() {
    for (const std::vector<Tape*>& tapes : all) {
      for (Tape* tape : tapes) {
        if (!owned_by_caller(*tape)) tape->lock.lock_visitor();
      }
    }
  }
  void unlock_all(void (BiasedLock::*unlock)()) {
    for (const std::vector<Tape*>& tapes : all) {
      for (Tape* tape : tapes) {
        if (!owned_by_caller(*tape)) (tape->lock.*unlock)();
      }
    }
  }
};

Registry& registry() { return ProcessLifetime<Registry>::get(); }

struct ThreadEnd {
  ~ThreadEnd() {
    forget_long_trace();
    for (std::size_t device = 0; device < kMaxDevices; ++device) {
      if (Tape* tape = std::exchange(current_tapes[device], nullptr)) {
        Registry& tapes = registry();
        const std::lock_guard lock(tapes.mutex);
        tapes.idle[device].push_back(tape);
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
  Registry& tapes = registry();
  const std::lock_guard lock(tapes.mutex);
  std::vector<Tape*>& unused = tapes.idle[device];
  const auto empty = std::find_if(unused.begin(), unused.end(), [](Tape* tape) {
    const TapeGuard guard(*tape);
    return tape->size() == 0;
  });
  Tape* tape;
  if (empty == unused.end()) {
    auto made = std::make_unique<Tape>(device);
    tapes.all[device].push_back(made.get());
    tape = made.release();
    if (tapes.all[device].size() > 1) note_second_thread();
  } else {
    tape = *empty;
    unused.erase(empty);
  }
  current_tapes[device] = tape;
  return *tape;
}

std::vector<Tape*> all_tapes(std::uint8_t device) {
  Registry& tapes = registry();
  const std::lock_guard lock(tapes.mutex);
  return tapes.all[device];
}

}  // namespace lento
