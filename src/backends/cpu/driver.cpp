#include "backends/cpu/driver.h"

#include "backend/backend.h"
#include "backends/cpu/arena.h"
#include "backends/cpu/code/jit.h"
#include "backends/cpu/launch.h"
#include "backends/cpu/launch_batch.h"
#include "backends/cpu/launch_chain.h"
#include "backends/cpu/libraries/prepared_weights.h"
#include "backends/cpu/prepared_call.h"
#include "backends/cpu/threads.h"
#include "backends/reference/dispatch.h"
#include "base/fork.h"
#include "ir/op_contraction.gen.h"

#include <algorithm>
#include <cstring>

namespace lento::cpu {

namespace {

constexpr std::uint8_t kDevice = kHostDevice;  // backend.cpp registers it first

const Target& cpu_target() {
  static const Target target{
      .computes = [](Op op, DType compute, DType) { return supports(op, compute); },
      .casts = [](DType, DType) { return true; },
      .reduces = [](Op op, DType dtype) { return supports(op, dtype); },
      .creates = [](Op, DType) { return true; },
      .holds = [](DType) { return true; },
      .takes_views = [](Op op) { return op == op::matrix_multiply || op == op::attention || op == op::attention_grad; },
      .most_nodes = 60,
      .least_row = 16,
      .tile_elements = 2048,
      .batch_cost = kGrain,
      .last_batch_cost = 64 * kGrain,
      .batch_kernels = 256,
      .alignment = 64,
      .nanoseconds_per_instruction = kNanosecondsPerInstruction,
  };
  return target;
}

class CpuDriver final : public Driver {
 public:
  const Target& target() const override { return cpu_target(); }

  BufferRef allocate(std::size_t bytes) override { return allocate_cpu(bytes, kDevice); }

  void copy(void* to, const void* from, std::size_t bytes) override {
    constexpr std::int64_t kPart = 1 << 18;
    const auto total = static_cast<std::int64_t>(bytes);
    parallel_for((total + kPart - 1) / kPart, 4, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(static_cast<std::byte*>(to) + begin * kPart, static_cast<const std::byte*>(from) + begin * kPart,
                  static_cast<std::size_t>(std::min(total, end * kPart) - begin * kPart));
    });
  }

  void overwrites(const Buffer& buffer) override { forget_prepared_weights(buffer.data()); }

  PreparedSchedule prepare(const Graph& graph, const Schedule& schedule, const CompileOptions& options) override {
    PreparedSchedule prepared;
    prepared.kernels = kernel_cache().find(schedule.kernels, options.tier, prepared.compiled);
    prepared.calls.resize(schedule.steps.size());
    const std::vector<std::size_t> own = own_calls(graph, schedule, options);
    // On all threads: a primitive of oneDNN takes up to a millisecond, since it generates code.
    parallel_for(static_cast<std::int64_t>(own.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::size_t s = own[static_cast<std::size_t>(i)];
        prepared.calls[s] = make_prepared_call(graph, schedule.steps[s]);
      }
    });
    return prepared;
  }

  void launch(const KernelLaunch& launch) override { cpu::launch(launch); }
  void launch_chain(std::span<const KernelLaunch> launches, std::span<const TileOperand> tile_operands,
                    const Chain& chain) override {
    cpu::launch_chain(launches, tile_operands, chain);
  }
  void launch_batch(std::span<const KernelLaunch> launches) override { cpu::launch_batch(launches); }
  void run_node(const NodeCall& call) override { reference::run_node(call); }
};

}  // namespace

Driver& cpu_driver() { return ProcessLifetime<CpuDriver>::get(); }

}  // namespace lento::cpu
