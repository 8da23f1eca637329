// Small memory runs out anywhere inside a call: the call throws, and every tensor is as it was (E6). Every allocation
// of the calling thread is made to fail, one after the other.
#include <lento/lento.h>

#include "backends/testing/testing.h"
#include "failing_allocations.h"

#include <gtest/gtest.h>

#include <new>
#include <vector>

namespace lento {
namespace {

/// Tries `call` with the k-th allocation failing, for every k, until it needs fewer. Returns how many failed.
template <class Call>
int try_every_allocation(bool forget_plans, const Call& call) {
  // A device whose runs never happen on the calling thread: failing there is another matter (E7).
  testing::register_testing_backends();
  const std::vector<float> values{1, 2, 3};
  const Tensor x = from_host(values.data(), DType::float32, Shape{3}, testing::faulty_device());
  int failures = 0;
  for (int k = 0;; ++k) {
    if (forget_plans) cache::clear();
    Tensor y = x * 2 + 1;
    const Tensor kept = y * 3;
    y[0] = 7.0F;
    const Tensor other = concatenate({y, kept, x, x + 1}, 0);
    bool failed = false;
    (void)test::with_failing_allocation(k, [&] {
      try {
        call(y);
      } catch (const std::bad_alloc&) {
        failed = true;
      } catch (const MemoryError&) {
        failed = true;
      }
    });
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{7, 5, 7})) << "allocation " << k;
    EXPECT_EQ(kept.to_vector<float>(), (std::vector<float>{9, 15, 21})) << "allocation " << k;
    EXPECT_EQ(other.to_vector<float>().size(), 12U) << "allocation " << k;
    if (!failed) return failures;
    ++failures;
  }
}

TEST(OutOfMemory, E6_StepOfANewStructureCanFailAnywhere) {
  EXPECT_GT(try_every_allocation(true, [](const Tensor&) { step(testing::faulty_device()); }), 30);
}

TEST(OutOfMemory, E6_ARepeatedStepCanFailAnywhere) {
  EXPECT_GT(try_every_allocation(false, [](const Tensor&) { step(testing::faulty_device()); }), 3);
}

TEST(OutOfMemory, E6_EvalOfAPartCanFailAnywhere) {
  EXPECT_GT(try_every_allocation(true, [](const Tensor& y) { eval(y); }), 30);
}

}  // namespace
}  // namespace lento
