#include "backends/toy/device.h"

#include "backend/backend.h"
#include "backends/reference/interpret_kernel.h"
#include "backends/toy/call.h"
#include "backends/toy/toy.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/usable_devices.h"
#include "ir/op.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

[[noreturn]] void end_process(const char* why) {
  std::fprintf(stderr, "toy: %s\n", why);
  std::abort();
}

struct ToyKernel final : KernelBinary {
  explicit ToyKernel(const Kernel& of) : kernel(of) {}
  std::size_t code_bytes() const override { return kernel.body.size() * sizeof(Instruction); }
  const Kernel kernel;
};

}  // namespace

void set_support(Support support) { supported = support; }
void set_direct_copies(bool directly) { copies_directly = directly; }

void raise_to(StatusWord& word, StatusWord value) { word = std::max(word, value); }

// --- driver ---

ToyDevice::ToyDevice(std::uint8_t id)
    : id_(id), queues_{WorkQueue(id, 1U + id), WorkQueue(id, 101U + id), WorkQueue(id, 201U + id)} {}

const Target& ToyDevice::target() const {
  static const Target target{
      .computes = is_known,
      .casts = [](DType, DType) { return supported != Support::few; },
      .reduces = [](Op, DType) { return supported != Support::few; },
      .holds = [](DType) { return true; },
      .tile_elements = 0,
      .alignment = 256,
  };
  return target;
}

BufferRef ToyDevice::allocate(std::size_t bytes, bool for_compute) {
  require_usable(id_);
  if (fails_here(Fault::allocate)) fail<MemoryError>("a test forbids {} bytes", bytes);
  MemoryAccount& account = memory_account(id_);
  account.charge(bytes);
  void* const address = memory_.allocate(bytes, for_compute);
  if (address == nullptr) {
    account.credit(bytes);
    fail<MemoryError>("toy: cannot allocate {} bytes", bytes);
  }
  account.raise_peak();
  return Buffer::wrap(
      address, bytes, id_,
      [](void* data, std::size_t size, void* device) { static_cast<ToyDevice*>(device)->release(data, size); }, this);
}

void ToyDevice::release(void* data, std::size_t size) {
  const CannotFail cannot_fail;
  memory_account(id_).credit(size);
  if (!is_usable(id_)) return;
  of(Queue::compute).push([this, data, size] { std::memset(memory_.own(data), 0xa5, size); });
  auto freed = std::make_shared<ToyFence>();
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
    prepared.calls[s] = make_call(graph, graph.nodes[schedule.steps[s].nodes[0]], *this);
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
  const std::size_t operands = launch.kernel->operands.size();
  struct {
    std::vector<std::int64_t> sizes, strides;
    std::vector<void*> addresses;
    std::vector<std::byte> numbers;
    std::vector<PickedRows> picked;
  } copied;
  copied.sizes.assign(launch.sizes.begin(), launch.sizes.end());
  copied.strides.assign(launch.arguments.strides, launch.arguments.strides + operands * launch.kernel->dims);
  copied.addresses.assign(launch.arguments.addresses, launch.arguments.addresses + operands);
  const auto* const numbers = static_cast<const std::byte*>(launch.arguments.numbers);
  copied.numbers.assign(numbers, numbers + launch.kernel->numbers.size() * 16);
  if (launch.arguments.picked != nullptr) {
    copied.picked.assign(launch.arguments.picked, launch.arguments.picked + operands);
  }
  const Kernel& code = static_cast<const ToyKernel*>(launch.binary)->kernel;
  compute([this, &code, status = launch.status, arguments = std::move(copied)] {
    std::vector<void*> addresses;
    for (void* const address : arguments.addresses) addresses.push_back(memory_.own(address));
    const KernelArguments here{arguments.sizes.data(), addresses.data(), arguments.strides.data(),
                               arguments.numbers.data(), arguments.picked.empty() ? nullptr : arguments.picked.data()};
    const auto missing = [&](std::size_t operand, std::int64_t position) {
      raise_to(*reinterpret_cast<StatusWord*>(memory_.own(status + operand)), static_cast<StatusWord>(position));
    };
    const FunctionRef<void(std::size_t, std::int64_t)> told = missing;
    reference::interpret(code, here, &told);
  });
}

void ToyDevice::fault() { lose_and_wake(id_); }

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

void ToyDevice::require_no_submission(Queue queue) const {
  if (queue == Queue::compute && held.device == this) end_process("somebody waits within a submission");
}

/// Words in the memory of the device, copied at the end.
class ToyDevice::Status final : public StatusWords {
 public:
  Status(ToyDevice& device, std::size_t count)
      : device_(device), words_(device.allocate(count * sizeof(StatusWord))), read_(count) {
    device.of(Queue::compute).push([&device, words = words_->data(), bytes = words_->size()] {
      std::memset(device.own(words), 0, bytes);
    });
  }
  StatusWord* address() const override { return static_cast<StatusWord*>(words_->data()); }
  void collect() override {
    device_.compute([this] { std::memcpy(read_.data(), device_.own(words_->data()), words_->size()); });
  }
  std::span<const StatusWord> read() const override { return read_; }

 private:
  ToyDevice& device_;
  BufferRef words_;
  std::vector<StatusWord> read_;
};

std::unique_ptr<StatusWords> ToyDevice::status_words(std::size_t count) {
  return std::make_unique<Status>(*this, count);
}

// --- queues ---

FenceRef ToyDevice::make_fence() {
  if (fails_here(Fault::fence)) fail<BackendError>("a test forbids a fence");
  return std::make_shared<ToyFence>();
}

void ToyDevice::record(Queue queue, const FenceRef& fence) noexcept {
  const CannotFail cannot_fail;
  require_no_submission(queue);
  of(queue).record(std::static_pointer_cast<ToyFence>(fence));
}

void ToyDevice::wait(Queue queue, const FenceRef& fence) noexcept {
  const CannotFail cannot_fail;
  require_no_submission(queue);
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
  of(Queue::upload).push([this, to, other, from, bytes] { std::memcpy(own(to), other->own(from), bytes); });
}

BufferRef ToyDevice::allocate_on_host(std::size_t bytes) {
  void* const data = std::malloc(std::max<std::size_t>(bytes, 1));
  if (data == nullptr) fail<MemoryError>("cannot allocate {} bytes of host memory", bytes);
  return Buffer::wrap(data, bytes, id_, [](void* at, std::size_t, void*) { std::free(at); }, nullptr);
}

}  // namespace lento::toy
