// Runs on a device that works on its own: they are issued at once, one behind the other, and done later.
#include "toy/toy.h"

#include <lento/host_data.h>
#include <lento/metrics.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

namespace lento::test {
namespace {

class ToyQueues : public Toy {};

TEST_F(ToyQueues, D1_StepsReturnWhenTheyAreIssued) {
  Tensor x = on_toy({1, 2, 3});
  Tensor warm = x * 2 + 1;
  step(device(), {.wait = true});
  const std::uint64_t workers = metrics::counter("launch.worker");
  toy::hold(true);
  for (int i = 0; i < 5; ++i) {
    x = x * 2 + 1;
    step(device());
  }
  EXPECT_EQ(live_tensors().back().state, "running");
  EXPECT_EQ(metrics::counter("launch.worker"), workers) << "a step behind one that is only issued wakes no thread";
  toy::hold(false);
  EXPECT_EQ(x.to_vector<float>(), (Floats{63, 95, 127}));
  EXPECT_EQ(warm.to_vector<float>(), (Floats{3, 5, 7}));
}

// Found by review: a step of all threads looked once, and launched a run for each of them.
TEST_F(ToyQueues, D1_EachRunOfAStepOfAllThreadsCountsForTheLimit) {
  const OptionsScope scope([] {
    Options changed = options();
    changed.max_inflight_steps = 1;
    return changed;
  }());
  const Tensor x = on_toy({1});
  wait();
  Tensor theirs;
  std::thread([&] { theirs = x + 1; }).join();
  const Tensor mine = x + 2;
  toy::hold(true);
  const std::uint64_t waits = metrics::counter("sync.room");
  std::atomic<bool> stepped{false};
  std::thread letting_go([&] {
    while (metrics::counter("sync.room") == waits && !stepped) std::this_thread::yield();
    toy::hold(false);
  });
  step(device(), {.all_threads = true});
  stepped = true;
  letting_go.join();
  EXPECT_GT(metrics::counter("sync.room"), waits) << "the second run waits for the end of the first";
  EXPECT_EQ(theirs.to_vector<float>(), Floats{2});
  EXPECT_EQ(mine.to_vector<float>(), Floats{3});
}

TEST_F(ToyQueues, D1_EveryRunCountsForTheLimitOfRunsUnderWay) {
  const OptionsScope scope([] {
    Options changed = options();
    changed.max_inflight_steps = 3;
    return changed;
  }());
  Tensor x = on_toy({1});
  wait();
  toy::hold(true);
  const std::uint64_t waits = metrics::counter("sync.room");
  std::atomic<int> steps{0};
  std::thread stepping([&] {
    Tensor y = x + 0;
    for (int i = 0; i < 6; ++i) {
      y = y + 1;
      step(device());
      ++steps;
    }
    EXPECT_EQ(y.to_vector<float>(), (Floats{7}));
  });
  while (metrics::counter("sync.room") == waits) std::this_thread::yield();
  EXPECT_EQ(steps, 3);
  toy::hold(false);
  stepping.join();
  EXPECT_EQ(steps, 6);
}

TEST_F(ToyQueues, T6_StepsThatAreOnlyIssuedUpdateInPlace) {
  Tensor x = on_toy(Floats(1000, 1));
  x += 1;
  step(device(), {.wait = true});
  toy::hold(true);
  const std::uint64_t donations = metrics::counter("donation");
  const std::size_t bytes = memory(device()).live;
  for (int i = 0; i < 6; ++i) {
    x += 1;
    step(device());
  }
  EXPECT_EQ(metrics::counter("donation"), donations + 6);
  EXPECT_EQ(memory(device()).live, bytes);
  toy::hold(false);
  EXPECT_EQ(x.to_vector<float>(), Floats(1000, 8));
}

TEST_F(ToyQueues, D3_HostDataIsReadBeforeFromHostReturns) {
  toy::hold(true);
  Floats values{1, 2, 3};
  const Tensor x = on_toy(values);
  values = {7, 8, 9};
  toy::hold(false);
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2, 3}));
}

// zlib, of which a file's reader asks for checksums, takes a null pointer for something else.
TEST_F(ToyQueues, D3_AFillerGetsAnAddressForNothingToo) {
  bool called = false;
  const auto fill = [&](void* data, std::size_t bytes) { called = data != nullptr && bytes == 0; };
  EXPECT_EQ(from_filler(fill, DType::float32, {0, 3}, device()).shape(), (Shape{0, 3}));
  EXPECT_TRUE(called);
}

TEST_F(ToyQueues, D3_CopiesBetweenDevicesWaitForNothing) {
  const Tensor x = from_host(Floats{1, 2, 3}.data(), DType::float32, {3});
  toy::hold(true);
  const Tensor there = to_device(x * 2, device(0));
  const Tensor next = to_device(there + 1, device(1));
  const Tensor back = to_device(next * 10, Device());
  const Tensor sum = back + x;
  eval({sum});
  toy::hold(false);
  EXPECT_EQ(sum.to_vector<float>(), (Floats{31, 52, 73}));
  EXPECT_EQ(there.to_vector<float>(), (Floats{2, 4, 6}));
  EXPECT_EQ(next.device(), device(1));
}

TEST_F(ToyQueues, D3_TheSourceOfACopyMayBeDropped) {
  Tensor moved;
  {
    auto owner = std::make_shared<Floats>(Floats{4, 5, 6});
    const std::weak_ptr<Floats> alive = owner;
    Tensor x = from_memory(owner->data(), DType::float32, {3}, owner, Device());
    owner.reset();
    toy::hold(true);
    moved = to_device(x, device());
    x = Tensor();
    EXPECT_FALSE(alive.expired()) << "the copy has not begun";
    toy::hold(false);
    wait();
    EXPECT_TRUE(alive.expired());
  }
  EXPECT_EQ(moved.to_vector<float>(), (Floats{4, 5, 6}));
}

