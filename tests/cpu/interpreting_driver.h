// A device that is not the CPU, for tests of the runtime: its driver interprets kernels, has no calls of its own, and
// has other limits.
#pragma once

#include "backend/driver.h"
#include "backends/reference/dispatch.h"
#include "backends/reference/interpret_kernel.h"
#include "base/fail.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

namespace lento::test {

class InterpretingDriver final : public Driver {
 public:
  std::size_t launches = 0;
  std::size_t nodes = 0;
  std::size_t allocations = 0;
  std::size_t most_allocations = ~std::size_t{0};
  Target limits{
      .computes = [](Op, DType compute, DType) { return !is_complex(compute); },
      .casts = [](DType, DType) { return true; },
      .reduces = [](Op, DType dtype) { return !is_complex(dtype); },
      .holds = [](DType) { return true; },
      .most_nodes = 7,
      .most_instructions = 24,
      .least_row = 4,
      .tile_elements = 0,
      .alignment = 256,
  };

  const Target& target() const override { return limits; }

  BufferRef allocate(std::size_t bytes) override {
    if (++allocations > most_allocations) fail<MemoryError>("a test forbids {} bytes", bytes);
    return allocate_host(bytes, 0);
  }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }

  PreparedSchedule prepare(const Graph&, const Schedule& schedule, const CompileOptions&) override {
    PreparedSchedule prepared;
    prepared.kernels.resize(schedule.kernels.size(), std::make_shared<Nothing>());
    prepared.calls.resize(schedule.steps.size());
    for (const Kernel& kernel : schedule.kernels) EXPECT_LE(kernel.body.size(), target().most_instructions);
    for (const Place& place : schedule.places) {
      if (place.kind != Place::Kind::temporary) continue;
      EXPECT_EQ(place.offset % target().alignment, 0U);
    }
    EXPECT_TRUE(schedule.chains.empty());
    return prepared;
  }

  void launch(const KernelLaunch& launch) override {
    ++launches;
    reference::interpret(*launch.kernel, launch.arguments);
  }
  void launch_chain(std::span<const KernelLaunch>, std::span<const TileOperand>, const Chain&) override {
    ADD_FAILURE() << "the target has no chains";
  }
  void run_node(const NodeCall& call) override {
    ++nodes;
    reference::run_node(call);
  }
  void begin_submission() override { ADD_FAILURE() << "the device has no queues"; }

 private:
  struct Nothing final : KernelBinary {
    std::size_t code_bytes() const override { return 0; }
  };
};

}  // namespace lento::test
