#include "backends/toy/device.h"

#include "backend/backend.h"
#include "backend/copied_words.h"
#include "backend/kept_arguments.h"
#include "backends/reference/dispatch.h"
#include "backends/reference/interpret_kernel.h"
#include "backends/toy/toy.h"
#include "base/cannot_fail.h"
#include "base/charge.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/usable_devices.h"
#include "ir/op.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

namespace lento::toy {

namespace {

std::atomic<Support> supported{Support::all};
std::atomic<bool> copies_directly{true};

bool is_known(Op op, DType, DType) {
  constexpr std::string_view kFew[] = {"add",  "subtract", "multiply", "divide", "negative",
                                       "sqrt", "exp",      "tanh",     "where",  "less"};
  return supported != Support::few || std::ranges::find(kFew, info(op).name) != std::end(kFew);
}

/// The submission of the thread, and what is held back for it.
struct Held {
  const ToyDevice* device = nullptr;
  std::vector<std::function<void()>> work;
};
thread_local Held held;

void require_no_submission(const ToyDevice* device, Queue queue) {
  if (queue == Queue::compute && held.device == device) end_process("somebody waits within a submission");
}

struct ToyKernel final : KernelBinary {
  explicit ToyKernel(const Kernel& of) : kernel(of) {}
  std::size_t code_bytes() const override { return kernel.body.size() * sizeof(Instruction); }
  const Kernel kernel;
};

}  // namespace

void set_support(Support support) { supported = support; }
void set_direct_copies(bool directly) { copies_directly = directly; }

/// A call, by the reference backend's loops.
class ToyDevice::Call final : public KeptNode {
 public:
  Call(const Graph& graph, const Record& record, ToyDevice& device) : KeptNode(graph, record), device_(device) {}
  double nanoseconds() const override { return 1000; }

 private:
  void queue(std::shared_ptr<KeptCall> call) const override {
    for (NodeCall::Tensor& operand : call->node.operands) operand.data = device_.memory_.own(operand.data);
    for (NodeCall::Tensor& result : call->node.results) result.data = device_.memory_.own(result.data);
    call->status = device_.memory_.own(call->status);
    device_.compute([this, call = std::move(call)] {
      try {
        reference::run_node(call->node, call->status);
      } catch (const std::exception&) {
        lose_and_wake(device_.id_);  // its code did what no code may do
      }
    });
  }

