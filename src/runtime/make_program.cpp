#include "runtime/make_program.h"

#include "backend/driver.h"
#include "base/progress.h"
#include "runtime/compiled_program.h"

#include <optional>
#include <utility>

namespace lento {

std::unique_ptr<Program> make_program(Graph graph, std::uint8_t device, const CompileOptions& options) {
  Backend& backend = backend_of(device);
  // Where there are queues, a compile may wait for a device that hangs.
  std::optional<HostComputes> computes;
  if (backend.queues(device) == nullptr) computes.emplace();
  Driver* const driver = backend.driver(device);
  if (driver == nullptr) return backend.own_program(std::move(graph), device);
  return std::make_unique<CompiledProgram>(std::move(graph), *driver, driver->target(), options,
                                           backend.queues(device));
}

}  // namespace lento
