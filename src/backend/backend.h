// Backend: what a device must offer. Built-in and plug-in backends implement the same interface.
#pragma once

#include "base/buffer.h"
#include "ir/graph.h"
#include "tensor/state.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace lento {

/// The value of one output after a run: a buffer, or the reason there is none.
struct Outcome {
  BufferRef buffer;
  FailureRef failure;
};

/// What one run of a program reads and writes.
struct RunArguments {
  std::span<BufferRef> inputs;              // one a graph input; released as soon as it is no longer needed
  std::span<const std::uint8_t> donated;    // inputs[i] is used by nobody else afterwards: it may be written
  std::span<const ScalarArgument> scalars;  // one a graph scalar
  std::span<Outcome> outcomes;              // one a graph output; filled by the run
};

/// A graph made ready to run on a device, any number of times.
class Program {
 public:
  virtual ~Program() = default;
  /// Computes every output. An op that fails while running poisons exactly what depends on it and nothing is thrown;
  /// an exception means that nothing could be run at all.
  virtual void run(const RunArguments& arguments) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// As in a device's name: "reference".
  virtual std::string_view name() const = 0;
  virtual int device_count() const = 0;
  /// Throws MemoryError.
  virtual BufferRef allocate(std::size_t bytes, std::uint8_t device) = 0;
  virtual void copy_from_host(Buffer& destination, const void* source, std::size_t bytes) = 0;
  /// Where the host can read the buffer, once everything that writes it has run.
  virtual const void* host_pointer(const Buffer& buffer) = 0;
  virtual std::unique_ptr<Program> compile(Graph graph, std::uint8_t device) = 0;
};

/// Adds a backend and its devices. The first one registered has the default device.
void register_backend(std::unique_ptr<Backend> backend);
/// The backend of a device.
Backend& backend_of(std::uint8_t device);

}  // namespace lento
