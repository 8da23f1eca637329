// Watchers: who is told of every op that the calling thread records. Differentiation keeps its log this way: a tape
// forgets an op once it is computed, and a log must not.
#pragma once

#include <lento/tensor.h>

#include "base/source.h"
#include "ir/record.h"
#include "tensor/record.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace lento {

/// One op that was recorded, with its results; the spans are valid during the call.
struct RecordedOp {
  Op op;
  AttrsId attrs;
  std::span<const RecordOperand> operands;
  std::span<const Tensor> results;
  Source source;
};

/// A function that was called with a derivative of its own: its ops were concealed.
struct CustomCall {
  /// Cotangents of the inputs, from inputs, outputs and the outputs' cotangents.
  using Backward = std::function<std::vector<Tensor>(const std::vector<Tensor>&, const std::vector<Tensor>&,
                                                     const std::vector<Tensor>&)>;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::shared_ptr<const Backward> backward;
  Source source;
};

/// Told of the ops of the thread that made it, from its making until stop(). Watchers nest; each is told of everything
/// that is recorded, also by what the inner ones do.
class Watcher {
 public:
  Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  virtual void recorded(const RecordedOp& op) = 0;
  virtual void called(const CustomCall&) {}
  /// A value is about to be read on the host; may throw to refuse.
  virtual void reading(const TensorState&) {}
  /// Whether a derivative by what this value was computed from may be asked for.
  virtual bool follows_value(const TensorState&) const { return false; }
  /// What is recorded from now on is (is no longer) no part of any derivative but by these inputs. Nests.
  virtual void conceal(bool /*begin*/, std::span<const Tensor> /*inputs*/) {}

  /// Ends the watch; may be called twice, and in any order. Throws ValueError in another thread.
  void stop();
  /// False while it is in the list of another thread, which then must not lose it.
  bool may_go() const;
  Watcher* outer() const { return outer_; }

 protected:
  ~Watcher();

 private:
  void unlink() noexcept;

  Watcher* outer_ = nullptr;
  Watcher** thread_ = nullptr;  // the list it is in
  bool stopped_ = false;
};

/// The innermost watcher of the calling thread; null when nobody watches.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local Watcher* current_watcher;

/// Calls `tell(watcher)` for every watcher of the calling thread, from the innermost on.
template <class Tell>
void tell_watchers(const Tell& tell) {
  for (Watcher* watcher = current_watcher; watcher != nullptr; watcher = watcher->outer()) tell(*watcher);
}

/// While it lives, what is recorded is no part of the derivatives that those who watch now may take.
class Concealed {
 public:
  explicit Concealed(std::span<const Tensor> inputs) : inputs_(inputs) {
    tell_watchers([&](Watcher& watcher) { watcher.conceal(true, inputs_); });
  }
  ~Concealed() {
    tell_watchers([&](Watcher& watcher) { watcher.conceal(false, inputs_); });
  }
  Concealed(const Concealed&) = delete;
  Concealed& operator=(const Concealed&) = delete;

 private:
  std::span<const Tensor> inputs_;
};

}  // namespace lento
