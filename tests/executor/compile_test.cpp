// compile() in C++ (clauses F1 to F5): arguments, what is changed in them, random numbers and numbers of the host.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lento {
namespace {

using Floats = std::vector<float>;

/// How much a counter has grown since this was made.
class Grown {
 public:
  explicit Grown(std::string name) : name_(std::move(name)), before_(metrics::counter(name_)) {}
  std::uint64_t operator()() const { return metrics::counter(name_) - before_; }

 private:
  std::string name_;
  std::uint64_t before_;
};

std::vector<std::string> warnings;
/// Collects warnings while it lives.
class Warnings {
 public:
  Warnings() {
    warnings.clear();
    set_warning_handler([](WarningKind, const std::string& message) { warnings.push_back(message); });
  }
  ~Warnings() { set_warning_handler(nullptr); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
};

struct Params {
  Tensor w, b;
  LENTO_FIELDS(w, b)
};

TEST(Compile, F1_LaterCallsRunWithoutTheFunction) {
  int called = 0;
  const auto f = compile([&called](const Tensor& x, const Tensor& y) {
    ++called;
    return tanh(x * 0.5 + y) * x;
  });
  const Grown hits("freeze.hit"), records("freeze.record"), ops("op.tanh");
  for (int i = 0; i < 5; ++i) {
    const Tensor x = tensor({1.0f, static_cast<float>(i)});
    const Tensor y = tensor({2.0f, 3.0f});
    const Tensor expected = tanh(x * 0.5 + y) * x;
    EXPECT_EQ(f(x, y).to_vector<float>(), expected.to_vector<float>());
  }
  EXPECT_EQ(called, 2);
  EXPECT_EQ(records(), 2U);
  EXPECT_EQ(hits(), 3U);
  EXPECT_EQ(ops(), 5U + 2U);
}

TEST(Compile, F1_ArgumentsAndResultsAreTrees) {
  const auto f = compile([](const std::map<std::string, Tensor>& xs, int times) {
    return std::pair(xs.at("a") * times, std::vector<Tensor>{xs.at("b"), xs.at("a") + xs.at("b")});
  });
  const Grown hits("freeze.hit");
  for (int i = 0; i < 4; ++i) {
    const auto one = static_cast<float>(i);
    const auto [first, rest] = f(std::map<std::string, Tensor>{{"a", tensor({one})}, {"b", tensor({2.0f})}}, 3);
    EXPECT_EQ(first.to_vector<float>(), Floats{one * 3});
    EXPECT_EQ(rest[0].to_vector<float>(), Floats{2});
    EXPECT_EQ(rest[1].to_vector<float>(), Floats{one + 2});
  }
  EXPECT_EQ(hits(), 2U);
}

TEST(Compile, F2_NumbersAndShapesAreSignatures) {
  const auto f = compile([](const Tensor& x, double factor) { return x * factor; });
  const Grown hits("freeze.hit"), records("freeze.record");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(f(tensor({1.0f}), 2.0).to_vector<float>(), Floats{2});
    EXPECT_EQ(f(tensor({1.0f}), 3.0).to_vector<float>(), Floats{3});
    EXPECT_EQ(f(tensor({1.0f, 2.0f}), 2.0).to_vector<float>(), (Floats{2, 4}));
  }
  EXPECT_EQ(records(), 6U);
  EXPECT_EQ(hits(), 3U);
}

TEST(Compile, F3_ArgumentsThatAreChangedHaveTheirNewValues) {
  const auto step = compile([](Params& p, const Tensor& x) {
    const Tensor error = p.w * x + p.b;
    p.w -= error * 0.5;
    p.b -= error * 0.25;
    return sum(error);
  });
  Params plain{tensor({1.0f, 2.0f}), tensor({0.5f, 0.5f})};
  Params frozen{tensor({1.0f, 2.0f}), tensor({0.5f, 0.5f})};
  const Tensor x = tensor({0.5f, 0.25f});
  const Grown hits("freeze.hit");
  for (int i = 0; i < 6; ++i) {
    const Tensor error = plain.w * x + plain.b;
    plain.w -= error * 0.5;
    plain.b -= error * 0.25;
    EXPECT_EQ(step(frozen, x).item<float>(), sum(error).item<float>());
    EXPECT_EQ(frozen.w.to_vector<float>(), plain.w.to_vector<float>());
    EXPECT_EQ(frozen.b.to_vector<float>(), plain.b.to_vector<float>());
  }
  EXPECT_EQ(hits(), 4U);
}

TEST(Compile, F3_T6_ArgumentsThatAreChangedAreDonated) {
  const auto put = compile([](Tensor& x, const Tensor& value) { x[{1}] = value; });
  Tensor x = tensor({1.0f, 2.0f, 3.0f});
  for (int i = 0; i < 3; ++i) put(x, tensor(static_cast<float>(i)));
  wait();
  const Grown donations("donation"), hits("freeze.hit");
  put(x, tensor(7.0f));
  wait();
  EXPECT_EQ(hits(), 1U);
  EXPECT_EQ(donations(), 1U);
  const Tensor old = x;
  put(x, tensor(8.0f));
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 8, 3}));
  EXPECT_EQ(old.to_vector<float>(), (Floats{1, 7, 3}));
  EXPECT_EQ(donations(), 1U);
}

TEST(Compile, F3_ModulesAreInputsAndTheirModeIsPartOfTheSignature) {
  nn::Linear model(2, 2);
  const auto f = compile([](nn::Linear& m, const Tensor& x) { return m(x) * (m.training ? 1.0 : 2.0); });
  const Tensor x = tensor({{1.0f, 2.0f}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(model, x).to_vector<float>(), model(x).to_vector<float>());
  model.weight = model.weight * 3;
  EXPECT_EQ(f(model, x).to_vector<float>(), model(x).to_vector<float>());
  model.eval();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(model, x).to_vector<float>(), (model(x) * 2.0).to_vector<float>());
}

