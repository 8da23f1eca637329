// Several devices in one program: which one work is for, and what is kept apart.
#include "toy/toy.h"

#include "executor/closures.h"

#include <lento/metrics.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace lento::test {
namespace {

class ToyDevices : public Toy {};

TEST_F(ToyDevices, E1_AStepIsOfOneDevice) {
  const Tensor x = on(device(0), {1}) + 1;
  const Tensor y = on(device(1), {2}) + 1;
  step(device(1));
  EXPECT_TRUE(x.is_pending());
  EXPECT_FALSE(y.is_pending());
  eval({x, y});
  EXPECT_EQ(x.to_vector<float>(), Floats{2});
  EXPECT_EQ(y.to_vector<float>(), Floats{3});
}

TEST_F(ToyDevices, T2_OperandsOnDifferentDevicesAreAnErrorThatNamesBoth) {
  const Tensor x = on(device(0), {1});
  const Tensor y = on(device(1), {1});
  for (const std::function<Tensor()>& op : {std::function<Tensor()>([&] { return x + y; }),
                                            {[&] { return concat({x, y}); }},
                                            {[&] { return take(x, positions({0}, device(1)), 0); }}}) {
    try {
      (void)op();
      ADD_FAILURE() << "nothing was raised";
    } catch (const DeviceError& error) {
      EXPECT_NE(std::string(error.what()).find("toy:0 and toy:1"), std::string::npos) << error.what();
    }
  }
}

TEST_F(ToyDevices, E1_AScopeNamesTheDefaultDeviceOfItsThread) {
  const Device first = default_device();
  {
    const DeviceScope outer(device(0));
    EXPECT_EQ(default_device(), device(0));
    {
      const DeviceScope inner(device(1));
      EXPECT_EQ(ones({2}).device(), device(1));
      EXPECT_EQ(tensor({1.0F, 2.0F}).device(), device(1));
    }
    EXPECT_EQ(ones({2}).device(), device(0));
    const Tensor x = ones({2}) + 1;
    step();
    EXPECT_FALSE(x.is_pending()) << "step() is for the default device";
    std::thread([&] { EXPECT_EQ(default_device(), first); }).join();
  }
  EXPECT_EQ(default_device(), first);
}

TEST_F(ToyDevices, E1_AScopeCountsMoreThanWhatWasSetForAllThreads) {
  const Device first = default_device();
  set_default_device(device(0));
  std::thread([&] { EXPECT_EQ(default_device(), device(0)); }).join();
  {
    const DeviceScope scope(device(1));
    EXPECT_EQ(Device(), device(1));
  }
  EXPECT_EQ(Device(), device(0));
  set_default_device(first);
}

TEST_F(ToyDevices, C1_C3_ClosuresAreOfADevice) {
  const Tensor x = on(device(0), {1}) + 1;
  const Tensor y = on(device(1), {5}) + 1;
  std::vector<std::string> called;
  add_step_closure([&](const std::vector<Tensor>& args) { called.push_back("0: " + args[0].to_string()); }, {x}, false,
                   device(0));
  add_step_closure([&](const std::vector<Tensor>& args) { called.push_back("1: " + args[0].to_string()); }, {y}, false,
                   device(1));
  step(device(1));
  EXPECT_EQ(called, (std::vector<std::string>{"1: [6.]"}));
  step(device(0));
  EXPECT_EQ(called, (std::vector<std::string>{"1: [6.]", "0: [2.]"}));
}

TEST_F(ToyDevices, C3_C6_EachDeviceHasAQueueOfClosures) {
  // The first device's closure waits for the second one's: one queue for both would never come to that.
  std::atomic<bool> second_ran{false};
  add_step_closure([&](const std::vector<Tensor>&) { second_ran.wait(false); }, {}, true, device(0));
  step(device(0));
  add_step_closure(
      [&](const std::vector<Tensor>&) {
        second_ran = true;
        second_ran.notify_all();
      },
      {}, true, device(1));
  step(device(1));
  wait_closures();
  EXPECT_TRUE(second_ran);
}

TEST_F(ToyDevices, C5_AFailureOfOneDevicesClosureIsNotTheOthers) {
  add_step_closure([](const std::vector<Tensor>&) { throw std::runtime_error("of toy:0"); }, {}, true, device(0));
  step(device(0));
  wait_closures();
  int called = 0;
  const auto count = [&called](const std::vector<Tensor>&) { ++called; };
  add_step_closure(count, {}, true, device(1));
  EXPECT_NO_THROW(step(device(1)));
  add_step_closure(count, {}, true, device(0));
  EXPECT_THROW(step(device(0)), ClosureError);
  wait_closures();
  EXPECT_EQ(called, 1);
}

TEST_F(ToyDevices, E7_WaitIsForTheDevicesItIsGiven) {
  const Tensor bad = take(on(device(0), {1, 2}), positions({9}, device(0)), 0);
  step(device(0));
  EXPECT_NO_THROW(wait({device(1)}));
  EXPECT_THROW(wait({device(1), device(0)}), IndexError);
}

TEST_F(ToyDevices, E9_LiveTensorsOfOneDevice) {
  const Tensor x = on(device(0), {1});
  const Tensor y = on(device(1), {1});
  const Tensor pending = y + 1;
  const auto ids = [](std::optional<Device> of) {
    std::vector<std::uint64_t> found;
    for (const LiveTensor& live : live_tensors(of)) found.push_back(live.id);
    return found;
  };
  EXPECT_EQ(ids(device(0)), (std::vector{x.id()}));
  EXPECT_EQ(ids(device(1)), (std::vector{y.id(), pending.id()}));
  EXPECT_EQ(ids(std::nullopt), (std::vector{x.id(), y.id(), pending.id()}));
  EXPECT_EQ(live_tensors(device(1)).back().device, device(1));
}

TEST_F(ToyDevices, T5_D7_RandomBitsAreTheSameEverywhereAndComeFromOneStream) {
  const auto draw = [](Device where) {
    random::seed(7);
    const DeviceScope scope(where);
    const Tensor first = random::uniform({100});
    const Tensor second = random::uniform({100});
    Floats both = first.to_vector<float>();
    const Floats more = second.to_vector<float>();
    both.insert(both.end(), more.begin(), more.end());
    return both;
  };
  const Floats expected = draw(Device("cpu"));
  EXPECT_EQ(draw(device(0)), expected);
  EXPECT_EQ(draw(device(1)), expected);
  random::seed(7);
  Tensor first, second;
  {
    const DeviceScope scope(device(0));
    first = random::uniform({100});
  }
  {
    const DeviceScope scope(device(1));
    second = random::uniform({100});
  }
  Floats both = first.to_vector<float>();
  const Floats more = second.to_vector<float>();
  both.insert(both.end(), more.begin(), more.end());
  EXPECT_EQ(both, expected) << "the stream goes on from device to device";
}

TEST_F(ToyDevices, D1_E1_EveryInlineRunCountsForTheLimit) {
  const OptionsScope scope([] {
    Options changed = options();
    changed.max_inflight_steps = 2;
    return changed;
  }());
  Tensor warm = on_toy({1}) + 1;
  step(device(), {.wait = true});
  const Tensor x = on_toy({1});
  wait();
  toy::hold(true);
  const std::uint64_t inline_runs = metrics::counter("launch.inline");
  const std::uint64_t waits = metrics::counter("sync.room");
  std::thread letting_go([&] {
    // The third step waits for room: only then the device goes on.
    while (metrics::counter("sync.room") == waits) std::this_thread::yield();
    toy::hold(false);
  });
  Tensor y = x;
  for (int i = 0; i < 3; ++i) {
    y = y + 1;
    step(device());
  }
  letting_go.join();
  EXPECT_EQ(metrics::counter("launch.inline") - inline_runs, 3);
  EXPECT_EQ(y.to_vector<float>(), Floats{4});
}

// Found by review: a step waited for the oldest work of its device, although that was a copy.
TEST_F(ToyDevices, E1_WhoWaitsForRoomWaitsForNoCopy) {
  const OptionsScope scope([] {
    Options changed = options();
    changed.max_inflight_steps = 1;
    return changed;
  }());
  const Tensor busy = on(device(0), {1});
  Tensor x = on(device(1), {1});
  wait();
  HeldQueue first(device(0), Queue::compute), second(device(1), Queue::compute);
  const Tensor copy = to_device(busy + 1, device(1));
  const std::uint64_t waits = metrics::counter("sync.room");
  std::thread letting_go([&] {
    while (metrics::counter("sync.room") == waits) std::this_thread::yield();
    second.let_go_on();
  });
  for (int i = 0; i < 3; ++i) {
    x = x + 1;
    step(device(1));
  }
  letting_go.join();
  EXPECT_EQ(x.to_vector<float>(), Floats{4});
  first.let_go_on();
  EXPECT_EQ(copy.to_vector<float>(), Floats{2});
}

TEST_F(ToyDevices, E1_RunsOfTheHostThatAreDoneAtOnceNeverFillTheLimit) {
  const OptionsScope scope([] {
    Options changed = options();
    changed.max_inflight_steps = 1;
    return changed;
  }());
  const std::uint64_t waits = metrics::counter("sync.room");
  Tensor x = on(Device("cpu"), {1});
  const std::uint64_t inline_runs = metrics::counter("launch.inline");
  for (int i = 0; i < 5; ++i) {
    cache::clear();  // so that the estimate decides, and not what the last run took on a busy machine
    x = x + 1;
    step(Device("cpu"));
  }
  EXPECT_EQ(metrics::counter("launch.inline") - inline_runs, 5);
  EXPECT_EQ(metrics::counter("sync.room"), waits);
  EXPECT_EQ(x.to_vector<float>(), Floats{6});
}

TEST_F(ToyDevices, D3_ACopyWaitsForNobodysWork) {
  const Tensor x = on(device(0), {1, 2});
  wait();
  toy::hold(true);
  const Tensor busy = x * 2;
  step(device(0));
  const Tensor moved = to_device(busy, device(1));
  const Tensor other = to_device(x, Device("cpu"));
  const std::vector<LiveTensor> live = live_tensors();
  EXPECT_EQ(std::ranges::count(live, "running", &LiveTensor::state), 3);
  toy::hold(false);
  EXPECT_EQ(moved.to_vector<float>(), (Floats{2, 4}));
  EXPECT_EQ(other.to_vector<float>(), (Floats{1, 2}));
}

TEST_F(ToyDevices, E6_E9_NoMemoryForAPlanLeavesEverythingAsItWas) {
  const Tensor x = on_toy(Floats(1000, 1));
  wait();
  set_memory_limit(static_cast<std::int64_t>(memory(device()).live) + 1000, device());
  const Tensor y = concat({x, x});
  int called = 0;
  add_step_closure([&called](const std::vector<Tensor>&) { ++called; }, {y}, false, device());
  EXPECT_THROW(step(device()), MemoryError);
  EXPECT_TRUE(y.is_pending());
  EXPECT_EQ(called, 0);
  set_memory_limit(0, device());
  step(device());
  EXPECT_EQ(called, 1);
  EXPECT_EQ(y.to_vector<float>(), Floats(2000, 1));
}

TEST_F(ToyDevices, E6_ACompileThatFailsLeavesEverythingAsItWas) {
  const Tensor x = on_toy({1, 2, 3});
  const Tensor y = x * 3 - 1;
  toy::fail_at(toy::Fault::compile);
  EXPECT_THROW(step(device()), BackendError);
  EXPECT_TRUE(y.is_pending());
  EXPECT_EQ(y.to_vector<float>(), (Floats{2, 5, 8}));
}

TEST_F(ToyDevices, E7_ALaunchThatFailsPoisonsWhatItWouldHaveComputed) {
  const Tensor x = on_toy({3, 1, 2});
  wait();
  const std::size_t before = memory(device()).live;
  {
    const Tensor sorted = sort(x);
    toy::fail_at(toy::Fault::launch);
    EXPECT_NO_THROW(step(device()));
    const Tensor later = sorted + 1;
    EXPECT_THROW((void)later.to_vector<float>(), BackendError);
    EXPECT_THROW((void)sorted.to_vector<float>(), BackendError);
    EXPECT_EQ((x + 1).to_vector<float>(), (Floats{4, 2, 3}));
  }
  forget_failures();
  EXPECT_EQ(memory(device()).live, before);
}

TEST_F(ToyDevices, E7_NoMemoryInTheMiddleOfARunPoisonsIt) {
  const Tensor x = on_toy({3, 1, 2});
  const Tensor y = sort(x) + 1;
  toy::fail_at(toy::Fault::allocate);
  EXPECT_NO_THROW(step(device()));
  EXPECT_THROW((void)y.to_vector<float>(), MemoryError);
  EXPECT_EQ(x.to_vector<float>(), (Floats{3, 1, 2}));
}

// Found by review: the line of step() stood there as well.
TEST_F(ToyDevices, E7_AFailureOfARunOfTheCallersThreadHasOneLineThatOfTheOp) {
  const Tensor x = on_toy({3, 1, 2});
  wait();
  const int line = __LINE__ + 1;
  const Tensor y = sort(x);
  const std::uint64_t inline_runs = metrics::counter("launch.inline");
  toy::fail_at(toy::Fault::allocate);
  step(device());
  EXPECT_EQ(metrics::counter("launch.inline"), inline_runs + 1);
  try {
    (void)y.to_vector<float>();
    ADD_FAILURE() << "nothing was raised";
  } catch (const MemoryError& error) {
    EXPECT_EQ(std::string(error.what()), "a test forbids 12 bytes, at devices_test.cpp:" + std::to_string(line));
  }
}

TEST_F(ToyDevices, D2_EveryDoorToADeviceIsClosedInAChild) {
  const Tensor x = on_toy({1, 2});
  const Tensor y = x + 1;
  const Tensor there = on(device(1), {1});
  step(device());
  const Tensor recorded = y * 2;
  const Tensor here = on(Device("cpu"), {1, 2});
  const std::vector<std::function<void()>> doors = {
      [&] { (void)y.to_vector<float>(); },
      [&] { (void)recorded.to_vector<float>(); },
      [&] { (void)(x + 1); },
      [&] { (void)on_toy({1}); },
      [&] { (void)to_device(y, Device("cpu")); },
      [&] { (void)to_device(here, device()); },
      [&] { step(device()); },
      [&] { eval(recorded); },
      [&] { (void)(there + 1); },
  };
  EXPECT_EQ(in_child([&] {
              int wrong = 0;
              for (const std::function<void()>& door : doors) {
                try {
                  door();
                  wrong |= 1;
                } catch (const DeviceError& error) {
                  if (std::string(error.what()).find("in use when the process forked") == std::string::npos) wrong |= 2;
                }
              }
              // What touches no device works on.
              (void)memory(device());
              set_memory_limit(0, device());
              wait();
              if (live_tensors(device()).size() != 3) wrong |= 4;
              if (device().is_lost()) wrong |= 8;
              if ((here * 3).to_vector<float>() != Floats{3, 6}) wrong |= 16;
              {
                const Tensor dropped = x;
              }
              return wrong;
            }),
            0);
  EXPECT_EQ(recorded.to_vector<float>(), (Floats{4, 6})) << "the parent goes on";
}

TEST_F(ToyDevices, D2_AChildOfALossyParentIsTold) {
  const Tensor x = on_toy({1, 2});
  toy::lose(0);
  EXPECT_EQ(in_child([&] {
              try {
                (void)x.to_vector<float>();
                return 1;
              } catch (const Error&) {
                return 0;
              }
            }),
            0);
}

}  // namespace
}  // namespace lento::test
