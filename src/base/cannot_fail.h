// CannotFail: where a thread is in a function that must not fail. Hardware needs no memory of the host there; a device
// of tests does, so tests that let allocations fail ask first.
#pragma once

namespace lento {

/// While one lives, the thread that made it is in such a function.
class CannotFail {
 public:
  CannotFail() { ++depth_; }
  ~CannotFail() { --depth_; }
  CannotFail(const CannotFail&) = delete;
  CannotFail& operator=(const CannotFail&) = delete;

  static bool here() { return depth_ != 0; }

 private:
  static inline constinit thread_local int depth_ = 0;
};

}  // namespace lento
