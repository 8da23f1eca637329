#include "executor/transfer.h"

#include "backend/backend.h"
#include "backend/queues.h"
#include "base/counters.h"
#include "base/fork.h"
#include "base/timings.h"
#include "executor/work.h"
#include "executor/workers.h"

#include <cstring>
#include <exception>
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

/// Copies that take longer than waking a worker are left to one.
constexpr std::size_t kInlineBytes = std::size_t{1} << 18;

DeviceQueues* queues_of(std::uint8_t device) { return backend_of(device).queues(device); }

/// A fence of nothing: what was to be done before it has been done.
class ReachedFence final : public Fence {
 public:
  bool done() const override { return true; }
  void wait() const override {}
  void then(std::function<void()> function) override { function(); }
};

/// Through the memory of the host: from it, to it, or both.
struct Transfer final : Work {
  Transfer(DeviceQueues* of_source, std::uint8_t to) : Work(to), from(of_source) {}

  DeviceQueues* const from;  // null: the source lies in the host's memory
  BufferRef target;          // what the value will have
  BufferRef staging;         // between two devices that have queues
  bool arrives = false;      // what is under way is the last part

  bool counts() const override { return false; }
  bool is_issued() const override { return arrives && queues_of(device) != nullptr; }

  FenceRef start() noexcept override {
    try {
      return hand_over();
    } catch (const Error& error) {
      poison(*this, error.kind(), error.what());
    } catch (const std::exception& error) {
      poison(*this, ErrorKind::memory, error.what());
    }
    return {};
  }

  FenceRef settle() noexcept override {
    const Value& source = *inputs[0];
    outputs[0]->failure = source.failure;
    if (arrives || source.failure) {
      if (!is_issued()) outputs[0]->buffer = std::move(target);
      return {};
    }
    try {
      return deliver(*staging);
    } catch (const std::exception& error) {
      poison(*this, ErrorKind::memory, error.what());
      return {};
    }
  }

 private:
  FenceRef hand_over() {
    const Value& source = *inputs[0];
    if (!source.buffer) {  // it has failed; why is known when it is settled
      arrives = true;
      return std::make_shared<ReachedFence>();
    }
    if (from == nullptr) return deliver(*source.buffer);
    DeviceQueues* const onwards = queues_of(device);
    arrives = onwards == nullptr;
    if (!arrives) staging = onwards->host_memory(source.buffer->size());
    if (!source.settled() && source.producer->fence) from->wait(Queue::download, source.producer->fence);
    from->download(arrives ? target->data() : staging->data(), source.buffer->data(), source.buffer->size());
    return from->record(Queue::download);
  }

  /// From the host's memory to the target.
  FenceRef deliver(const Buffer& host) {
    arrives = true;
    outputs[0]->buffer = target;
    DeviceQueues* const queues = queues_of(device);
    if (queues == nullptr) {
      backend_of(device).copy_from_host(*target, host.data(), host.size());
      return {};
    }
    queues->upload(target->data(), host.data(), host.size());
    return queues->record(Queue::upload);
  }
};

ValueRef transfer(const ValueRef& source, DeviceQueues* from, std::uint8_t to, std::size_t bytes,
                  const ValueKind& kind) {
  auto copy = std::make_unique<Transfer>(from, to);
  copy->target = backend_of(to).allocate(bytes, to);
  copy->inputs.push_back(source);
  ValueRef there = Value::future(copy->completion, kind);
  copy->outputs.push_back(there);
  const NoForkNow no_fork;
  const bool only_queues = from != nullptr || queues_of(to) != nullptr;
  if (!source->issued() || (!only_queues && bytes > kInlineBytes)) {
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

}  // namespace

ValueRef copy_to_device(const ValueRef& source, std::uint8_t from, std::uint8_t to, std::size_t bytes,
                        const ValueKind& kind) {
  if (queues_of(from) != nullptr) count(queues_of(to) != nullptr ? kMoves : kDownloads);
  if (queues_of(from) == nullptr) count(kUploads);
  return transfer(source, queues_of(from), to, bytes, kind);
}

ValueRef upload(const void* data, std::size_t bytes, std::uint8_t device, const ValueKind& kind) {
  const TimedSection timed(kUploadTime);
  count(kUploads);
  DeviceQueues* const queues = queues_of(device);
  if (queues == nullptr) {
    BufferRef buffer = backend_of(device).allocate(bytes, device);
    backend_of(device).copy_from_host(*buffer, data, bytes);
    return Value::ready(std::move(buffer), kind);
  }
  BufferRef host = queues->host_memory(bytes);
  if (bytes != 0) std::memcpy(host->data(), data, bytes);
  return transfer(Value::ready(std::move(host)), nullptr, device, bytes, kind);
}

const void* host_view(Value& value, std::uint8_t device) {
  DeviceQueues* const queues = queues_of(device);
  if (queues == nullptr) return backend_of(device).host_pointer(*value.buffer);
  Views& views = Lasting<Views>::get();
  {
    const std::lock_guard lock(views.mutex);
    if (value.on_host) return value.on_host->data();
  }
  const TimedSection timed(kDownloadTime);
  count(kDownloads);
  BufferRef host = queues->host_memory(value.buffer->size());
  queues->download(host->data(), value.buffer->data(), value.buffer->size());
  // Who waits may be interrupted; the memory stays until the copy has ended.
  const CompletionRef copied = Completion::make();
  queues->record(Queue::download)->then([copied, host, source = value.buffer] { copied->finish(); });
  copied->wait();
  const std::lock_guard lock(views.mutex);
  if (!value.on_host) value.on_host = std::move(host);
  return value.on_host->data();
}

}  // namespace lento