TEST_F(ToyQueues, D3_AReadWaitsForItsValueAlone) {
  const Tensor x = computed_on_toy({1, 2});
  HeldQueue computing(device(), Queue::compute);
  const Tensor later = x * 2;
  step(device());
  const Tensor here = to_device(later, Device("cpu"));
  const Tensor there = to_device(later, device(1));
  const std::uint64_t copies = metrics::counter("transfer.d2h");
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2})) << "neither for what computes nor for what copies that";
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2}));
  EXPECT_EQ(metrics::counter("transfer.d2h"), copies + 1) << "a second read has the copy of the first";
  const std::vector<LiveTensor> live = live_tensors();
  EXPECT_EQ(std::ranges::count(live, "running", &LiveTensor::state), 3);
  computing.let_go_on();
  for (const Tensor& tensor : {later, here, there}) EXPECT_EQ(tensor.to_vector<float>(), (Floats{2, 4}));
}

TEST_F(ToyQueues, D3_M1_AFewNumbersThatTheHostGaveAreReadWithoutACopy) {
  const Tensor few = on_toy({1, 2}), many = on_toy(Floats(1000, 1));
  wait();
  const std::uint64_t copies = metrics::counter("transfer.d2h");
  EXPECT_EQ(few.to_vector<float>(), (Floats{1, 2}));
  EXPECT_EQ(metrics::counter("transfer.d2h"), copies);
  EXPECT_EQ(many.to_vector<float>(), Floats(1000, 1));
  EXPECT_EQ(metrics::counter("transfer.d2h"), copies + 1);
}

// Found by random programs: the copy's own work, or the function that told of its end, held the memory a little longer.
TEST_F(ToyQueues, E9_WhoWaitsForACopyFindsItsMemoryHeldByNobodyElse) {
  wait();
  const std::size_t before = memory(device()).live + memory(device(1)).live;
  for (int i = 0; i < 300; ++i) {
    Tensor x = on_toy({1, 2, 3});
    Tensor moved = to_device(x, device(1));
    wait();
    x = moved = Tensor();
    ASSERT_EQ(memory(device()).live + memory(device(1)).live, before) << "after copy " << i;
    x = on_toy({1, 2, 3});
    (void)x.to_vector<float>();
    x = Tensor();
    ASSERT_EQ(memory(device()).live, before) << "after read " << i;
  }
}

TEST_F(ToyQueues, D2_AChildComputesOnTheHostAndIsToldThatTheDeviceIsNot) {
  const Tensor x = on_toy({1, 2});
  Tensor y = x + 1;
  step(device());
  const Tensor pending = x + 1;
  const pid_t child = fork();
  if (child == 0) {
    int wrong = 0;
    for (const bool recorded_before : {true, false}) {  // the plan is there already
      try {
        eval({recorded_before ? pending : x + 1});
        wrong |= 8;
      } catch (const DeviceError&) {
      }
    }
    try {
      (void)y.to_vector<float>();
      wrong |= 1;
    } catch (const DeviceError& error) {
      if (std::string(error.what()).find("in use when the process forked") == std::string::npos) wrong |= 2;
    }
    const Tensor here = from_host(Floats{1, 2}.data(), DType::float32, {2}) * 3;
    if (here.to_vector<float>() != Floats{3, 6}) wrong |= 4;
    _exit(wrong);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(y.to_vector<float>(), (Floats{2, 3}));
}

TEST_F(ToyQueues, E9_MemoryLimitsAreOfADevice) {
  const Tensor x = on_toy(Floats(1000, 1));
  wait();
  set_memory_limit(memory(device()).live + 1000, device());
  EXPECT_THROW(eval({concat({x, x})}), MemoryError);
  const Tensor other = on(device(1), Floats(1000, 1));
  EXPECT_NO_THROW(eval({concat({other, other})}));
  set_memory_limit(0, device());
  EXPECT_EQ(concat({x, x}).to_vector<float>(), Floats(2000, 1));
}

// Found by review: what is issued has its memory, and was counted once more.
TEST_F(ToyQueues, D1_E9_AStepThatFitsIntoTheLimitDoesNotWait) {
  const Tensor x = on_toy(Floats(1000, 1));
  wait();
  const std::size_t each = 1000 * sizeof(float);
  set_memory_limit(static_cast<std::int64_t>(memory(device()).live + 2 * each + each / 2), device());
  toy::hold(true);
  const Tensor y = x + 1;
  step(device());
  const Tensor z = x * 3;
  step(device());
  toy::hold(false);
  set_memory_limit(0, device());
  EXPECT_EQ(y.to_vector<float>(), Floats(1000, 2));
  EXPECT_EQ(z.to_vector<float>(), Floats(1000, 3));
}

TEST_F(ToyQueues, E10_SeveralThreadsIssueToOneDevice) {
  toy::set_delays(7);
  const Tensor shared = on_toy({1, 2, 3});
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Tensor x = shared * (t + 1);
      for (int i = 0; i < 20; ++i) {
        x = x + shared;
        step(device());
      }
      const auto n = static_cast<float>(t + 21);
      if (x.to_vector<float>() == Floats{n, 2 * n, 3 * n}) ++right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
}

}  // namespace
}  // namespace lento::test
