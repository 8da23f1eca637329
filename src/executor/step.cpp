// The public functions that evaluate: eval, step and wait (include/lento/eval.h).
#include <lento/eval.h>
#include <lento/tensor.h>

#include "base/counters.h"
#include "base/fail.h"
#include "base/timings.h"
#include "base/usable_devices.h"
#include "executor/closures.h"
#include "executor/evaluate.h"
#include "executor/work.h"
#include "tensor/tapes.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lento {

namespace {

const CounterId kSteps = counter_id("step");
const TimingId kStepTime = timing_id("step");

std::vector<Launched> evaluate_tensors(const std::vector<Tensor>& tensors, AfterLaunch next = AfterLaunch::go_on) {
  std::vector<TensorState*> states;
  for (const Tensor& tensor : tensors) states.push_back(&state_of(tensor));
  return evaluate(states, next);
}

std::vector<Device> devices_of(const std::vector<Tensor>& tensors) {
  std::vector<Device> found;
  for (const Tensor& tensor : tensors) {
    if (std::ranges::find(found, tensor.device()) == found.end()) found.push_back(tensor.device());
  }
  return found;
}

void let_devices_finish(const std::vector<Device>& which) {
  for (const Device device : which) let_work_end(device.id());
  for (const Device device : which) {
    if (const FailureRef failure = take_failure(device.id())) failure->raise();
  }
}

/// Waits for all before it throws the first failure.
void wait_for_all(const std::vector<Launched>& runs) {
  FailureRef first;
  for (const Launched& run : runs) {
    FailureRef failure = wait_for_work(run.device, run.completion);
    if (!first) first = std::move(failure);
  }
  if (first) first->raise();
}

}  // namespace

void eval(const std::vector<Tensor>& tensors, std::source_location site) {
  const CallScope scope("eval", site);
  evaluate_tensors(tensors);
}

void eval(const std::vector<Tensor>& tensors, EvalOptions options, std::source_location site) {
  const CallScope scope("eval", site);
  const std::vector<Device> which = devices_of(tensors);  // while no wait lets another thread change a handle
  evaluate_tensors(tensors, options.wait ? AfterLaunch::wait : AfterLaunch::go_on);
  if (options.wait) let_devices_finish(which);
}

void step(Device device, StepOptions options, std::source_location site) {
  const CallScope scope("step", site);
  const TimedSection timed(kStepTime);
  require_usable(device.id());
  wait_for_room(device.id());
  std::vector<PendingClosure> closures = take_closures(device.id());
  const AfterLaunch next = options.wait ? AfterLaunch::wait : AfterLaunch::go_on;
  std::vector<Launched> launched;
  try {
    // What makes handing over fail is better known before anything is launched.
    if (std::ranges::any_of(closures, &PendingClosure::run_async)) (void)max_async_closures();
    for (Tape* tape : options.all_threads ? all_tapes(device.id()) : std::vector{&tape_for(device.id())}) {
      if (!launched.empty()) wait_for_room(device.id());
      if (CompletionRef run = evaluate_all(*tape, next)) launched.push_back({device.id(), std::move(run)});
    }
    // Arguments that another thread recorded are not in this thread's tape.
    for (const PendingClosure& closure : closures) {
      for (Launched& run : evaluate_tensors(closure.args)) launched.push_back(std::move(run));
    }
  } catch (...) {
    return_closures(device.id(), std::move(closures));
    throw;
  }
  count(kSteps);
  run_closures(device.id(), std::move(closures));
  if (options.wait) wait_for_all(launched);
}

void wait(const std::vector<Device>& which, std::source_location site) {
  const CallScope scope("wait", site);
  let_devices_finish(which.empty() ? devices() : which);
}

}  // namespace lento
