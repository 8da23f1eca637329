// Backend: one kind of devices, and how programs run on them. Most give a driver (driver.h) and leave programs to the
// runtime; those that exist as an oracle or for tests make programs of their own.
#pragma once

#include "backend/node_call.h"
#include "base/buffer.h"
#include "base/value.h"
#include "ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lento {

/// What one run of a program reads and writes.
struct RunArguments {
  std::span<const ValueRef> inputs;         // one per graph input, all issued; one that failed poisons what reads it
  std::span<const std::uint8_t> donated;    // inputs[i] is used by nobody else afterwards: it may be written
  std::span<const ScalarArgument> scalars;  // one per graph scalar
  std::span<const ValueRef> outputs;        // one per graph output: the run sets its buffer, or leaves it null
  std::span<const Source> sources;          // one per node: lines of the trace that runs, for failures
};

/// A run that was handed to its device, which works on it without the host.
class IssuedRun {
 public:
  virtual ~IssuedRun() = default;
  /// Where all of it has ended.
  virtual const FenceRef& fence() const = 0;
  /// Once the fence is reached and all inputs are settled: sets the failures of outputs that have one. The arguments
  /// are those that it was issued with, without `donated`. Throws what kept the run from being queued to its end, which
  /// poisons every output.
  virtual void settle(const RunArguments& arguments) = 0;
};

/// An op that a device with queues has no code for, so that it runs on the CPU device (clause D6).
struct Fallback {
  Op op;
  std::uint32_t node;  // of the graph that the program was made of
};

/// A graph made ready to run on a device, any number of times.
class Program {
 public:
  virtual ~Program() = default;
  /// Computes every output, on a worker or, when it is short, on the caller's thread; several threads may run one
  /// program at once. An op that fails poisons exactly what depends on it: output.failure is set then. An exception
  /// poisons every output.
  virtual void run(const RunArguments& arguments) = 0;
  /// On a device with queues: gives the outputs their memory, queues the work and comes back. Null when the work is
  /// done, as run() does it. An output that is known to fail has no buffer; its failure comes when the run is settled.
  /// What throws has queued nothing.
  virtual std::unique_ptr<IssuedRun> issue(const RunArguments& arguments) {
    run(arguments);
    return nullptr;
  }
  /// A guess at the time of a run, which decides where it runs; infinite: always on a worker.
  virtual double estimated_microseconds() const { return std::numeric_limits<double>::infinity(); }
  /// What it occupies, for the limit of the plan cache.
  virtual std::size_t bytes() const { return 0; }
  /// The most bytes a run allocates at a time; known before it runs.
  virtual std::size_t planned_peak() const { return 0; }
  /// How many bytes of that a run does not allocate when these inputs are given away (RunArguments::donated).
  virtual std::size_t reused_bytes(std::span<const std::uint8_t> donated) const {
    (void)donated;
    return 0;
  }
  /// How many kernels had to be compiled to make it: none when a program of the same pattern was there before.
  virtual std::size_t compiled_kernels() const { return 0; }
  /// Launches of a run, and bytes of machine code, for reports.
  virtual std::size_t launch_count() const { return 0; }
  virtual std::size_t code_bytes() const { return 0; }
  virtual std::span<const Fallback> fallbacks() const { return {}; }
  /// How many values a run copies to the host and back for them.
  virtual std::size_t fallback_copies() const { return 0; }
  /// What the backend made of the graph, for people.
  virtual std::string text() const { return {}; }
};

class DeviceQueues;
class Driver;

class Backend {
 public:
  virtual ~Backend() = default;
  /// As in a device's name: "reference".
  virtual std::string_view name() const = 0;
  /// Asked while the library loads: nothing of a device may be touched to know it.
  virtual int device_count() const = 0;
  /// Memory that nothing on the device uses any more. Throws MemoryError.
  virtual BufferRef allocate(std::size_t bytes, std::uint8_t device) = 0;
  /// The queues of a device that works on its own, in memory of its own; made at its first use. Null: what the device
  /// is told to do is done when the call comes back.
  virtual DeviceQueues* queues(std::uint8_t device) {
    (void)device;
    return nullptr;
  }

  // --- of devices without queues ---

  virtual void copy_from_host(Buffer& destination, const void* source, std::size_t bytes);
  /// True when kernels run in the host's memory: buffers can be shared with whoever reads and writes host memory.
  virtual bool in_host_memory() const { return false; }
  /// Where the host can read the buffer, once everything that writes it has run.
  virtual const void* host_pointer(const Buffer& buffer);
  /// Of the reference backend: runs a single op, all in the host's memory. Throws Error.
  virtual void run_node(const NodeCall& call);

  // --- programs ---

  /// What runs compiled programs on a device, made at its first use; null when the backend makes its own programs.
  virtual Driver* driver(std::uint8_t device) {
    (void)device;
    return nullptr;
  }
  /// The program of a backend without drivers.
  virtual std::unique_ptr<Program> own_program(Graph graph, std::uint8_t device);
};

/// The device of the host, which computes what others lack: the first one that is registered. In the library that is
/// the CPU device; a program without it, such as a test of another layer, has the reference device in its place.
inline constexpr std::uint8_t kHostDevice = 0;

/// Adds a backend and its devices. The first one registered has the host's device, which is the default one.
void register_backend(std::unique_ptr<Backend> backend);
/// The backend of a device.
Backend& backend_of(std::uint8_t device);

}  // namespace lento
