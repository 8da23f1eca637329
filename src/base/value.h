// Value: what a tensor that left its tape stands for: a buffer or a failure, there already or still being computed.
// Completion: how far one run of a plan is; the values a run produces share it.
#pragma once

#include <lento/dtype.h>
#include <lento/error.h>

#include "base/buffer.h"
#include "base/fence.h"
#include "base/ref.h"
#include "base/source.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lento {

/// Why a value could not be computed. Shared by everything that depends on the failed op; its line is turned into text
/// only when somebody reads one of those tensors.
struct Failure {
  std::atomic<std::uint32_t> refs{1};
  ErrorKind kind = ErrorKind::backend;
  std::string message;  // "take_axis: index 9 is out of range …", without the line
  Source source;        // of the op that failed

  static Ref<Failure> make(ErrorKind kind, std::string message, const Source& source);
  static void destroy(Failure* failure);
  /// Throws the error, with its line.
  [[noreturn]] void raise() const;
};
using FailureRef = Ref<Failure>;

/// How far a run is. On the host, and on devices that compute before a call returns, runs are issued and done at once.
enum class Stage : std::uint8_t {
  waiting,  // for values it reads, or for a thread
  issued,   // the memory of its results exists, and its place in its device's order is fixed: later runs can follow
  done,     // it has ended: its results can be read, or have failed
};

/// Somebody who wants to hear of a run: another run that needs its results.
class CompletionListener {
 public:
  /// Called once, on the thread that brought the run to the stage.
  virtual void completed() = 0;

 protected:
  ~CompletionListener() = default;
};

class Completion {
 public:
  static Ref<Completion> make();
  static void destroy(Completion* completion);

  bool issued() const { return stage_.load(std::memory_order_acquire) >= Stage::issued; }
  bool done() const { return stage_.load(std::memory_order_acquire) == Stage::done; }
  /// Blocks until done, or until a front end's interrupt check throws.
  void wait() const;
  /// False when that stage is reached already; then the listener is not called.
  bool add_listener(CompletionListener* listener, Stage stage);
  /// Tells listeners that the values' buffers are there. `fence` is where the device will have computed them.
  void issue(FenceRef fence);
  /// In the child of a fork, where nobody waits and no listener is left that could do anything: it has ended.
  void abandon_in_child() { stage_.store(Stage::done, std::memory_order_release); }
  /// Wakes waiters and tells listeners. Everything the run wrote happens before what they do.
  void finish();

  std::atomic<std::uint32_t> refs{1};
  FailureRef failure;  // one that began in this run, if any; written before it finishes
  FenceRef fence;      // of a run that was issued before it is done; written before it is issued

 private:
  struct Listening {
    CompletionListener* listener;
    Stage stage;
  };

  std::atomic<Stage> stage_{Stage::waiting};
  std::mutex mutex_;  // guards listeners_ against issue and finish
  std::vector<Listening> listeners_;
};
using CompletionRef = Ref<Completion>;

enum class ShapeId : std::uint32_t;  // the ir layer's

/// What a value is, for whoever lists tensors.
struct ValueInfo {
  DType dtype = DType::float32;
  std::uint8_t device = 0;
  ShapeId shape{};
  Source source;  // the line that made it
};

/// Values live in slabs that are never freed, so that every_value() can walk them.
struct Value {
  static constexpr bool kCanBeFound = true;

  std::atomic<std::uint32_t> refs{0};  // 0: free, or not published yet
  ValueInfo info;                      // set at creation
  /// A tape's hint where it keeps this value among its leaves: tape serial << 32 | slot. Verified before use: a
  /// stale or racing one only costs a look into the tape's index.
  std::atomic<std::uint64_t> leaf_hint{0};
  std::atomic<std::uint64_t> tensor_id{0};  // of the tensor that has it; 0 when only records and runs hold it
  CompletionRef producer;                   // set at creation; null when the value was there from the start
  BufferRef buffer;    // written before the producer is issued, then constant; null: it has failed, or will have
  FailureRef failure;  // written before the producer is done, then constant
  BufferRef on_host;   // of a device whose memory the host cannot read: a copy, once it has one

  static Ref<Value> ready(BufferRef buffer, const ValueInfo& info = {});
  static Ref<Value> failed(FailureRef failure, const ValueInfo& info = {});
  static Ref<Value> future(CompletionRef producer, const ValueInfo& info);
  static void destroy(Value* value);

  /// Work under way has one of the references until it ends.
  std::atomic<bool> held_by_work{false};

  /// True when the caller's reference is the only one, besides that of the work that makes the value: a run may write
  /// over it. The count is read first: what it counts is still there when the flag says so afterwards.
  bool held_once() const {
    const std::uint32_t holders = refs.load(std::memory_order_acquire);
    return holders == 1 || (holders == 2 && held_by_work.load(std::memory_order_acquire));
  }

  /// Later runs on its device can read it.
  bool issued() const { return !producer || producer->issued(); }
  /// It is there, or has failed.
  bool settled() const { return !producer || producer->done(); }
  void wait() const {
    if (producer) producer->wait();
  }
};
using ValueRef = Ref<Value>;

/// Every value that somebody holds at this moment.
std::vector<ValueRef> every_value();

}  // namespace lento
