// DLPack in and out: what is shared and what is copied, who gives what back and when, and what is refused.
#include <lento/dlpack.h>
#include <lento/lento.h>

#include "backend/background.h"
#include "device_under_test.h"
#include "interop/dlpack_abi.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lento {
namespace {

/// Another library: an array of 2 x 3 floats, and how often it was given back.
template <class Managed>
class Producer {
 public:
  Producer() {
    managed_.dl_tensor = {values.data(), {dlpack::kCpu, 0}, 2, {dlpack::kFloat, 32, 1}, shape.data(), nullptr, 0};
    managed_.manager_ctx = this;
    managed_.deleter = [](Managed* self) { ++static_cast<Producer*>(self->manager_ctx)->given_back; };
    if constexpr (std::same_as<Managed, DLManagedTensorVersioned>) managed_.version = {dlpack::kMajor, dlpack::kMinor};
  }
  Managed* operator&() { return &managed_; }
  Managed* operator->() { return &managed_; }
  DLTensor& array() { return managed_.dl_tensor; }

  std::vector<float> values = {0, 1, 2, 3, 4, 5};
  std::vector<std::int64_t> shape = {2, 3};
  std::vector<std::int64_t> strides;
  std::atomic<int> given_back = 0;

 private:
  Managed managed_{};
};

using Versioned = Producer<DLManagedTensorVersioned>;
using Plain = Producer<DLManagedTensor>;

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// --- out ---

TEST(DLPackOut, TheMemoryIsTheTensorsOwnAndReadOnly) {
  if (on_another_device()) GTEST_SKIP() << "the host's memory is shared";
  const Tensor x = tensor({{1.0F, 2.0F, 3.0F}, {4.0F, 5.0F, 6.0F}}) * 2;
  const DLPack given = to_dlpack(x);
  const DLTensor& array = given->dl_tensor;
  EXPECT_EQ(array.data, x.data<float>());
  EXPECT_EQ(given->flags, dlpack::kReadOnly);
  EXPECT_EQ(given->version.major, 1U);
  EXPECT_EQ(array.device.device_type, dlpack::kCpu);
  EXPECT_EQ(array.ndim, 2);
  EXPECT_EQ((Shape(array.shape, array.shape + 2)), (Shape{2, 3}));
  EXPECT_EQ((Ints(array.strides, array.strides + 2)), (Ints{3, 1}));
  EXPECT_EQ(array.byte_offset, 0U);
  EXPECT_EQ(std::pair(int{array.dtype.code}, int{array.dtype.bits}), std::pair(int{dlpack::kFloat}, 32));
}

TEST(DLPackOut, ItKeepsTheValueWhateverHappensToTheHandle) {
  if (on_another_device()) GTEST_SKIP() << "the host's memory is shared";
  Tensor x = tensor({1, 2, 3});
  const DLPack given = to_dlpack(x);
  x += 1;
  step();
  x = Tensor();
  const auto* values = static_cast<const std::int32_t*>(given->dl_tensor.data);
  EXPECT_EQ((std::vector(values, values + 3)), (std::vector<std::int32_t>{1, 2, 3}));
}

TEST(DLPackOut, ACopyMayBeWritten) {
  if (on_another_device()) GTEST_SKIP() << "the host's memory is shared";
  const Tensor x = tensor({1.0, 2.0});
  const DLPack given = to_dlpack(x, true);
  EXPECT_EQ(given->flags, dlpack::kIsCopied);
  static_cast<double*>(given->dl_tensor.data)[0] = 7;
  EXPECT_EQ(x.to_vector<double>(), (std::vector{1.0, 2.0}));
  const DLPackUnversioned old = to_dlpack_unversioned(x);
  EXPECT_NE(old->dl_tensor.data, x.data<double>());
  EXPECT_EQ(to_dlpack_unversioned(x, false)->dl_tensor.data, x.data<double>());
}

TEST(DLPackOut, AnotherThreadMayGiveItBack) {
  if (on_another_device()) GTEST_SKIP() << "the host's memory is shared";
  DLManagedTensorVersioned* given = to_dlpack(tensor({1, 2, 3}) + 1).release();
  std::thread([given] { given->deleter(given); }).join();
  wait();
}

TEST(DLPackOut, ScalarsAndEmptyTensors) {
  if (on_another_device()) GTEST_SKIP() << "the host's memory is shared";
  const DLPack scalar = to_dlpack(scalar_tensor(2.5F));
  EXPECT_EQ(scalar->dl_tensor.ndim, 0);
  EXPECT_EQ(*static_cast<const float*>(scalar->dl_tensor.data), 2.5F);
  const DLPack empty = to_dlpack(zeros({0, 3}), true);
  EXPECT_EQ(empty->dl_tensor.shape[0], 0);
}

TEST(DLPackOut, NothingToExportIsAnErrorWithTheLine) {
  EXPECT_NE(message_of([] { to_dlpack(Tensor()); }).find("dlpack_test.cpp"), std::string::npos);
}

// To be given back after main, when Lento has ended.
struct HeldToTheEnd {
  DLManagedTensorVersioned* managed = nullptr;
  ~HeldToTheEnd() {
    if (managed != nullptr) managed->deleter(managed);
  }
};

TEST(DLPackOutDeathTest, ItMayBeGivenBackAfterMainOrNever) {
  const auto hold = [] {
    static HeldToTheEnd held;
    held.managed = to_dlpack(tensor({1, 2, 3}) * 2).release();
    (void)to_dlpack(tensor({4, 5}) * 2).release();
    std::exit(held.managed->dl_tensor.ndim);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(hold(), testing::ExitedWithCode(1), "");
}

// --- in ---

TEST(DLPackIn, MemoryThatMayBeWrittenIsCopied) {
  Versioned producer;
  const Tensor x = from_dlpack(&producer);
  EXPECT_EQ(producer.given_back, 1);
  producer.values[0] = 99;
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  Plain old;
  EXPECT_EQ(from_dlpack(&old).to_vector<float>(), old.values);
  EXPECT_EQ(old.given_back, 1);
}

TEST(DLPackIn, MemoryThatNobodyWritesIsSharedAndGivenBackAtTheEnd) {
  if (on_another_device()) GTEST_SKIP() << "the host's memory is shared";
  for (const dlpack::Flags flag : {dlpack::kReadOnly, dlpack::kIsCopied}) {
    Versioned producer;
    producer->flags = flag;
    {
      const Tensor x = from_dlpack(&producer);
      EXPECT_EQ(x.data<float>(), producer.values.data());
      EXPECT_EQ((x * 2).sum().item<float>(), 30.0F);
      wait_for_urgent_tasks();
      EXPECT_EQ(producer.given_back, 0);
    }
    step({}, {.wait = true});
    wait_for_urgent_tasks();
    EXPECT_EQ(producer.given_back, 1);
  }
}

TEST(DLPackIn, CopyDecidesWhereItIsGiven) {
  if (on_another_device()) GTEST_SKIP() << "the host's memory is shared";
  {
    Plain producer;
    {
      const Tensor shared = from_dlpack(&producer, false);
      EXPECT_EQ(shared.data<float>(), producer.values.data());
    }
    wait_for_urgent_tasks();
    EXPECT_EQ(producer.given_back, 1);
  }
  Versioned producer;
  producer->flags = dlpack::kReadOnly;
  const Tensor copied = from_dlpack(&producer, true);
  EXPECT_NE(copied.data<float>(), producer.values.data());
  EXPECT_EQ(producer.given_back, 1);
}

TEST(DLPackIn, StridesAndOffsetsAreHeeded) {
  Versioned producer;
  producer.strides = {1, 2};  // column-major: [[0, 2, 4], [1, 3, 5]]
  producer.array().strides = producer.strides.data();
  EXPECT_EQ(from_dlpack(&producer).to_vector<float>(), (std::vector<float>{0, 2, 4, 1, 3, 5}));
  producer.strides = {0, -1};  // one row twice, backwards
  producer.array().byte_offset = 2 * sizeof(float);
  EXPECT_EQ(from_dlpack(&producer).to_vector<float>(), (std::vector<float>{2, 1, 0, 2, 1, 0}));
  EXPECT_EQ(producer.given_back, 2);
}

TEST(DLPackIn, X2_MemoryOfAnyStridesIsSharedAndGivenBackAtTheEnd) {
  if (on_another_device()) GTEST_SKIP() << "the host's memory is shared";
  Versioned producer;
  producer.strides = {0, -1};
  producer.array().strides = producer.strides.data();
  producer.array().byte_offset = 2 * sizeof(float);
  {
    const Tensor x = from_dlpack(&producer, false);
    producer.values[0] = 7;  // nothing has been read yet
    const Tensor y = x + 1;
    step({}, {.wait = true});
    EXPECT_FALSE(y.is_pending());
    EXPECT_TRUE(x.is_pending());  // there is nothing to compute
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{3, 2, 8, 3, 2, 8}));
    wait_for_urgent_tasks();
    EXPECT_EQ(producer.given_back, 0);
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{2, 1, 7, 2, 1, 7}));  // a copy
    step({}, {.wait = true});
    wait_for_urgent_tasks();
    EXPECT_EQ(producer.given_back, 1);
  }
}

