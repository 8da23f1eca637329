// Clauses T1 to T10 through the public C++ API.
#include <lento/host_data.h>
#include <lento/lento.h>

#include "backends/testing/testing.h"
#include "tensor/threads_at_rest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace lento {
namespace {

std::vector<float> floats(const Tensor& x) { return x.to_vector<float>(); }

std::uint64_t delta(std::string_view counter, auto&& action) {
  const std::uint64_t before = metrics::counter(counter);
  action();
  return metrics::counter(counter) - before;
}

template <class E>
std::string message_of(auto&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Tracing, T1_AnOpRecordsAndAllocatesNothing) {
  const Tensor x = tensor({1.0F, 2.0F, 3.0F});
  const MemoryUse before = memory();
  Tensor y;
  EXPECT_EQ(delta("op.add", [&] { y = x + x; }), 1);
  EXPECT_TRUE(y.is_pending());
  EXPECT_EQ(memory().live, before.live);
  EXPECT_EQ(floats(y), (std::vector<float>{2, 4, 6}));
  EXPECT_FALSE(y.is_pending());
}

TEST(Tracing, T1_AnOpWakesNoThreadAndMakesNone) {
  testing::register_testing_backends();
  testing::gate::open_forever();
  const std::vector<float> values{1, 2, 3, 4};
  for (const Device device : {Device(), testing::gated_device()}) {
    const Tensor x = from_host(values.data(), DType::float32, Shape{2, 2}, device);
    const Tensor warm = exp(x);
    step(device, {.wait = true});  // on the gated device by a worker, which sleeps from then on
    ThreadsAtRest others;
    std::vector<Tensor> kept;
    for (int i = 0; i < 50; ++i) {
      kept.push_back(exp(x * 2 + 1));
      kept.push_back(sum(kept.back(), Ints{0}));
      kept.push_back(matmul(x, kept.front()));
      kept.push_back(nn::softmax(kept.back(), 1));
      kept.push_back(concat({x, x}, 0)[{Slice(1, 3)}]);
      kept.push_back(sort(x, 1));
    }
    EXPECT_EQ(others.disturbance(), "");
    for (const Tensor& tensor : kept) EXPECT_TRUE(tensor.is_pending());
    if (device == testing::gated_device()) {
      EXPECT_GE(others.count(), 1U) << "there was no thread to wake";
      step(device);
      EXPECT_NE(others.disturbance(), "") << "a step that a worker runs went unnoticed";
      wait();
    }
  }
}

TEST(Tracing, T2_AShapeErrorNamesOpOperandsRuleAndLine) {
  const Tensor a = tensor({{1.0F, 2.0F}, {3.0F, 4.0F}});
  const Tensor b = tensor({1.0F, 2.0F, 3.0F});
  const std::string message = message_of<ShapeError>([&] { (void)(a + b); });
  EXPECT_NE(message.find("add: "), std::string::npos) << message;
  EXPECT_NE(message.find("float32(2, 2)"), std::string::npos) << message;
  EXPECT_NE(message.find("float32(3,)"), std::string::npos) << message;
  EXPECT_NE(message.find("do not broadcast"), std::string::npos) << message;
  EXPECT_NE(message.find("tracing_test.cpp:"), std::string::npos) << message;
}

TEST(Tracing, T2_AFailedCallLeavesNoTrace) {
  const Tensor a = tensor({1.0F, 2.0F});
  const Tensor b = tensor({1.0F, 2.0F, 3.0F});
  const std::size_t before = live_tensors().size();
  const std::string message = message_of<ShapeError>([&] { (void)(a * b); });
  EXPECT_NE(message.find("multiply"), std::string::npos);
  EXPECT_EQ(live_tensors().size(), before);
  EXPECT_EQ(floats(a * 2), (std::vector<float>{2, 4}));
}

TEST(Tracing, T2_AnEmptyHandleIsAnError) {
  const Tensor nothing;
  const std::string message = message_of<ValueError>([&] { (void)(nothing + 1.0F); });
  EXPECT_NE(message.find("add: the tensor handle is empty"), std::string::npos) << message;
  EXPECT_NE(message.find("tracing_test.cpp:"), std::string::npos) << message;
  EXPECT_THROW((void)exp(nothing), ValueError);
  EXPECT_THROW((void)(tensor({1.0F}) * nothing), ValueError);
  EXPECT_THROW((void)nothing.shape(), ValueError);
}

TEST(Tracing, T3_NumbersAreWeak) {
  const Tensor i8 = tensor({std::int8_t{1}, std::int8_t{2}});
  EXPECT_EQ((i8 + 1).dtype(), DType::int8);
  EXPECT_EQ((i8 + 1.5).dtype(), DType::float32);
  EXPECT_EQ((i8 + std::complex<double>(0, 1)).dtype(), DType::complex64);
  EXPECT_EQ((tensor({1.0}) * 2).dtype(), DType::float64);
  EXPECT_EQ((tensor({float16(1.0F)}) * 2.5).dtype(), DType::float16);
  EXPECT_EQ((tensor({true, false}) + 1).dtype(), DType::int64);
  EXPECT_THROW((void)(i8 + 200), OverflowError);
  EXPECT_THROW((void)(tensor({std::uint8_t{1}}) - (-1)), OverflowError);
}

TEST(Tracing, T4_ChangingANumberChangesNoStructure) {
  const Tensor x = tensor({1.0F, 2.0F});
  const auto structure = [&](float rate) {
    const Tensor y = x * rate;
    std::string text = dump({y});
    return text.replace(text.find("= "), text.find('\n') - text.find("= "), "");
  };
  EXPECT_EQ(structure(0.1F), structure(0.2F));
}

TEST(Tracing, T4_ChangingANumberASliceStartOrASeedCompilesNothing) {
  const Tensor x = tensor({1.0F, 2.0F, 3.0F, 4.0F});
  const auto loop = [&](int first, int last) {
    for (int i = first; i < last; ++i) {
      Generator generator(static_cast<std::uint64_t>(i));
      const Tensor noise = random::uniform({2}, 0.0, 1.0, std::nullopt, std::nullopt, &generator);
      const Tensor y = x.slice(0, i, i + 2) * (0.1F * static_cast<float>(i)) + noise;
      eval(y);
    }
  };
  loop(0, 1);
  EXPECT_EQ(delta("plan.miss", [&] { loop(1, 3); }), 0);
  EXPECT_EQ(delta("plan.miss", [&] { eval(sqrt(x)); }), 1);  // something else does compile
}

TEST(Tracing, T6_InPlaceGivesThisHandleANewValueOnly) {
  Tensor x = tensor({1.0F, 2.0F});
  const Tensor other = x;
  const Tensor view = x[{0}];
  x += 10;
  EXPECT_EQ(floats(x), (std::vector<float>{11, 12}));
  EXPECT_EQ(floats(other), (std::vector<float>{1, 2}));
  EXPECT_EQ(view.item<float>(), 1.0F);
}

TEST(Tracing, T6_AValueThatDoesNotFitRaisesAndChangesNothing) {
  Tensor x = tensor({std::int32_t{1}, std::int32_t{2}});
  EXPECT_THROW(x += 0.5, DTypeError);
  EXPECT_THROW(x += tensor({{1, 2}, {3, 4}}), ShapeError);
  EXPECT_EQ(x.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2}));
}

