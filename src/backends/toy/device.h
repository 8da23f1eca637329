// A toy device: its driver and its queues.
#pragma once

#include "backend/driver.h"
#include "backend/queues.h"
#include "backends/toy/memory.h"
#include "backends/toy/queue.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace lento::toy {

class ToyDevice final : public Driver, public DeviceQueues {
 public:
  explicit ToyDevice(std::uint8_t id)
      : id_(id), queues_{WorkQueue(id, 1U + id), WorkQueue(id, 101U + id), WorkQueue(id, 201U + id)} {}

  const Target& target() const override;
  BufferRef allocate(std::size_t bytes) override { return allocate(bytes, true); }
  BufferRef allocate(std::size_t bytes, bool for_compute);
  void copy(void* to, const void* from, std::size_t bytes) override;
  PreparedSchedule prepare(const Graph& graph, const Schedule& schedule, const CompileOptions& options) override;
  void launch(const KernelLaunch& launch) override;
  std::unique_ptr<StatusWords> status_words(std::size_t count) override;
  /// What is queued in a submission is held back until its end.
  void begin_submission() override;
  void end_submission() override;
  void drop_submission() noexcept override;

  FenceRef make_fence() override;
  using DeviceQueues::record;
  void record(Queue queue, const FenceRef& fence) noexcept override;
  void wait(Queue queue, const FenceRef& fence) noexcept override;
  void upload(void* to, const void* from_host, std::size_t bytes) override;
  void download(void* to_host, const void* from, std::size_t bytes) override;
  bool can_fetch(std::uint8_t) const override;
  void fetch(void* to, std::uint8_t from_device, const void* from, std::size_t bytes) override;

 private:
  class Call;

  WorkQueue& of(Queue queue) { return queues_[static_cast<std::size_t>(queue)]; }
  /// Within a submission.
  void compute(std::function<void()> work);
  /// What still reads it later reads nonsense, and the tests see it. The memory of a lost device goes with it.
  void release(void* data, std::size_t size);

  const std::uint8_t id_;
  Memory memory_;
  std::array<WorkQueue, kQueues> queues_;
};

}  // namespace lento::toy
