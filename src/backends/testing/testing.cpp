#include "backends/testing/testing.h"

#include "backend/backend.h"
#include "base/fail.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

namespace lento::testing {

namespace {

// --- null ---

class NullProgram final : public Program {
 public:
  void run(const RunArguments&) override {}
  double estimated_microseconds() const override { return 0; }
};

class NullBackend final : public Backend {
 public:
  std::string_view name() const override { return "null"; }
  int device_count() const override { return 1; }
  BufferRef allocate(std::size_t bytes, std::uint8_t device) override { return allocate_host(bytes, device); }
  void copy_from_host(Buffer&, const void*, std::size_t) override {}
  const void* host_pointer(const Buffer&) override { fail<BackendError>("the null backend computes nothing to read"); }
  std::unique_ptr<Program> own_program(Graph, std::uint8_t) override { return std::make_unique<NullProgram>(); }
};

// --- what runs on the reference backend, with something in between ---

struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  int permits = 0;
  int waiting = 0;
  bool open = false;
  bool holds_compiles = false;
  int compiles_waiting = 0;

  void pass_compile() {
    std::unique_lock lock(mutex);
    if (!holds_compiles) return;
    ++compiles_waiting;
    changed.notify_all();
    changed.wait(lock, [this] { return !holds_compiles; });
    --compiles_waiting;
  }

  void pass() {
    std::unique_lock lock(mutex);
    ++waiting;
    changed.notify_all();
    changed.wait(lock, [this] { return open || permits > 0; });
    --waiting;
    if (!open) --permits;
  }
};
Gate& the_gate() {
  static auto* gate = new Gate;
  return *gate;
}

struct Faults {
  std::mutex mutex;
  Fault fault = Fault::none;
  int after = 0;

  void pass(Fault here, const char* what) {
    const std::lock_guard lock(mutex);
    if (fault != here || after-- > 0) return;
    fault = Fault::none;
    if (here == Fault::allocate) fail<MemoryError>("injected fault: {}", what);
    fail<BackendError>("injected fault: {}", what);
  }
};
Faults& the_faults() {
  static auto* faults = new Faults;
  return *faults;
}

/// What happens at the points where a device can be held up or fail.
struct Hooks {
  std::string_view name;
  void (*before_allocate)();
  void (*before_compile)();
  void (*before_run)();
  void (*after_run)();
};

/// Forwards to the reference backend's programs, with hooks.
class GuardedProgram final : public Program {
 public:
  GuardedProgram(std::unique_ptr<Program> inner, const Hooks& hooks) : inner_(std::move(inner)), hooks_(hooks) {}
  void run(const RunArguments& arguments) override {
    hooks_.before_run();
    inner_->run(arguments);
    hooks_.after_run();
  }
  std::size_t bytes() const override { return inner_->bytes(); }
  std::size_t planned_peak() const override { return inner_->planned_peak(); }
  std::size_t launch_count() const override { return inner_->launch_count(); }
  std::string text() const override { return inner_->text(); }

 private:
  std::unique_ptr<Program> inner_;
  const Hooks& hooks_;
};

class GuardedBackend final : public Backend {
 public:
  explicit GuardedBackend(const Hooks& hooks) : hooks_(hooks) {}
  std::string_view name() const override { return hooks_.name; }
  int device_count() const override { return 1; }
  BufferRef allocate(std::size_t bytes, std::uint8_t device) override {
    hooks_.before_allocate();
    return allocate_host(bytes, device);
  }
  void copy_from_host(Buffer& destination, const void* source, std::size_t bytes) override {
    reference().copy_from_host(destination, source, bytes);
  }
  const void* host_pointer(const Buffer& buffer) override { return buffer.data(); }
  bool in_host_memory() const override { return true; }
  std::unique_ptr<Program> own_program(Graph graph, std::uint8_t device) override {
    hooks_.before_compile();
    return std::make_unique<GuardedProgram>(reference().own_program(std::move(graph), device), hooks_);
  }

 private:
  static Backend& reference() { return backend_of(Device("reference").id()); }
  Hooks hooks_;
};

void nothing() {}

}  // namespace

void register_testing_backends() {
  static const bool once = [] {
    register_backend(std::make_unique<NullBackend>());
    register_backend(std::make_unique<GuardedBackend>(
        Hooks{"gated", nothing, [] { the_gate().pass_compile(); }, [] { the_gate().pass(); }, nothing}));
    register_backend(std::make_unique<GuardedBackend>(Hooks{
        "faulty", [] { the_faults().pass(Fault::allocate, "allocation"); },
        [] { the_faults().pass(Fault::compile, "compilation"); }, [] { the_faults().pass(Fault::launch, "launch"); },
        [] { the_faults().pass(Fault::completion, "completion"); }}));
    return true;
  }();
  (void)once;
}

Device null_device() { return Device("null"); }
Device gated_device() { return Device("gated"); }
Device faulty_device() { return Device("faulty"); }

namespace gate {

void open(int count) {
  const std::lock_guard lock(the_gate().mutex);
  the_gate().permits += count;
  the_gate().changed.notify_all();
}

void open_forever() {
  const std::lock_guard lock(the_gate().mutex);
  the_gate().open = true;
  the_gate().changed.notify_all();
}

void close() {
  const std::lock_guard lock(the_gate().mutex);
  the_gate().open = false;
  the_gate().permits = 0;
}

void wait_for_arrivals(int count) {
  std::unique_lock lock(the_gate().mutex);
  the_gate().changed.wait(lock, [count] { return the_gate().waiting >= count; });
}

void hold_compiles(bool hold) {
  const std::lock_guard lock(the_gate().mutex);
  the_gate().holds_compiles = hold;
  the_gate().changed.notify_all();
}

void wait_for_compiles(int count) {
  std::unique_lock lock(the_gate().mutex);
  the_gate().changed.wait(lock, [count] { return the_gate().compiles_waiting >= count; });
}

int waiting() {
  const std::lock_guard lock(the_gate().mutex);
  return the_gate().waiting;
}

}  // namespace gate

void inject(Fault fault, int after) {
  const std::lock_guard lock(the_faults().mutex);
  the_faults().fault = fault;
  the_faults().after = after;
}

bool fault_pending() {
  const std::lock_guard lock(the_faults().mutex);
  return the_faults().fault != Fault::none;
}

}  // namespace lento::testing
