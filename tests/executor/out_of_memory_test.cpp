// Small memory runs out anywhere inside a call: the call throws, and every tensor is as it was (E6). Every allocation
// of the calling thread is made to fail, one after the other.
#include <lento/lento.h>

#include "backends/testing/testing.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

namespace {

constinit thread_local int allocations_left = -1;  // -1: as many as one likes

bool may_allocate() {
  if (allocations_left < 0) return true;
  return allocations_left-- > 0;
}

void* allocate(std::size_t bytes) {
  if (!may_allocate()) {
    allocations_left = -1;  // one failure; cleaning up works
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Not inlined: the compiler would see free() for what came from new, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate(bytes); }
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return allocate(bytes); }
// std::stable_sort asks this way and goes on without; what it gets is given back to the operators below.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

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
    allocations_left = k;
    try {
      call(y);
    } catch (const std::bad_alloc&) {
      failed = true;
    } catch (const MemoryError&) {
      failed = true;
    }
    allocations_left = -1;
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