TEST(DLPackIn, MemoryThatIsNotAlignedIsCopied) {
  Versioned producer;
  producer->flags = dlpack::kReadOnly;
  producer.shape = {1, 2};
  producer.array().byte_offset = 1;
  EXPECT_EQ(from_dlpack(&producer).shape(), (Shape{1, 2}));
  EXPECT_EQ(producer.given_back, 1);
  EXPECT_THROW(from_dlpack(&producer, false), ValueError);
  EXPECT_EQ(producer.given_back, 2);
}

TEST(DLPackIn, ScalarsAndEmptyArrays) {
  Versioned scalar;
  scalar.array().ndim = 0;
  scalar.array().shape = nullptr;
  EXPECT_EQ(from_dlpack(&scalar).item<float>(), 0.0F);
  Versioned empty;
  empty.shape = {0, 3};
  empty.array().data = nullptr;
  empty.array().byte_offset = 8;
  EXPECT_EQ(from_dlpack(&empty, false).shape(), (Shape{0, 3}));
  EXPECT_EQ(empty.given_back, 1);
}

TEST(DLPackIn, AProducerWithoutADeleterIsFine) {
  Versioned producer;
  producer->deleter = nullptr;
  producer->flags = dlpack::kReadOnly;
  EXPECT_EQ(from_dlpack(&producer).sum().item<float>(), 15.0F);
  wait_for_urgent_tasks();
}

