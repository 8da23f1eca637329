#include "backend/driver.h"

#include "base/fail.h"

namespace lento {

void Driver::launch_chain(std::span<const KernelLaunch>, std::span<const TileOperand>, const Chain&) {
  fail<BackendError>("this device has no chains of kernels");
}

void Driver::run_node(const NodeCall&) { fail<BackendError>("this device runs no op alone"); }

}  // namespace lento
