// Which tape belongs to whom: each thread has one tape per device. A thread that ends leaves its tape to the handles
// that are still pending in it; once empty it goes to the next thread that needs one.
#pragma once

#include "base/devices.h"
#include "ir/tape.h"

#include <cstdint>
#include <vector>

namespace lento {

/// The calling thread's tapes by device; null where it has recorded nothing yet.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local Tape* current_tapes[kMaxDevices];
Tape& make_tape(std::uint8_t device);

/// The tapes of all threads for this device, and those that ended threads left behind.
std::vector<Tape*> all_tapes(std::uint8_t device);

/// The tape the calling thread records into.
inline Tape& tape_for(std::uint8_t device) {
  Tape* tape = current_tapes[device];
  if (tape == nullptr) [[unlikely]]
    return make_tape(device);
  return *tape;
}

inline bool owned_by_caller(const Tape& tape) { return current_tapes[tape.device] == &tape; }

/// Holds a tape's lock, as its owner or as a visitor.
class TapeGuard {
 public:
  explicit TapeGuard(Tape& tape) : tape_(tape), owner_(owned_by_caller(tape)) {
    if (owner_) {
      tape_.lock.lock_owner();
    } else {
      tape_.lock.lock_visitor();
    }
  }
  ~TapeGuard() {
    if (owner_) {
      tape_.lock.unlock_owner();
    } else {
      tape_.lock.unlock_visitor();
    }
  }
  TapeGuard(const TapeGuard&) = delete;
  TapeGuard& operator=(const TapeGuard&) = delete;

 private:
  Tape& tape_;
  bool owner_;
};

}  // namespace lento
