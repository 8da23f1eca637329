// What the tests of the toy device share.
#pragma once

#include <lento/lento.h>

#include "backend/backend.h"
#include "backend/queues.h"
#include "backends/toy/toy.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace lento::test {

/// Holds back what one queue is given from now on, until it is let go on. toy::hold() holds all of them.
class HeldQueue {
 public:
  HeldQueue(Device device, Queue queue) {
    toy::hold(true);  // the fence is not reached before its listener is there, which this thread would call then
    backend_of(device.id()).queues(device.id())->record(queue)->then(*std::make_unique<Holding>(goes_on_).release());
    toy::hold(false);
  }
  ~HeldQueue() { let_go_on(); }
  HeldQueue(const HeldQueue&) = delete;
  HeldQueue& operator=(const HeldQueue&) = delete;
  void let_go_on() {
    *goes_on_ = true;
    goes_on_->notify_all();
  }

 private:
  using Flag = std::shared_ptr<std::atomic<bool>>;
  struct Holding final : FenceListener {
    explicit Holding(Flag until) : goes_on(std::move(until)) {}
    void reached() noexcept override {
      const std::unique_ptr<Holding> owned(this);
      goes_on->wait(false);
    }
    const Flag goes_on;
  };

  const Flag goes_on_ = std::make_shared<std::atomic<bool>>(false);
};

/// What a child of this process finds wrong, as bits.
inline int in_child(const std::function<int()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Toy : public ::testing::Test {
 protected:
  void SetUp() override { toy::register_toy(); }
  void TearDown() override {
    toy::hold(false);
    toy::set_delays(0);
    toy::fail_at(toy::Fault::none);
    forget_failures();
    toy::set_support(toy::Support::all);
    toy::set_direct_copies(true);
    for (const int index : {0, 1}) {
      if (device(index).is_lost()) toy::replace(index);
    }
    cache::clear();
  }

  /// Waits for everything, until no failure that the test provoked is left to be told.
  static void forget_failures() {
    while (true) {
      try {
        return wait();
      } catch (const Error&) {
        continue;
      }
    }
  }

  static Device device(int index = 0) { return Device(index == 0 ? "toy:0" : "toy:1"); }
  static Tensor on(Device where, const std::vector<float>& values) {
    return from_host(values.data(), DType::float32, Shape{static_cast<std::int64_t>(values.size())}, where);
  }
  static Tensor on_toy(const std::vector<float>& values) { return on(device(), values); }
  /// One of which the host has no copy.
  static Tensor computed_on_toy(const std::vector<float>& values) {
    Tensor x = on_toy(values) + 0;
    step(device(), {.wait = true});
    return x;
  }
  static Tensor positions(const std::vector<std::int64_t>& values, Device where) {
    return from_host(values.data(), DType::int64, Shape{static_cast<std::int64_t>(values.size())}, where);
  }
  using Floats = std::vector<float>;
};

}  // namespace lento::test
