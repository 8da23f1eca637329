#include "executor/transfer.h"

#include "backend/backend.h"
#include "backend/queues.h"
#include "base/counters.h"
#include "base/fork.h"
#include "base/function_ref.h"
#include "base/timings.h"
#include "base/usable_devices.h"
#include "executor/work.h"
#include "executor/workers.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

namespace lento {

namespace {

const CounterId kUploads = counter_id("transfer.h2d");
const CounterId kDownloads = counter_id("transfer.d2h");
const CounterId kMoves = counter_id("transfer.d2d");
const TimingId kUploadTime = timing_id("transfer.h2d");
const TimingId kDownloadTime = timing_id("transfer.d2h");

/// What the host gives a device and is as small as a few numbers stays on the host too: who asks for it needs no copy.
constexpr std::size_t kKeptOnHost = 256;

/// Copies that take longer than waking a worker are left to one.
constexpr std::size_t kInlineBytes = std::size_t{1} << 18;

DeviceQueues* queues_of(std::uint8_t device) { return backend_of(device).queues(device); }

/// Whether a device copies from another one by itself. Of one backend, since nobody else knows its addresses.
bool is_direct(std::uint8_t from, std::uint8_t to) {
  if (&backend_of(from) != &backend_of(to)) return false;
  const DeviceQueues* const queues = queues_of(to);
  return queues != nullptr && queues->can_fetch(from);
}

/// From device to device, or through the memory of the host: from it, to it, or both.
struct Transfer final : Work {
  Transfer(DeviceQueues* of_source, const Value& source, std::uint8_t to)
      : Work(to), from(of_source), source_device(source.info.device) {}

  DeviceQueues* const from;  // null: the source lies in the host's memory
  const std::uint8_t source_device;
  BufferRef target;      // what the value will have
  BufferRef staging;     // between two devices that have queues
  bool arrives = false;  // what is under way is the last part

  bool counts() const override { return false; }
  std::uint8_t runs_on() const override { return from == nullptr ? device : source_device; }
  /// A copy that waited in its queue for what makes the source would hold up reads of values that are there (clause
  /// D3).
  Stage starts_after() const override { return Stage::done; }
  bool is_issued() const override { return arrives && queues_of(device) != nullptr; }

  FenceRef start() noexcept override {
    return or_fail([this] { return hand_over(); });
  }

  FenceRef settle() noexcept override {
    outputs[0]->failure = loss_on_the_way();
    if (arrives || outputs[0]->failure) {
      if (!is_issued()) outputs[0]->buffer = std::move(target);
      return finish();
    }
    return or_fail([this] { return deliver(*staging); });
  }

 private:
  /// What the function gives; when it throws, the copy has failed, and has ended.
  FenceRef or_fail(FunctionRef<FenceRef()> part) {
    try {
      return part();
    } catch (...) {
      poison(*this, failure_of_exception(*this));
      return finish();
    }
  }

  /// What was on its way from or to a device that was lost meanwhile may not have arrived.
  FailureRef loss_on_the_way() const {
    FailureRef loss = from == nullptr ? FailureRef{} : why_unusable(source_device);
    return loss ? loss : why_unusable(device);
  }

  /// Lets go of memory before anybody hears that the copy has ended.
  FenceRef finish() {
    if (FailureRef loss = loss_on_the_way()) outputs[0]->failure = std::move(loss);
    target.reset();
    staging.reset();
    return {};
  }

  FenceRef hand_over() {
    const Value& source = *inputs[0];
    if (source.failure) {
      outputs[0]->failure = source.failure;
      return finish();
    }
    if (from == nullptr) return deliver(*source.buffer);
    if (is_direct(source_device, device)) {
      return arrive([&](DeviceQueues& queues) {
        queues.fetch(target->data(), source_device, source.buffer->data(), source.buffer->size());
      });
    }
    DeviceQueues* const onwards = queues_of(device);
    arrives = onwards == nullptr;
    if (!arrives) staging = onwards->host_memory(source.buffer->size());
    FenceRef there = from->make_fence();
    from->download(arrives ? target->data() : staging->data(), source.buffer->data(), source.buffer->size());
    from->record(Queue::download, there);
    return there;
  }

  /// From the host's memory to the target.
  FenceRef deliver(const Buffer& host) {
    arrives = true;
    if (queues_of(device) == nullptr) {
      backend_of(device).copy_from_host(*target, host.data(), host.size());
      outputs[0]->buffer = std::move(target);
      return {};
    }
    return arrive([&](DeviceQueues& queues) { queues.upload(target->data(), host.data(), host.size()); });
  }

