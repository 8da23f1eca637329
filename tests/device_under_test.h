// The device that tests run on: by default the first one; LENTO_TEST_DEVICE names another (`make test DEVICE=toy`).
#pragma once

namespace lento {

/// Whether LENTO_TEST_DEVICE names a device. A test that is about the host's memory, or about a device that it names
/// itself, says so: `if (on_another_device()) GTEST_SKIP() << "why";`
bool on_another_device();

}  // namespace lento