TEST(Compile, F3_RandomNumbersGoOn) {
  const auto draw = [](const Tensor& x) { return x + random::normal({3}); };
  const auto f = compile(draw);
  random::seed(4);
  std::vector<Floats> expected;
  for (int i = 0; i < 4; ++i) expected.push_back(draw(tensor({1.0f})).to_vector<float>());
  random::seed(4);
  const Grown hits("freeze.hit");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(f(tensor({1.0f})).to_vector<float>(), expected[static_cast<std::size_t>(i)]);
  EXPECT_EQ(hits(), 2U);
}

TEST(Compile, F3_HostNumbersAreAskedAnew) {
  double rate = 0;
  const auto f = compile([&rate](const Tensor& x) { return x * host_number([&rate] { return Scalar(rate); }); });
  const Grown hits("freeze.hit");
  for (int i = 0; i < 5; ++i) {
    rate = i * 0.5;
    EXPECT_EQ(f(tensor({2.0f})).to_vector<float>(), Floats{static_cast<float>(i)});
  }
  EXPECT_EQ(hits(), 3U);
}

TEST(Compile, F3_HostNumbersOfAnotherKindOrThatDoNotFitAreRecorded) {
  Scalar number = 2;
  const auto f = compile([&number](const Tensor& x) { return x * host_number([&number] { return number; }); });
  const Grown hits("freeze.hit");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(tensor({1, 2})).dtype(), DType::int32);
  EXPECT_EQ(hits(), 1U);
  number = 2.5;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(tensor({1, 2})).to_vector<float>(), (Floats{2.5f, 5.0f}));
  number = 3;
  const Tensor small = tensor({1, 2}).astype(DType::int8);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(small).dtype(), DType::int8);
  number = 300;
  EXPECT_THROW(f(small), OverflowError);
}

TEST(Compile, F3_ATensorThatAHostNumberChangesIsRead) {
  Tensor w = tensor({1.0f});
  double rate = 1;
  const auto f = compile([&](Tensor& x) {
    const Scalar k = host_number([&] {
      if (rate == 2) x.assign(tensor({100.0f}));
      return Scalar(rate);
    });
    x *= k;
  });
  for (int i = 0; i < 3; ++i) f(w);
  rate = 2;
  f(w);
  EXPECT_EQ(w.to_vector<float>(), Floats{200});
}

TEST(Compile, F4_AHostNumberThatADerivativeUsesAgainIsTold) {
  const Warnings collect;
  double rate = 0.5;
  const auto f = compile([&rate](const Tensor& x) {
    return grad([&rate](const Tensor& y) { return sum(y * y * host_number([&rate] { return Scalar(rate); })); })(x);
  });
  for (int i = 0; i < 5; ++i) {
    rate = 0.5 * (1 + i / 3);
    EXPECT_EQ(f(tensor({3.0f})).to_vector<float>(), Floats{static_cast<float>(6 * rate)});
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("host_number"), std::string::npos);
}

TEST(Compile, F4_WhatCannotBeFrozenIsToldOnceWithItsLine) {
  const Warnings collect;
  const Grown hits("freeze.hit"), fallbacks("freeze.fallback");
  const auto reads = compile([](const Tensor& x) { return x.item<float>() > 0 ? x * 2 : x; });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(reads(tensor(-1.0f)).item<float>(), -1.0f);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("a tensor is read"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("compile_test.cpp:"), std::string::npos) << warnings[0];
  EXPECT_EQ(hits(), 0U);
  EXPECT_EQ(fallbacks(), 3U);
  const Tensor captured = ones({200});
  const auto captures = compile([&captured](const Tensor& x) { return x * captured; });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(captures(tensor(2.0f)).to_vector<float>(), Floats(200, 2.0f));
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_NE(warnings[1].find("neither an argument"), std::string::npos) << warnings[1];
}

TEST(Compile, F4_VerifyThrowsWhereAFrozenCallDiffers) {
  const Warnings collect;
  int calls = 0;
  const auto f = compile([&calls](const Tensor& x) { return x * (++calls > 2 ? 3.0 : 2.0); }, 2);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(tensor({1.0f})).to_vector<float>(), Floats{2});
  EXPECT_THROW((void)f(tensor({1.0f})), ValueError);
}

TEST(Compile, F5_InsideOfADerivativeItIsAPartOfIt) {
  const auto f = compile([](const Tensor& x) { return sum(x * x); });
  for (int i = 0; i < 3; ++i) (void)f(tensor({1.0f, 2.0f}));
  EXPECT_EQ(grad(f)(tensor({1.0f, 2.0f})).to_vector<float>(), (Floats{2, 4}));
}

TEST(Compile, F5_ThreadsCallOneFunction) {
  const auto f = compile([](const Tensor& x) { return exp(x) * 2; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&f, t] {
      const Tensor x = tensor({static_cast<float>(t), 1.0f});
      const Floats expected = (exp(x) * 2).to_vector<float>();
      for (int i = 0; i < 50; ++i) EXPECT_EQ(f(x).to_vector<float>(), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Compile, F5_OneTensorTwiceIsCalledAsItIs) {
  const auto f = compile([](Tensor& x, Tensor& y) {
    x += 1;
    return y * 2;
  });
  for (int i = 0; i < 4; ++i) {
    Tensor x = tensor({1.0f});
    EXPECT_EQ(f(x, x).to_vector<float>(), Floats{4});
  }
}

}  // namespace
}  // namespace lento
