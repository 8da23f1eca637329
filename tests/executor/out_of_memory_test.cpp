// Small memory runs out anywhere inside a call: the call throws, and every tensor is as it was (E6). Every allocation
// of the calling thread is made to fail, one after the other.
#include <lento/lento.h>

#include "backend/backend.h"
#include "backends/testing/testing.h"
#include "failing_allocations.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
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

/// A device with a worker that finds no memory right behind a compile.
class ShortOfMemory final : public Backend {
 public:
  static inline std::atomic<int> allocations_behind_a_compile{-1};

  std::string_view name() const override { return "short_of_memory"; }
  int device_count() const override { return 1; }
  BufferRef allocate(std::size_t bytes, std::uint8_t device) override { return allocate_host(bytes, device); }
  void copy_from_host(Buffer& destination, const void* source, std::size_t bytes) override {
    std::memcpy(destination.data(), source, bytes);
  }
  const void* host_pointer(const Buffer& buffer) override { return buffer.data(); }
  bool in_host_memory() const override { return true; }
  std::unique_ptr<Program> own_program(Graph graph, std::uint8_t device) override {
    std::unique_ptr<Program> program = backend_of(Device("reference").id()).own_program(std::move(graph), device);
    test::allocations_left = allocations_behind_a_compile;
    return program;
  }
};

// Found by review: the worker that compiled ended the process.
TEST(OutOfMemory, E6_APlanThatCannotBeKeptIsUsedAllTheSame) {
  register_backend(std::make_unique<ShortOfMemory>());
  const std::vector<float> values{1, 2, 3};
  const Tensor x = from_host(values.data(), DType::float32, Shape{3}, Device("short_of_memory"));
  // An entry of the list of plans, and one of each table in which they are found.
  for (const int allocations : {0, 1, 2, -1}) {
    cache::clear();
    ShortOfMemory::allocations_behind_a_compile = allocations;
    const std::uint64_t misses = metrics::counter("plan.miss");
    for (int i = 0; i < 2; ++i) {
      const Tensor apart = x - 1;  // or the thread would recognise all that it recorded, without asking for the plan
      EXPECT_EQ((x * 2 + 1).to_vector<float>(), (std::vector<float>{3, 5, 7}));
    }
    EXPECT_EQ(metrics::counter("plan.miss") - misses, allocations < 0 ? 1U : 2U) << allocations;
    EXPECT_EQ(cache::info().entries, allocations < 0 ? 1U : 0U) << allocations;
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