TEST(DLPackIn, ADeleterMayCallLento) {
  Versioned producer;
  producer->flags = dlpack::kReadOnly;
  static std::atomic<int> sum;
  sum = 0;
  producer->deleter = [](DLManagedTensorVersioned*) { sum = (tensor({20, 1}) + 1).sum().item<int>(); };
  {
    const Tensor x = from_dlpack(&producer);
  }
  wait_for_urgent_tasks();
  EXPECT_EQ(sum, 23);
}

TEST(DLPackIn, WhatLentoGaveComesBackAsTheTensorThatItWas) {
  if (on_another_device()) GTEST_SKIP() << "the host's memory is shared";
  const Tensor x = tensor({1.0F, 2.0F}) + 1;
  EXPECT_EQ(from_dlpack(to_dlpack(x)).id(), x.id());
  EXPECT_EQ(from_dlpack(to_dlpack_unversioned(x, false)).id(), x.id());
  const Tensor copied = from_dlpack(to_dlpack(x, true));
  EXPECT_NE(copied.data<float>(), x.data<float>());
  EXPECT_EQ(copied.to_vector<float>(), x.to_vector<float>());
}

TEST(DLPackIn, EveryDtypeSurvivesTheRoundTrip) {
  if (on_another_device()) GTEST_SKIP() << "the host's memory is shared";
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    const Tensor back = from_dlpack(to_dlpack(ones({3}, dtype), true));
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_TRUE((back == 1).all().item<bool>()) << name(dtype);
  }
}

TEST(DLPackIn, WhatIsBrokenIsRefusedAndGivenBack) {
  using Change = void (*)(Versioned&);
  const std::pair<const char*, Change> cases[] = {
      {"has -1 axes; there may be 0 to 64", [](Versioned& p) { p.array().ndim = -1; }},
      {"has 65 axes; there may be 0 to 64", [](Versioned& p) { p.array().ndim = 65; }},
      {"has 2 axes and no shape", [](Versioned& p) { p.array().shape = nullptr; }},
      {"has elements and no memory", [](Versioned& p) { p.array().data = nullptr; }},
      {"axis 1 of the DLPack tensor has -5 elements", [](Versioned& p) { p.shape[1] = -5; }},
      {"more elements than memory can hold", [](Versioned& p) { p.shape[1] = std::int64_t{1} << 62; }},
      {"more elements than memory can hold",
       [](Versioned& p) {
         p.shape[0] = 0;
         p.shape[1] = std::int64_t{1} << 60;
       }},
      {"has a stride that bytes cannot be counted by",
       [](Versioned& p) {
         p.strides = {std::int64_t{1} << 62, 1};
         p.array().strides = p.strides.data();
       }},
      {"no dtype for DLPack's type 2 of 128 bits and 1 lanes", [](Versioned& p) { p.array().dtype.bits = 128; }},
      {"no dtype for DLPack's type 2 of 32 bits and 4 lanes", [](Versioned& p) { p.array().dtype.lanes = 4; }},
      {"not the host's, but that of DLPack's device type 2", [](Versioned& p) { p.array().device.device_type = 2; }},
      {"DLPack 2 is newer than 1.x", [](Versioned& p) { p->version.major = 2; }},
  };
  for (const auto& [words, change] : cases) {
    for (const std::optional<bool> copy : {std::optional<bool>(), std::optional(true), std::optional(false)}) {
      Versioned producer;
      change(producer);
      const std::string text = message_of([&] { from_dlpack(&producer, copy); });
      EXPECT_TRUE(text.starts_with("from_dlpack: ")) << text;
      EXPECT_NE(text.find(words), std::string::npos) << text;
      EXPECT_NE(text.find(", at dlpack_test.cpp:"), std::string::npos) << text;
      EXPECT_EQ(producer.given_back, 1) << words;
    }
  }
}

TEST(DLPackIn, NullIsRefused) {
  EXPECT_THROW(from_dlpack(static_cast<DLManagedTensorVersioned*>(nullptr)), ValueError);
  EXPECT_THROW(from_dlpack(DLPackUnversioned()), ValueError);
}

}  // namespace
}  // namespace lento