TEST(Tracing, T6_ManyAssignmentsCostLinearMemoryTraffic) {
  constexpr int kCount = 1000;
  Tensor x = lento::zeros({kCount});
  eval(x);
  wait();
  reset_peak_memory();
  const std::size_t before = memory().live;
  for (int i = 0; i < kCount; ++i) x[i] = static_cast<float>(i);
  const std::uint64_t donated = delta("donation", [&] {
    eval(x);
    wait();
  });
  // All updates but at most the first write into the buffer they got.
  EXPECT_GE(donated, kCount - 1);
  EXPECT_LT(memory().peak - before, 3 * kCount * sizeof(float));
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(x.data<float>()[i], static_cast<float>(i));
}

TEST(Tracing, T6_DonationNeverTouchesAValueThatIsStillNamed) {
  Tensor x = tensor({1.0F, 2.0F, 3.0F});
  const Tensor old = x;
  x[1] = 20.0F;
  const Tensor middle = x;
  x[2] = x[1];
  EXPECT_EQ(floats(x), (std::vector<float>{1, 20, 20}));
  EXPECT_EQ(floats(middle), (std::vector<float>{1, 20, 3}));
  EXPECT_EQ(floats(old), (std::vector<float>{1, 2, 3}));
}

TEST(Tracing, T7_RecordsKnowLineAndScope) {
  const Tensor x = tensor({1.0F});
  Tensor y;
  int line = 0;
  {
    const Scope model("model");
    const Scope layer("layer1");
    line = __LINE__ + 1;
    y = lento::nn::softmax(x, 0);
  }
  const std::string text = dump({y});
  EXPECT_NE(text.find("tracing_test.cpp:" + std::to_string(line)), std::string::npos) << text;
  EXPECT_NE(text.find("model/layer1"), std::string::npos) << text;
  // A composite's inner ops show the user's line, not the engine's.
  EXPECT_EQ(text.find("activations.cpp"), std::string::npos) << text;
}

