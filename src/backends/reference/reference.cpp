// The reference backend: one device whose memory is the host's, every primitive by its plain kernel.
#include "backend/backend.h"
#include "backends/reference/dispatch.h"
#include "backends/reference/interpreter.h"

#include <cstring>

namespace lento::reference {

namespace {

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  int device_count() const override { return 1; }
  BufferRef allocate(std::size_t bytes, std::uint8_t device) override { return allocate_host(bytes, device); }
  void copy_from_host(Buffer& destination, const void* source, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(destination.data(), source, bytes);
  }
  bool in_host_memory() const override { return true; }
  const void* host_pointer(const Buffer& buffer) override { return buffer.data(); }
  void run_node(const NodeCall& call) override { reference::run_node(call); }
  std::unique_ptr<Program> own_program(Graph graph, std::uint8_t device) override {
    return std::make_unique<Interpreter>(std::move(graph), device);
  }
};

[[maybe_unused]] const bool registered = (register_backend(std::make_unique<ReferenceBackend>()), true);

}  // namespace

}  // namespace lento::reference
