// Linked into every test of what a user calls. With LENTO_TEST_DEVICE=toy tensors are made on that device, and each
// test that passed is a line of the file LENTO_TEST_REPORT, which says where its ops ran (scripts/device-report adds
// up).
#include "device_under_test.h"

#include <lento/device.h>
#include <lento/error.h>
#include <lento/eval.h>
#include <lento/metrics.h>

#include "backends/toy/toy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace lento {

namespace {

const char* device_name() {
  const char* const name = std::getenv("LENTO_TEST_DEVICE");
  return name == nullptr || *name == '\0' ? nullptr : name;
}

/// Everything that was started on the device has ended, so that what it counts belongs to this test.
void settle() {
  while (true) {
    try {
      return wait({Device(device_name())});
    } catch (const Error&) {  // a failure that the test provoked
      continue;
    }
  }
}

class DeviceUnderTest final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    toy::register_toy();
    if (const char* const seed = std::getenv("LENTO_TEST_DELAYS")) toy::set_delays(std::strtoull(seed, nullptr, 10));
    set_default_device(Device(device_name()));
  }

  void OnTestStart(const ::testing::TestInfo&) override { before_ = metrics::counters(); }

  void OnTestEnd(const ::testing::TestInfo& test) override {
    const char* const path = std::getenv("LENTO_TEST_REPORT");
    if (path == nullptr || !test.result()->Passed()) return;
    settle();
    bool launched = false;
    std::string fallbacks;
    for (const auto& [name, count] : metrics::counters()) {
      if (count == before_[name]) continue;  // a test may have reset it
      if (name == "launch.device") launched = true;
      if (name.starts_with("fallback.")) fallbacks += " " + name.substr(std::string_view("fallback.").size());
    }
    const char* const where = launched            ? (fallbacks.empty() ? "device" : "partly")
                              : fallbacks.empty() ? "nothing"
                                                  : "fallback";
    std::ofstream(path, std::ios::app) << std::string(where) + "\t" + test.test_suite_name() + "." + test.name() +
                                              "\t" + fallbacks + "\n";
  }

 private:
  std::map<std::string, std::uint64_t> before_;
};

[[maybe_unused]] const bool listens = [] {
  if (!on_another_device()) return false;
  ::testing::UnitTest::GetInstance()->listeners().Append(std::make_unique<DeviceUnderTest>().release());
  return true;
}();

}  // namespace

bool on_another_device() { return device_name() != nullptr; }

}  // namespace lento