TEST(Tracing, T7_AFailureShowsTheLineOfThisTraceWhenThePlanCameFromAnother) {
  const Tensor x = tensor({1.0F, 2.0F, 3.0F});
  const Tensor inside = tensor({std::int64_t{2}});
  const Tensor outside = tensor({std::int64_t{3}});
  EXPECT_EQ(floats(take(x, inside, 0)), (std::vector<float>{3}));
  const int line = __LINE__ + 1;
  const Tensor bad = take(x, outside, 0);
  std::string message;
  EXPECT_EQ(delta("plan.miss", [&] { message = message_of<IndexError>([&] { (void)floats(bad); }); }), 0);
  EXPECT_NE(message.find("tracing_test.cpp:" + std::to_string(line)), std::string::npos) << message;
}

TEST(Tracing, T8_DeadWorkIsNotDone) {
  const Tensor x = tensor({9, 9});
  cache::clear();
  const Tensor y = x + 1;
  {
    const Tensor dead = exp(x * 3);  // the last of two ops
    const Tensor overwritten = x - 1;
  }
  EXPECT_EQ(delta("graph.nodes", [] { step(); }), 1);
  ASSERT_EQ(cache::plans().size(), 1U);
  EXPECT_EQ(cache::plans()[0].nodes, 1U);
  EXPECT_EQ(y.to_vector<int>(), (std::vector<int>{10, 10}));
}

TEST(Tracing, T8_WhatDiesBetweenLiveOpsIsLeftOutAndWhatTheyNeedIsNot) {
  const Tensor x = tensor({9, 9});
  Tensor needed = x + 1;
  Tensor dead = needed * 5;
  const Tensor y = needed * 2;
  dead = Tensor();
  needed = Tensor();
  EXPECT_EQ(delta("graph.nodes", [] { step(); }), 2);
  EXPECT_EQ(delta("tensor.evaluated", [&] { EXPECT_EQ(y.to_vector<int>(), (std::vector<int>{20, 20})); }), 0);
}

class PendingLimit {
 public:
  explicit PendingLimit(std::uint32_t limit) : saved_(options()) {
    Options changed = saved_;
    changed.max_pending_nodes = limit;
    set_options(changed);
  }
  ~PendingLimit() { set_options(saved_); }

 private:
  Options saved_;
};

TEST(Tracing, T9_TheLimitCutsTheOldestPart) {
  const PendingLimit limit(100);
  Tensor x = tensor({0.0F});
  const std::uint64_t trims = delta("graph.trimmed", [&] {
    for (int i = 0; i < 1000; ++i) x = x + 1;
  });
  EXPECT_GE(trims, 10);
  EXPECT_LE(trims, 30);
  EXPECT_EQ(x.item<float>(), 1000.0F);
}

TEST(Tracing, T9_DeadRecordsAreDroppedWithoutEvaluating) {
  const PendingLimit limit(100);
  const Tensor x = tensor({1.0F});
  const Tensor keep = x * 3;
  const std::uint64_t trims = delta("graph.trimmed", [&] {
    for (int i = 0; i < 10000; ++i) (void)(x + 1);
  });
  EXPECT_EQ(trims, 0);
  EXPECT_TRUE(keep.is_pending());
  EXPECT_EQ(keep.item<float>(), 3.0F);
}