  ToyDevice& device_;
};

// --- driver ---

const Target& ToyDevice::target() const {
  static const Target target{
      .computes = is_known,
      .casts = [](DType, DType) { return supported != Support::few; },
      .reduces = [](Op, DType) { return supported != Support::few; },
      .creates = [](Op, DType) { return supported != Support::few; },
      .holds = [](DType) { return true; },
      .tile_elements = 0,
      .alignment = 256,
  };
  return target;
}

BufferRef ToyDevice::allocate(std::size_t bytes, bool for_compute) {
  require_usable(id_);
  if (fails_here(Fault::allocate)) fail<MemoryError>("a test forbids {} bytes", bytes);
  Charge charge(memory_account(id_), bytes);
  void* const address = memory_.allocate(bytes, for_compute);
  if (address == nullptr) fail<MemoryError>("toy: cannot allocate {} bytes", bytes);
  charge.keep();
  return Buffer::wrap(
      address, bytes, id_,
      [](void* data, std::size_t size, void* device) { static_cast<ToyDevice*>(device)->release(data, size); }, this);
}

void ToyDevice::release(void* data, std::size_t size) {
  const CannotFail cannot_fail;
  memory_account(id_).credit(size);
  if (!is_usable(id_)) return;
  of(Queue::compute).push([this, data, size] { std::memset(memory_.own(data), 0xa5, size); });
  auto freed = std::make_shared<HostFence>();
  of(Queue::compute).record(freed);
  memory_.free(data, size, std::move(freed));
}

PreparedSchedule ToyDevice::prepare(const Graph& graph, const Schedule& schedule, const CompileOptions& options) {
  require_usable(id_);
  if (fails_here(Fault::compile)) fail<BackendError>("a test forbids a compile");
  PreparedSchedule prepared;
  for (const Kernel& kernel : schedule.kernels) prepared.kernels.push_back(std::make_shared<ToyKernel>(kernel));
  prepared.compiled = schedule.kernels.size();
  prepared.calls.resize(schedule.steps.size());
  if (supported != Support::all) return prepared;
  for (const std::size_t s : own_calls(graph, schedule, options)) {
    prepared.calls[s] = std::make_unique<Call>(graph, graph.nodes[schedule.steps[s].nodes[0]], *this);
  }
  return prepared;
}

void ToyDevice::compute(std::function<void()> work) {
  require_usable(id_);
  if (fails_here(Fault::launch)) fail<BackendError>("a test forbids a launch");
  if (held.device != this) end_process("something is computed outside of a submission");
  held.work.push_back(std::move(work));
}

void ToyDevice::copy(void* to, const void* from, std::size_t bytes) {
  compute([this, to, from, bytes] { std::memmove(memory_.own(to), memory_.own(from), bytes); });
}

void ToyDevice::launch(const KernelLaunch& launch) {
  const auto kept = std::make_shared<KeptLaunch>(launch);
  const Kernel& code = static_cast<const ToyKernel*>(launch.binary)->kernel;
  for (std::size_t i = 0; i < code.operands.size(); ++i) {
    if (!code.operands[i].counted) kept->addresses[i] = memory_.own(kept->addresses[i]);
  }
  compute([&code, kept, words = memory_.own(launch.status)] { reference::interpret(code, kept->arguments(), words); });
}

// --- submissions ---

void ToyDevice::begin_submission() {
  require_usable(id_);
  if (held.device != nullptr) end_process("a submission begins within another one");
  if (fails_here(Fault::submission)) fail<BackendError>("a test forbids a submission to begin");
  held.device = this;
}

void ToyDevice::end_submission() {
  const Held all = std::exchange(held, {});
  if (all.device != this) end_process("a submission ends that has not begun");
  if (fails_here(Fault::submission)) fail<BackendError>("a test forbids a submission to end");
  for (const std::function<void()>& work : all.work) of(Queue::compute).push(work);
}

void ToyDevice::drop_submission() noexcept { held = {}; }

std::unique_ptr<StatusWords> ToyDevice::status_words(std::size_t count) {
  BufferRef words = allocate(count * sizeof(StatusWord));
  void* const own = memory_.own(words->data());
  of(Queue::compute).push([own, bytes = words->size()] { std::memset(own, 0, bytes); });
  return std::make_unique<CopiedWords>(std::move(words), count, [this, own](std::span<StatusWord> to_host) {
    compute([own, to_host] { std::memcpy(to_host.data(), own, to_host.size_bytes()); });
  });
}

// --- queues ---

FenceRef ToyDevice::make_fence() {
  if (fails_here(Fault::fence)) fail<BackendError>("a test forbids a fence");
  return std::make_shared<HostFence>();
}

void ToyDevice::record(Queue queue, const FenceRef& fence) noexcept {
  const CannotFail cannot_fail;
  require_no_submission(this, queue);
  of(queue).record(std::static_pointer_cast<HostFence>(fence));
}

void ToyDevice::wait(Queue queue, const FenceRef& fence) noexcept {
  const CannotFail cannot_fail;
  require_no_submission(this, queue);
  of(queue).wait(fence);
}

void ToyDevice::upload(void* to, const void* from_host, std::size_t bytes) {
  require_usable(id_);
  if (bytes == 0) return;  // from a null pointer, perhaps
  of(Queue::upload).push([this, to, from_host, bytes] { std::memcpy(memory_.own(to), from_host, bytes); });
}

void ToyDevice::download(void* to_host, const void* from, std::size_t bytes) {
  require_usable(id_);
  of(Queue::download).push([this, to_host, from, bytes] { std::memcpy(to_host, memory_.own(from), bytes); });
}

bool ToyDevice::can_fetch(std::uint8_t) const { return copies_directly; }

void ToyDevice::fetch(void* to, std::uint8_t from_device, const void* from, std::size_t bytes) {
  require_usable(id_);
  require_usable(from_device);
  const auto* const other = static_cast<const ToyDevice*>(backend_of(from_device).driver(from_device));
  of(Queue::upload).push([this, to, other, from, bytes] {
    std::memcpy(memory_.own(to), other->memory_.own(from), bytes);
  });
}

}  // namespace lento::toy