  /// The last part, on a device with queues.
  FenceRef arrive(FunctionRef<void(DeviceQueues&)> queue_copy) {
    arrives = true;
    DeviceQueues& queues = *queues_of(device);
    FenceRef there = queues.make_fence();
    queue_copy(queues);
    queues.record(Queue::upload, there);
    outputs[0]->buffer = std::move(target);
    return there;
  }
};

ValueRef transfer(const ValueRef& source, DeviceQueues* from, std::size_t bytes, const ValueInfo& info) {
  const std::uint8_t to = info.device;
  auto copy = std::make_unique<Transfer>(from, *source, to);
  copy->target = backend_of(to).allocate(bytes, to);
  copy->inputs.push_back(source);
  ValueRef there = Value::future(copy->completion, info);
  copy->outputs.push_back(there);
  const NoForkNow no_fork;
  const bool only_queues = from != nullptr || queues_of(to) != nullptr;
  if (!source->settled() || (!only_queues && bytes > kInlineBytes)) {
    start_when_ready(std::move(copy));
    return there;
  }
  Transfer* const started = copy.release();
  if (start_here(*started)) copy.reset(started);
  return there;
}

struct Views {
  ForkMutex mutex{ForkOrder::values};
};

/// A copy for a read. It keeps the memory on both sides, since who waits for it may be interrupted.
struct ReadCopy final : FenceListener {
  ReadCopy(BufferRef on_device, BufferRef on_host) : source(std::move(on_device)), host(std::move(on_host)) {}
  void reached() noexcept override {
    const std::unique_ptr<ReadCopy> owned(this);
    // Whoever is woken may be the last to hold them.
    source.reset();
    host.reset();
    done->finish();
  }

  BufferRef source;
  BufferRef host;
  const CompletionRef done = Completion::make();
};

}  // namespace

ValueRef copy_to_device(const ValueRef& source, std::size_t bytes, const ValueInfo& info) {
  require_usable(source->info.device);
  require_usable(info.device);
  DeviceQueues* const from = queues_of(source->info.device);
  if (is_direct(source->info.device, info.device)) {
    count(kMoves);
  } else {
    if (from != nullptr) count(kDownloads);
    if (from == nullptr || queues_of(info.device) != nullptr) count(kUploads);
  }
  return transfer(source, from, bytes, info);
}

ValueRef upload(const void* data, std::size_t bytes, const ValueInfo& info) {
  const TimedSection timed(kUploadTime);
  require_usable(info.device);
  count(kUploads);
  DeviceQueues* const queues = queues_of(info.device);
  if (queues == nullptr) {
    BufferRef buffer = backend_of(info.device).allocate(bytes, info.device);
    backend_of(info.device).copy_from_host(*buffer, data, bytes);
    return Value::ready(std::move(buffer), info);
  }
  BufferRef host = queues->host_memory(bytes);
  if (bytes != 0) std::memcpy(host->data(), data, bytes);
  ValueRef there = transfer(Value::ready(host, info), nullptr, bytes, info);
  if (bytes <= kKeptOnHost) there->on_host = std::move(host);  // nobody else has the value yet
  return there;
}

const void* known_on_host(const Value& value) {
  if (value.settled() && value.failure) return nullptr;
  if (backend_of(value.info.device).in_host_memory()) return value.settled() ? value.buffer->data() : nullptr;
  const std::lock_guard lock(ProcessLifetime<Views>::get().mutex);
  return value.on_host ? value.on_host->data() : nullptr;
}

const void* host_view(Value& value) {
  const std::uint8_t device = value.info.device;
  require_usable(device);
  DeviceQueues* const queues = queues_of(device);
  if (queues == nullptr) return backend_of(device).host_pointer(*value.buffer);
  Views& views = ProcessLifetime<Views>::get();
  {
    const std::lock_guard lock(views.mutex);
    if (value.on_host) return value.on_host->data();
  }
  const TimedSection timed(kDownloadTime);
  count(kDownloads);
  BufferRef host = queues->host_memory(value.buffer->size());
  auto copy = std::make_unique<ReadCopy>(value.buffer, host);
  const CompletionRef done = copy->done;
  const FenceRef there = queues->make_fence();
  queues->download(host->data(), value.buffer->data(), value.buffer->size());
  queues->record(Queue::download, there);
  there->then(*copy.release());
  done->wait();
  require_usable(device);
  const std::lock_guard lock(views.mutex);
  if (!value.on_host) value.on_host = std::move(host);
  return value.on_host->data();
}

}  // namespace lento
