// The driver and the queues of toy devices.
#include "backend/backend.h"
#include "backend/driver.h"
#include "backend/first_use.h"
#include "backend/queues.h"
#include "backends/reference/dispatch.h"
#include "backends/reference/interpret_kernel.h"
#include "backends/toy/memory.h"
#include "backends/toy/queue.h"
#include "backends/toy/toy.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/usable_devices.h"
#include "ir/op.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace lento::toy {

namespace {

std::atomic<Support> supported{Support::all};
std::atomic<void (*)()> first_use_hook{nullptr};

bool is_known(Op op, DType, DType) {
  constexpr std::string_view kFew[] = {"add",  "subtract", "multiply", "divide", "negative",
                                       "sqrt", "exp",      "tanh",     "where",  "less"};
  return supported != Support::few || std::ranges::find(kFew, info(op).name) != std::end(kFew);
}

const Target& toy_target() {
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

/// A kernel's own copy: the device may still run it when the program is gone.
struct ToyKernel final : KernelBinary, std::enable_shared_from_this<ToyKernel> {
  explicit ToyKernel(const Kernel& of) : kernel(of) {}
  std::size_t code_bytes() const override { return kernel.body.size() * sizeof(Instruction); }
  const Kernel kernel;
};

/// Runs in the order of its queue; the first failure is what the host is told.
void tell(LateFailure* late, ErrorKind kind, const std::string& message) {
  if (late == nullptr || late->failed) return;
  late->kind = kind;
  late->message = message;
  late->failed = true;
}

class ToyDevice final : public Driver, public DeviceQueues {
 public:
  explicit ToyDevice(std::uint8_t id) : id_(id) {}

  const Target& target() const override { return toy_target(); }

  BufferRef allocate(std::size_t bytes) override { return allocate(bytes, true); }
  BufferRef allocate(std::size_t bytes, bool for_compute) {
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

  void copy(void* to, const void* from, std::size_t bytes) override {
    compute([this, to, from, bytes] { std::memmove(memory_.own(to), memory_.own(from), bytes); });
  }

  PreparedSchedule prepare(const Graph& graph, const Schedule& schedule, const CompileOptions& options) override;
  void launch(const KernelLaunch& launch) override;

  // --- queues ---

  FenceRef make_fence() override {
    if (fails_here(Fault::fence)) fail<BackendError>("a test forbids a fence");
    return std::make_shared<ToyFence>();
  }
  using DeviceQueues::record;
  void record(Queue queue, const FenceRef& fence) noexcept override {
    of(queue).record(std::static_pointer_cast<ToyFence>(fence));
  }
  void wait(Queue queue, const FenceRef& fence) noexcept override { of(queue).wait(fence); }
  void upload(void* to, const void* from_host, std::size_t bytes) override {
    require_usable(id_);
    if (bytes == 0) return;  // from a null pointer, perhaps
    of(Queue::upload).push([this, to, from_host, bytes] { std::memcpy(memory_.own(to), from_host, bytes); });
  }
  void download(void* to_host, const void* from, std::size_t bytes) override {
    require_usable(id_);
    of(Queue::download).push([this, to_host, from, bytes] { std::memcpy(to_host, memory_.own(from), bytes); });
  }
  BufferRef host_memory(std::size_t bytes) override {
    void* const data = std::malloc(std::max<std::size_t>(bytes, 1));
    if (data == nullptr) fail<MemoryError>("cannot allocate {} bytes of host memory", bytes);
    return Buffer::wrap(data, bytes, id_, [](void* at, std::size_t, void*) { std::free(at); }, nullptr);
  }

  void compute(std::function<void()> work) {
    require_usable(id_);
    if (fails_here(Fault::launch)) fail<BackendError>("a test forbids a launch");
    of(Queue::compute).push(std::move(work));
  }
  std::byte* own(const void* address) const { return memory_.own(address); }

 private:
  /// What still reads it later reads nonsense, and the tests see it. The memory of a lost device goes with it.
  void release(void* data, std::size_t size) {
    memory_account(id_).credit(size);
    if (!is_usable(id_)) return;
    of(Queue::compute).push([this, data, size] { std::memset(memory_.own(data), 0xa5, size); });
    auto freed = std::make_shared<ToyFence>();
    of(Queue::compute).record(freed);
    memory_.free(data, size, std::move(freed));
  }

  WorkQueue& of(Queue queue) { return queues_[static_cast<std::size_t>(queue)]; }

  const std::uint8_t id_;
  Memory memory_;
  std::array<WorkQueue, kQueues> queues_{WorkQueue(id_, 1U + id_), WorkQueue(id_, 101U + id_),
                                         WorkQueue(id_, 201U + id_)};
};

/// A call, by the reference backend's loop.
class ToyCall final : public PreparedCall {
 public:
  ToyCall(const Graph& graph, const Record& record, ToyDevice& device) : device_(device) {
    op_ = std::make_shared<Described>();
    op_->call = {.op = record.op, .attrs = record.attrs, .operands = {}, .results = {}};
    for (const OperandRef operand : graph.operands(record)) op_->operands.push_back(graph.meta_of(operand));
    op_->results = declared_results(graph, record);
  }

  void run(const CallArguments& arguments) const override {
    std::vector<void*> addresses(arguments.operands.begin(), arguments.operands.end());
    std::vector<void*> results(arguments.results.begin(), arguments.results.end());
    std::vector<ScalarArgument> numbers;
    for (const ScalarArgument* number : arguments.numbers) {
      numbers.push_back(number == nullptr ? ScalarArgument{} : *number);
    }
    device_.compute([op = op_, &device = device_, late = arguments.late, addresses = std::move(addresses),
                     results = std::move(results), numbers = std::move(numbers)] {
      NodeCall call = op->call;
      for (std::size_t i = 0; i < addresses.size(); ++i) {
        if (addresses[i] == nullptr) {
          call.operands.push_back({nullptr, numbers[i].dtype, nullptr, &numbers[i]});
        } else {
          call.operands.push_back({device.own(addresses[i]), op->operands[i].dtype, &op->operands[i].shape, nullptr});
        }
      }
      std::vector<std::vector<std::byte>> unwanted;
      for (std::size_t r = 0; r < results.size(); ++r) {
        const Meta& meta = op->results[r];
        if (results[r] == nullptr) unwanted.emplace_back(byte_size(meta) + 16);
        std::byte* const data = results[r] == nullptr ? unwanted.back().data() : device.own(results[r]);
        call.results.push_back({data, meta.dtype, &meta.shape, nullptr});
      }
      try {
        reference::run_node(call);
      } catch (const Error& error) {
        tell(late, error.kind(), error.what());
      } catch (const std::exception& error) {
        tell(late, ErrorKind::backend, error.what());
      }
    });
  }
  double nanoseconds() const override { return 1000; }

 private:
  struct Described {
    NodeCall call;
    std::vector<Meta> operands;
    std::vector<Meta> results;
  };
  ToyDevice& device_;
  std::shared_ptr<Described> op_;
};

PreparedSchedule ToyDevice::prepare(const Graph& graph, const Schedule& schedule, const CompileOptions& options) {
  require_usable(id_);
  if (fails_here(Fault::compile)) fail<BackendError>("a test forbids a compile");
  PreparedSchedule prepared;
  for (const Kernel& kernel : schedule.kernels) prepared.kernels.push_back(std::make_shared<ToyKernel>(kernel));
  prepared.compiled = schedule.kernels.size();
  prepared.calls.resize(schedule.steps.size());
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    if (step.is_kernel() || supported != Support::all) continue;
    const Record& record = graph.nodes[step.nodes[0]];
    if (!options.falls_back(record.op)) prepared.calls[s] = std::make_unique<ToyCall>(graph, record, *this);
  }
  return prepared;
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
  auto code = static_cast<ToyKernel*>(launch.binary)->shared_from_this();
  compute([this, code, late = launch.late, arguments = std::move(copied)] {
    std::vector<void*> addresses;
    for (void* const address : arguments.addresses) addresses.push_back(memory_.own(address));
    const KernelArguments here{arguments.sizes.data(), addresses.data(), arguments.strides.data(),
                               arguments.numbers.data(), arguments.picked.empty() ? nullptr : arguments.picked.data()};
    const auto missing = [&](std::size_t operand, std::int64_t position) {
      tell(
          late + operand, ErrorKind::index,
          fmt::format("index {} is out of range for an axis of length {}", position, arguments.picked[operand].extent));
    };
    const FunctionRef<void(std::size_t, std::int64_t)> told = missing;
    reference::interpret(code->kernel, here, &told);
  });
}

class ToyBackend final : public Backend {
 public:
  std::string_view name() const override { return "toy"; }
  int device_count() const override { return 2; }
  BufferRef allocate(std::size_t bytes, std::uint8_t device) override { return of(device).allocate(bytes, false); }
  DeviceQueues* queues(std::uint8_t device) override { return &of(device); }
  Driver* driver(std::uint8_t device) override { return &of(device); }

 private:
  /// Made at its first use, and kept as long as the process: its threads and fences are.
  static ToyDevice& of(std::uint8_t device) {
    static constinit std::array<FirstUse<ToyDevice>, kMaxDevices> devices;
    return devices[device].get(device, [device] {
      if (const auto interrupted = first_use_hook.load()) interrupted();
      return std::make_unique<ToyDevice>(device);
    });
  }
};

std::uint8_t id_of(int device) { return Device("toy:" + std::to_string(device)).id(); }

}  // namespace

void register_toy() {
  [[maybe_unused]] static const bool once = (register_backend(std::make_unique<ToyBackend>()), true);
}

void set_support(Support support) { supported = support; }
void at_first_use(void (*function)()) { first_use_hook = function; }

void lose(int device) { lose_and_wake(id_of(device)); }

void replace(int device) {
  DeviceQueues& queues = *backend_of(id_of(device)).queues(id_of(device));
  for (const Queue queue : {Queue::compute, Queue::upload, Queue::download}) queues.record(queue)->wait();
  replace_lost_device(id_of(device));
}

}  // namespace lento::toy
