// Small memory runs out anywhere while a run or a copy is handed to a device: the call throws and nothing has changed
// (E6), or what needed the memory is poisoned (E7). The device may be at work by then: what it uses stays.
#include "failing_allocations.h"
#include "toy/toy.h"

#include <lento/memory.h>

#include "base/cannot_fail.h"

#include <new>
#include <string>

namespace lento::test {
namespace {

class ToyOutOfMemory : public Toy {
 protected:
  void SetUp() override {
    Toy::SetUp();
    // Hardware needs no memory of the host where it cannot fail.
    none_may_fail = CannotFail::here;
  }
  void TearDown() override {
    none_may_fail = nullptr;
    Toy::TearDown();
  }

  /// Tries `call` with each of its allocations failing, one at a time; `look` looks at what came of it, and is told
  /// whether the call threw.
  template <class Prepare, class Call, class Look>
  static void try_every_allocation(const Prepare& prepare, const Call& call, const Look& look) {
    bool failed = true;
    int number = 0;
    for (; failed; ++number) {
      SCOPED_TRACE(number);
      const std::size_t before = bytes_on_toys();
      {
        auto values = prepare();
        bool threw = false;
        failed = with_failing_allocation(number, [&] {
          try {
            call(values);
          } catch (const std::bad_alloc&) {
            threw = true;
          } catch (const MemoryError&) {
            threw = true;
          }
        });
        look(values, threw);
      }
      forget_failures();
      ASSERT_EQ(bytes_on_toys(), before);
      if (HasFailure()) return;
    }
    EXPECT_GT(number, 5);
  }

  static std::size_t bytes_on_toys() { return memory(device(0)).live + memory(device(1)).live; }

  /// Whether it is there, and then right; else a lack of memory has poisoned it.
  static bool is_right(const Tensor& x, const Floats& value) {
    try {
      EXPECT_EQ(x.to_vector<float>(), value);
      return true;
    } catch (const MemoryError& error) {
      EXPECT_NE(std::string(error.what()).find("memory"), std::string::npos) << error.what();
      return false;
    }
  }
};

TEST_F(ToyOutOfMemory, E6_E7_AStepFindsNoMemoryAnywhere) {
  const Tensor x = on_toy({3, 1, 2});
  const Tensor place = positions({2, 0, 1}, device());
  for (const bool is_new : {true, false}) {
    for (const toy::Support support : {toy::Support::all, toy::Support::few}) {
      toy::set_support(support);
      cache::clear();
      wait();
      struct Values {
        Tensor sorted, shifted, picked;
      };
      try_every_allocation(
          [&] {
            if (is_new) cache::clear();
            const Tensor sorted = sort(x * 2);
            const Tensor shifted = sorted + 1;
            return Values{sorted, shifted, take(shifted, place, 0)};
          },
          [](const Values&) { step(device()); },
          [](const Values& values, bool threw) {
            const bool has_sorted = is_right(values.sorted, {2, 4, 6});
            const bool has_shifted = is_right(values.shifted, {3, 5, 7});
            const bool has_picked = is_right(values.picked, {7, 3, 5});
            EXPECT_TRUE(has_picked <= has_shifted && has_shifted <= has_sorted) << "each is made of the one before";
            EXPECT_TRUE(has_picked || !threw) << "a step that throws has changed nothing";
          });
    }
  }
}

TEST_F(ToyOutOfMemory, D3_E7_ACopyFindsNoMemoryAnywhere) {
  const Tensor here = on(Device("cpu"), {1, 2}), there = on_toy({1, 2});
  wait();
  for (const bool directly : {true, false}) {
    toy::set_direct_copies(directly);
    for (const auto& [source, target] : {std::pair{here, device()}, {there, Device("cpu")}, {there, device(1)}}) {
      struct Copied {
        Tensor tensor;
      };
      try_every_allocation([] { return Copied(); }, [&](Copied& copied) { copied.tensor = to_device(source, target); },
                           [](const Copied& copied, bool threw) {
                             EXPECT_EQ(copied.tensor.defined(), !threw);
                             if (!threw) (void)is_right(copied.tensor, {1, 2});
                           });
    }
  }
}

TEST_F(ToyOutOfMemory, D3_E6_AReadFindsNoMemoryAnywhere) {
  struct Value {
    Tensor tensor;
  };
  try_every_allocation([] { return Value{computed_on_toy({2, 3})}; },
                       [](const Value& value) { (void)value.tensor.to_vector<float>(); },
                       [](const Value& value, bool) { EXPECT_TRUE(is_right(value.tensor, {2, 3})); });
}

}  // namespace
}  // namespace lento::test
