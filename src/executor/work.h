// Work: something under way on a device, a run of a plan or a copy. It begins when the values it reads are issued, or
// done, and ends when the device has done it; whoever holds its results waits for its completion.
#pragma once

#include "base/fence.h"
#include "base/progress.h"
#include "base/value.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lento {

struct Work : CompletionListener {
  explicit Work(std::uint8_t on) : device(on) {}
  /// Takes it off the list of its device, behind all else that goes: what nobody finds there any more uses nothing.
  virtual ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  const std::uint8_t device;
  std::vector<ValueRef> inputs;   // released when the work has ended
  std::vector<ValueRef> outputs;  // futures on `completion`
  CompletionRef completion = Completion::make();
  // Its place among the work under way on its device, and what is asked of work that stands there, which may be going
  // already; guarded by that list's lock.
  Work* previous = nullptr;
  Work* next = nullptr;
  std::size_t planned = 0;  // bytes that the list counts for it
  bool is_listed = false;
  bool is_counted = false;    // for the limit of work under way
  std::uint8_t found_on = 0;  // runs_on()

  /// Whether it counts for the limit of work under way.
  virtual bool counts() const { return true; }
  /// What it may allocate, at most, for the memory limit.
  virtual std::size_t planned_bytes() const { return 0; }
  /// How far its inputs have to be for it to start.
  virtual Stage starts_after() const { return Stage::issued; }
  /// Does it and returns null, or hands it to a device and returns the fence where that will have done it. What goes
  /// wrong sets the failures of outputs.
  virtual FenceRef start() noexcept = 0;
  /// Once the fence is reached and all inputs are settled: ends it and returns null, or hands over what comes next.
  virtual FenceRef settle() noexcept { return {}; }
  /// What does it.
  virtual std::uint8_t runs_on() const { return device; }
  /// Whether later work can be queued behind what start() or settle() has just handed over. Otherwise it has to end
  /// first.
  virtual bool is_issued() const { return true; }

  /// An input is as far as it has to be.
  void completed() override;

 private:
  friend void start_when_ready(std::unique_ptr<Work> work) noexcept;
  friend bool start_here(Work& work) noexcept;

  /// Counts what has to be done before the work has ended.
  struct Rest final : CompletionListener, FenceListener {
    explicit Rest(Work& of) : work(of) {}
    void completed() override;
    void reached() noexcept override { completed(); }
    Work& work;
    std::atomic<std::uint32_t> count{0};
  };

  void begin();
  void follow(FenceRef fence);
  void report_failure();
  void end();

  std::atomic<std::uint32_t> waits_for_{1};  // inputs that are not as far, and 1 until it is launched
  Rest rest_{*this};
};

/// Starts work on a worker once its inputs are as far as it wants them. It owns itself.
void start_when_ready(std::unique_ptr<Work> work) noexcept;
/// Starts work whose inputs are that far on this thread. True when it is done: the caller destroys it once it may
/// block, and with it lets go of the inputs. False when a device has taken it over: then it owns itself.
bool start_here(Work& work) noexcept;

/// In a handler: what is handled, as the failure of all of the work. Needs no memory where there is none.
FailureRef failure_of_exception(const Work& work) noexcept;
/// Sets a failure for all outputs: this one, or that the device can no longer be used.
void poison(Work& work, FailureRef failure);

/// Blocks until all work launched before has ended.
void let_work_end(std::uint8_t device);
/// Blocks until no work is under way on any device, without a wait that a front end could break off; or until nobody
/// has the patience, and then returns false.
bool let_devices_end(Patience& patience);
/// Tells the user that the patience with devices that hang has ended, and what comes of it.
void tell_of_hanging_devices(std::string_view consequence);
/// In the child of a fork that did not wait to the end: what was under way has failed, whatever it was, and what the
/// parent's devices may still use stays where it is.
void abandon_work_in_child();
/// The oldest failure on the device that nobody has been told of, or null. The caller tells.
FailureRef take_failure(std::uint8_t device);
/// Blocks until the work has ended. The failure that began in it, or null; the caller tells.
FailureRef wait_for_work(std::uint8_t device, const CompletionRef& completion);
/// Blocks while as much work as allowed is under way on the device.
void wait_for_room(std::uint8_t device);
/// What the work under way on the device may still allocate, at most.
std::size_t planned_bytes_under_way(std::uint8_t device);

std::uint32_t max_inflight_steps();
void set_max_inflight_steps(std::uint32_t limit);

}  // namespace lento
