#include "base/value.h"

#include "base/called.h"
#include "base/fork.h"
#include "base/interrupt.h"
#include "base/progress.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <new>
#include <utility>

namespace lento {

namespace {

/// Waiters of all completions share a few condition variables: a wait is rare and a completion should stay small.
struct WaitBucket {
  std::mutex mutex;
  std::condition_variable changed;
};
constexpr std::size_t kBuckets = 16;
using WaitBuckets = std::array<WaitBucket, kBuckets>;

WaitBucket& bucket_of(const Completion* completion) {
  return PerProcess<WaitBuckets>::get()[(reinterpret_cast<std::uintptr_t>(completion) >> 6) % kBuckets];
}

/// What is told when there is no memory to tell anything.
struct NoMemory {
  NoMemory() {
    auto made = std::make_unique<Failure>();
    made->kind = ErrorKind::memory;
    made->message = "out of memory";
    failure = FailureRef::adopt(made.release());
  }
  FailureRef failure;
};

}  // namespace

Ref<Failure> Failure::make(ErrorKind kind, std::string message, const Source& source) {
  try {
    auto failure = std::make_unique<Failure>();
    failure->kind = kind;
    failure->message = std::move(message);
    failure->source = source;
    return FailureRef::adopt(failure.release());
  } catch (const std::bad_alloc&) {
    return ProcessLifetime<NoMemory>::get().failure;
  }
}

void Failure::destroy(Failure* failure) { std::unique_ptr<Failure>{failure}; }

void Failure::raise() const {
  const std::string line = to_string(source);
  const std::string text = named_as_called(message, source);
  Error::raise(kind, line.empty() ? text : text + ", at " + line);
}

Ref<Completion> Completion::make() { return CompletionRef::adopt(std::make_unique<Completion>().release()); }
void Completion::destroy(Completion* completion) { std::unique_ptr<Completion>{completion}; }

void Completion::wait() const {
  if (done()) return;
  const HostWaits waits;
  const Blocking blocking;
  WaitBucket& bucket = bucket_of(this);
  std::unique_lock lock(bucket.mutex);
  wait_interruptibly(bucket.changed, lock, [this] { return done(); });
}

bool Completion::add_listener(CompletionListener* listener, Stage stage) {
  const std::lock_guard lock(mutex_);
  if (stage_.load(std::memory_order_relaxed) >= stage) return false;
  listeners_.push_back({listener, stage});
  return true;
}

void Completion::issue(FenceRef reached) {
  {
    const std::lock_guard lock(mutex_);
    fence = std::move(reached);
    stage_.store(Stage::issued, std::memory_order_release);
  }
  // One after the other: a list of them would need memory, and this must not fail.
  const auto take_listener = [this]() -> CompletionListener* {
    const std::lock_guard lock(mutex_);
    const auto next = std::ranges::find(listeners_, Stage::issued, &Listening::stage);
    if (next == listeners_.end()) return nullptr;
    CompletionListener* const listener = next->listener;
    listeners_.erase(next);
    return listener;
  };
  while (CompletionListener* const next = take_listener()) next->completed();
}

void Completion::finish() {
  std::vector<Listening> listeners;
  {
    const std::lock_guard lock(mutex_);
    stage_.store(Stage::done, std::memory_order_release);
    listeners.swap(listeners_);
  }
  WaitBucket& bucket = bucket_of(this);
  {
    // Taking the mutex orders the store before a waiter's last look or after its wait.
    const std::lock_guard lock(bucket.mutex);
  }
  bucket.changed.notify_all();
  for (const Listening& it : listeners) it.listener->completed();
}

}  // namespace lento
