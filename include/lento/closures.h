// Step closures: functions that are called after a step, with tensors as they were when the closure was added
// (clauses C1 to C6). For logging, checkpoints and everything else that should not make the loop wait.
#pragma once

#include <lento/device.h>
#include <lento/error.h>
#include <lento/export.h>
#include <lento/located.h>
#include <lento/tensor.h>

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

namespace lento {

using StepClosure = std::function<void(const std::vector<Tensor>&)>;

/// Calls f(args) after the device's next step. The args are snapshots and are computed by that step. Synchronous
/// closures run on the stepping thread, in the order added, before step() returns; asynchronous ones run in order on
/// one worker thread per device. Reading an argument waits for it, computes nothing more and is not counted as a sync.
/// Throws ValueError when the function or an argument is empty.
LENTO_API void add_step_closure(StepClosure f, std::vector<Tensor> args = {}, bool run_async = false,
                                Device device = {}, std::source_location site = std::source_location::current());

namespace detail {

template <std::size_t>
using EachTensor = const Tensor&;

/// Throws ValueError with the line.
[[noreturn]] LENTO_API void fail_closure_takes_others(std::size_t count, const std::source_location& site);

/// Calls `f` with `args` one by one, or gives false when it cannot be called with so many; with `check` it is only
/// asked. As many as eight.
template <class F>
bool call_one_by_one(F& f, const std::vector<Tensor>& args, bool check) {
  const auto of_count = [&]<std::size_t... i>(std::index_sequence<i...>) {
    if constexpr (std::invocable<F&, EachTensor<i>...>) {
      if (args.size() != sizeof...(i)) return false;
      if (!check) std::invoke(f, args[i]...);
      return true;
    } else {
      return false;
    }
  };
  return [&]<std::size_t... count>(std::index_sequence<count...>) {
    return (of_count(std::make_index_sequence<count>{}) || ...);
  }(std::make_index_sequence<9>{});
}

}  // namespace detail

/// The same for a function of up to eight single tensors: `add_step_closure([](const Tensor& x, const Tensor& y) { … },
/// {loss, norm}, true)`. Throws ValueError also when it does not take as many as are given.
template <class F>
  requires(!std::convertible_to<F, StepClosure>)
void add_step_closure(F f, std::vector<Tensor> args = {}, bool run_async = false, Device device = {},
                      std::source_location site = std::source_location::current()) {
  StepClosure closure;
  if (!detail::is_empty_function(f)) {
    if (!detail::call_one_by_one(f, args, true)) detail::fail_closure_takes_others(args.size(), site);
    closure = [f = std::move(f)](const std::vector<Tensor>& now) mutable { detail::call_one_by_one(f, now, false); };
  }
  add_step_closure(std::move(closure), std::move(args), run_async, device, site);
}

/// The same with up to three tensors one by one, for a synchronous closure of the default device:
/// `add_step_closure([](const Tensor& x) { … }, loss)`.
template <class F, std::convertible_to<Tensor> T>
void add_step_closure(F f, const T& x, std::source_location site = std::source_location::current()) {
  add_step_closure(std::move(f), std::vector<Tensor>{x}, false, Device(), site);
}
template <class F, std::convertible_to<Tensor> T, std::convertible_to<Tensor> U>
void add_step_closure(F f, const T& x, const U& y, std::source_location site = std::source_location::current()) {
  add_step_closure(std::move(f), std::vector<Tensor>{x, y}, false, Device(), site);
}
template <class F, std::convertible_to<Tensor> T, std::convertible_to<Tensor> U, std::convertible_to<Tensor> V>
void add_step_closure(F f, const T& x, const U& y, const V& z,
                      std::source_location site = std::source_location::current()) {
  add_step_closure(std::move(f), std::vector<Tensor>{x, y, z}, false, Device(), site);
}
template <class F, std::convertible_to<Tensor> T>
void add_step_closure(F f, const T& x, bool run_async) = delete;  // in braces: add_step_closure(f, {loss}, true)

/// Runs the closures added since the last step now, as step() does after launching.
LENTO_API void run_step_closures(Device device = {}, std::source_location site = std::source_location::current());

/// Blocks until the asynchronous closures handed over so far have run (or were dropped after one failed).
LENTO_API void wait_closures();

/// How many asynchronous closures may wait; handing over more blocks. LENTO_MAX_ASYNC_QUEUE, or 100. Throws ValueError
/// when that is not a whole number of at least 1.
LENTO_API std::size_t max_async_closures();

/// Thrown by the next step that hands over asynchronous closures after one has failed. what() tells what the original
/// exception says, cause() is that exception.
class LENTO_API ClosureError : public BackendError {
 public:
  explicit ClosureError(std::exception_ptr cause);
  const std::exception_ptr& cause() const { return cause_; }

 private:
  std::exception_ptr cause_;
};

}  // namespace lento
