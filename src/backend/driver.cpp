#include "backend/driver.h"

#include "base/fail.h"
#include "base/format.h"

namespace lento {

void Driver::launch_chain(std::span<const KernelLaunch>, std::span<const TileOperand>, const Chain&) {
  fail<BackendError>("this device has no chains of kernels");
}

LateFailure PreparedCall::explain(std::size_t, StatusWord word) const {
  return {ErrorKind::backend, fmt::format("the device failed with status {}", word)};
}

std::unique_ptr<StatusWords> Driver::status_words(std::size_t) {
  fail<BackendError>("this device has no status words");
}

void Driver::run_node(const NodeCall&) { fail<BackendError>("this device runs no op alone"); }

}  // namespace lento