TEST(Tracing, T9_AMillionOpsAreRecordedEvaluatedAndFreedInBoundedMemory) {
  Tensor x = tensor({0.0});
  const std::size_t before = memory().live;
  for (int i = 0; i < 1'000'000; ++i) x = x + 1.0;
  EXPECT_EQ(x.item<double>(), 1e6);
  EXPECT_LE(memory().live, before + 4096);
}

TEST(Tracing, T9_AMillionPendingOpsArePrintedEvaluatedAndFreedWithoutRecursion) {
  const PendingLimit limit(2'000'000);
  Tensor x = tensor({0.0});
  for (int i = 0; i < 1'000'000; ++i) x = x + 1.0;
  const std::string text = dump({x});
  EXPECT_NE(text.find("%999999 = add("), std::string::npos) << text.substr(text.size() - 300);
  Tensor copy = x;
  x = Tensor();
  EXPECT_EQ(copy.item<double>(), 1e6);
  for (int i = 0; i < 1'000'000; ++i) copy = copy + 1.0;
  copy = Tensor();  // freed without having run
}

TEST(Tracing, T10_AnIndexOutOfRangePoisonsAndNeverReadsOutside) {
  const Tensor x = tensor({1.0F, 2.0F, 3.0F});
  const Tensor y = x[{tensor({0, 3})}];
  EXPECT_TRUE(y.is_pending());
  const std::string first = message_of<IndexError>([&] { (void)y.to_vector<float>(); });
  EXPECT_NE(first.find("3"), std::string::npos) << first;
  EXPECT_NE(first.find("tracing_test.cpp:"), std::string::npos) << first;
  EXPECT_EQ(message_of<IndexError>([&] { (void)y.to_vector<float>(); }), first);        // every time
  EXPECT_EQ(message_of<IndexError>([&] { (void)(y + 1).to_vector<float>(); }), first);  // and in all that depend on it
}

TEST(Tracing, T2_AResultThatCannotBeCountedIsRefusedByTheCall) {
  constexpr std::int64_t kLong = std::int64_t{1} << 31;
  const Tensor column = zeros({kLong, 1});
  const Tensor row = zeros({1, kLong + 1});
  EXPECT_THROW((void)(column + row), ShapeError);
  EXPECT_THROW((void)where(column > 0, row, 1.0), ShapeError);
  EXPECT_THROW((void)outer(column, row), ShapeError);
  EXPECT_THROW((void)kron(column, row), ShapeError);
  EXPECT_THROW((void)tril_indices(kLong), ShapeError);
  EXPECT_THROW((void)array_split(column, kLong, 0), ValueError);
  const std::string message = message_of<ShapeError>([&] { (void)(column * row); });
  EXPECT_NE(message.find("multiply: the shape (2147483648, 2147483649) is too large"), std::string::npos) << message;
  EXPECT_NE(message.find("tracing_test.cpp:"), std::string::npos) << message;
}

TEST(Tracing, T10_AQuantileOutOfRangePoisonsWithValueError) {
  const Tensor x = tensor({1.0F, 2.0F, 3.0F});
  // The host looks at a value that is there already.
  if (in_host_memory(x.device())) {
    EXPECT_THROW((void)quantile(x, tensor({0.5F, 1.5F})), ValueError);
  }
  const Tensor y = quantile(x, tensor({0.5F, 1.0F}) + 0.5);
  EXPECT_TRUE(y.is_pending());
  const std::string first = message_of<ValueError>([&] { (void)y.to_vector<float>(); });
  EXPECT_NE(first.find("a quantile lies between 0 and 1"), std::string::npos) << first;
  EXPECT_EQ(message_of<ValueError>([&] { (void)y.to_vector<float>(); }), first);
  const auto [hist, edges] = histogram(tensor({1.0F, std::nanf("")}), 3);
  EXPECT_THROW((void)hist.to_vector<std::int64_t>(), ValueError);
  EXPECT_THROW((void)edges.to_vector<float>(), ValueError);
}

TEST(Tracing, T4_DroppingNothingOrAllDrawsNothing) {
  const Tensor x = tensor({1.0F, 2.0F, 3.0F});
  Generator generator(5);
  EXPECT_EQ(dropout(x, 0.0, true, &generator).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(dropout(x, 1.0, true, &generator).to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(generator.state().counter, 0U);
}

}  // namespace
}  // namespace lento
