// Failures at awkward moments: something was queued already, or its end could not be told.
#include "toy/toy.h"

#include <lento/memory.h>
#include <lento/metrics.h>

#include <functional>
#include <string>

namespace lento::test {
namespace {

class ToyBrokenOff : public Toy {
 protected:
  static std::string failure_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  static std::string failure_of(const Tensor& x) {
    return failure_of([&] { (void)x.to_vector<float>(); });
  }
  static std::size_t bytes_on_toys() { return memory(device(0)).live + memory(device(1)).live; }
};

TEST_F(ToyBrokenOff, E7_AStepWhoseEndCannotBeToldIsNotBegun) {
  const Tensor x = on_toy({1, 2});
  wait();
  const std::size_t before = bytes_on_toys();
  {
    const Tensor y = x + 1;
    toy::fail_at(toy::Fault::fence);
    const std::uint64_t launches = metrics::counter("launch.device");
    EXPECT_NO_THROW(step(device()));
    EXPECT_NE(failure_of(y).find("a test forbids a fence"), std::string::npos) << failure_of(y);
    EXPECT_EQ(metrics::counter("launch.device"), launches);
    EXPECT_EQ((x + 1).to_vector<float>(), (Floats{2, 3}));
  }
  forget_failures();
  EXPECT_EQ(bytes_on_toys(), before);
}

TEST_F(ToyBrokenOff, D3_E7_ACopyWhoseEndCannotBeToldIsNotBegun) {
  const Tensor x = on_toy({1, 2});
  wait();
  const std::size_t before = bytes_on_toys();
  for (const Device to : {Device("cpu"), device(1)}) {
    toy::fail_at(toy::Fault::fence);
    const Tensor moved = to_device(x, to);
    EXPECT_NE(failure_of(moved).find("a test forbids a fence"), std::string::npos) << failure_of(moved);
    forget_failures();
  }
  EXPECT_EQ(bytes_on_toys(), before);
  EXPECT_EQ(to_device(x, device(1)).to_vector<float>(), (Floats{1, 2}));
}

TEST_F(ToyBrokenOff, E7_AReadThatFailsLeavesTheValueAsItWas) {
  const Tensor x = on_toy({1, 2});
  wait();
  toy::fail_at(toy::Fault::fence);
  EXPECT_NE(failure_of(x).find("a test forbids a fence"), std::string::npos);
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2}));
}

}  // namespace
}  // namespace lento::test
