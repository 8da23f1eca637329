// Copies between two devices of one backend, which need no host.
#include "toy/toy.h"

#include <lento/host_data.h>
#include <lento/memory.h>
#include <lento/metrics.h>

#include <algorithm>
#include <string>

namespace lento::test {
namespace {

class ToyDirectCopies : public Toy {
 protected:
  struct Copies {
    std::uint64_t to_host = metrics::counter("transfer.d2h");
    std::uint64_t from_host = metrics::counter("transfer.h2d");
    std::uint64_t direct = metrics::counter("transfer.d2d");
    friend bool operator==(const Copies&, const Copies&) = default;
  };
};

TEST_F(ToyDirectCopies, D3_M1_TwoDevicesOfOneBackendCopyWithoutTheHost) {
  const Tensor x = on(device(0), {1, 2, 3});
  wait();
  const Copies before;
  const Tensor there = to_device(x, device(1));
  wait();
  EXPECT_EQ(Copies(), (Copies{before.to_host, before.from_host, before.direct + 1}));
  EXPECT_EQ(there.to_vector<float>(), (Floats{1, 2, 3}));
}

TEST_F(ToyDirectCopies, M1_CopiesThroughTheHostAreCountedByTheirParts) {
  const Tensor x = on(device(0), {1, 2, 3});
  const Tensor here = on(Device("cpu"), {1});
  wait();
  const Copies before;
  const Tensor there = to_device(x, Device("cpu"));
  const Tensor arriving = to_device(here, device(1));
  wait();
  EXPECT_EQ(Copies(), (Copies{before.to_host + 1, before.from_host + 1, before.direct}));
}

TEST_F(ToyDirectCopies, D3_M1_DevicesThatCannotCopyThroughTheHost) {
  toy::set_direct_copies(false);
  const Tensor x = on(device(0), {1, 2, 3});
  wait();
  const Copies before;
  HeldQueue leaving(device(0), Queue::download), arriving(device(1), Queue::upload);
  const Tensor next = to_device(x, device(1)) * 10;
  step(device(1));
  leaving.let_go_on();
  arriving.let_go_on();
  EXPECT_EQ(next.to_vector<float>(), (Floats{10, 20, 30}));
  EXPECT_EQ(Copies(), (Copies{before.to_host + 2, before.from_host + 1, before.direct})) << "and one for the read";
}

// Found by review: what failed on the second part of the way was told as a lack of memory.
TEST_F(ToyDirectCopies, D3_E7_WhatFailsOnTheSecondPartOfTheWayIsToldAsItIs) {
  toy::set_direct_copies(false);
  const Tensor x = on(device(0), {1, 2, 3});
  wait();
  toy::fail_at(toy::Fault::fence, 1);
  const Tensor there = to_device(x, device(1));
  EXPECT_THROW(wait({device(1)}), BackendError);
  try {
    (void)there.to_vector<float>();
    ADD_FAILURE() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::backend) << error.what();
  }
  EXPECT_EQ(to_device(x, device(1)).to_vector<float>(), (Floats{1, 2, 3}));
}

// Found by review: such memory stood in no account.
TEST_F(ToyDirectCopies, E9_WhatStandsOnTheHostForADeviceIsCountedThere) {
  const Device host("cpu");
  constexpr std::size_t kBytes = 4000;
  wait();
  const std::size_t before = memory(host).live;
  {
    HeldQueue arriving(device(0), Queue::upload);
    const Tensor x = on(device(0), Floats(kBytes / sizeof(float), 1));
    EXPECT_EQ(memory(host).live, before + kBytes) << "on its way";
    arriving.let_go_on();
    wait();
    EXPECT_EQ(memory(host).live, before);
    const Tensor y = x + 1;
    (void)y.to_vector<float>();
    EXPECT_EQ(memory(host).live, before + kBytes) << "what was read is kept as long as the tensor";
    set_memory_limit(static_cast<std::int64_t>(before) + 1, host);
    EXPECT_EQ((x * 2).to_vector<float>(), Floats(kBytes / sizeof(float), 2)) << "no limit refuses a read";
    set_memory_limit(0, host);
  }
  EXPECT_EQ(memory(host).live, before);
}

TEST_F(ToyDirectCopies, D1_D3_ACopyIsIssuedAndRunsFollowItsFence) {
  const Tensor x = on(device(0), {1, 2});
  wait();
  HeldQueue arriving(device(1), Queue::upload);
  const std::uint64_t workers = metrics::counter("launch.worker");
  const Tensor moved = to_device(x, device(1));
  const Tensor next = moved * 10;
  step(device(1));
  EXPECT_EQ(metrics::counter("launch.worker"), workers) << "it is queued behind the copy";
  const std::vector<LiveTensor> live = live_tensors(device(1));
  EXPECT_EQ(std::ranges::count(live, "running", &LiveTensor::state), 2);
  arriving.let_go_on();
  EXPECT_EQ(next.to_vector<float>(), (Floats{10, 20}));
}

TEST_F(ToyDirectCopies, D3_NeitherSideIsFreedOrOverwrittenEarly) {
  Tensor x = on(device(0), Floats(1000, 1));
  wait();
  const std::size_t before = memory(device(0)).live;
  HeldQueue arriving(device(1), Queue::upload);
  Tensor moved = to_device(x, device(1));
  const Tensor last = moved + 1;
  step(device(1));
  moved = Tensor();
  x += 1;  // in its memory, if nobody else held it
  step(device(0));
  x = Tensor();
  const Tensor other = on(device(0), Floats(1000, 7)) + 0;  // would take what was freed
  step(device(0));
  EXPECT_GE(memory(device(0)).live, before) << "the source is there";
  arriving.let_go_on();
  EXPECT_EQ(last.to_vector<float>(), Floats(1000, 2));
  EXPECT_EQ(other.to_vector<float>(), Floats(1000, 7));
}

TEST_F(ToyDirectCopies, D3_ACopyComesBehindWhatMakesItsSource) {
  const Tensor x = on(device(0), {1, 2});
  wait();
  HeldQueue computing(device(0), Queue::compute);
  const Tensor made = x * 2;
  const Tensor moved = to_device(made, device(1));
  const Tensor idle = on(device(1), {5}) + 1;
  EXPECT_EQ(idle.to_vector<float>(), Floats{6}) << "nobody else waits for it";
  computing.let_go_on();
  EXPECT_EQ(moved.to_vector<float>(), (Floats{2, 4}));
}

TEST_F(ToyDirectCopies, D3_E7_APoisonedValueStaysPoisoned) {
  const Tensor bad = take(on(device(0), {1, 2}), positions({7}, device(0)), 0);
  const Tensor moved = to_device(bad, device(1));
  try {
    (void)moved.to_vector<float>();
    ADD_FAILURE() << "nothing was raised";
  } catch (const IndexError& error) {
    EXPECT_NE(std::string(error.what()).find("index 7"), std::string::npos) << error.what();
  }
}

TEST_F(ToyDirectCopies, D5_ALossOfEitherDevicePoisonsWhatIsOnItsWay) {
  for (const int lost : {0, 1}) {
    const Tensor x = on(device(0), {1, 2});
    wait();
    HeldQueue arriving(device(1), Queue::upload);
    const Tensor moved = to_device(x, device(1));
    toy::lose(lost);
    arriving.let_go_on();
    EXPECT_THROW((void)moved.to_vector<float>(), DeviceLostError) << lost;
    forget_failures();
    toy::replace(lost);
  }
}

TEST_F(ToyDirectCopies, D3_NothingAtAllCanBeCopied) {
  const Tensor nothing = on(device(0), {});
  EXPECT_EQ(to_device(nothing, device(1)).to_vector<float>(), Floats{});
}

}  // namespace
}  // namespace lento::test
