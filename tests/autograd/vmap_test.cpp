// vmap as users of C++ call it. Every primitive is compared with a loop in tests/python/test_vmap.py.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lento {
namespace {

using Axes = std::vector<std::optional<std::int64_t>>;

std::vector<double> read(const Tensor& x) { return x.to_vector<double>(); }
Tensor numbers(std::initializer_list<double> values) { return tensor(values); }
Tensor rows() { return reshape(numbers({1, 2, 3, 4, 5, 6}), {3, 2}); }

TensorFunction one(const std::function<Tensor(const Tensor&)>& f) {
  return [f](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x[0])}; };
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Vmap, MapsAlongAnyAxisAndSharesTheRest) {
  const TensorFunction dot = [](const std::vector<Tensor>& x) { return std::vector<Tensor>{sum(x[0] * x[1])}; };
  const Tensor weights = numbers({10, 1});
  EXPECT_EQ(read(vmap(dot, {rows(), weights}, {0, std::nullopt})[0]), (std::vector<double>{12, 34, 56}));
  const Tensor long_weights = numbers({100, 10, 1});
  EXPECT_EQ(read(vmap(dot, {rows(), long_weights}, {-1, std::nullopt})[0]), (std::vector<double>{135, 246}));
  const auto twice = one([](const Tensor& x) { return x * 2; });
  EXPECT_EQ(vmap(twice, {rows()}, {0}, 1)[0].shape(), (Shape{2, 3}));
}

TEST(Vmap, GradientsOfEachExampleAndGradientsOfTheWhole) {
  const auto loss = [](const Tensor& x) { return sum(x * x * x); };
  const Tensor each = vmap(one([&](const Tensor& x) { return grad(loss)(x); }), {rows()}, {0})[0];
  const Tensor whole = grad([&](const Tensor& x) { return sum(vmap(one(loss), {x}, {0})[0]); })(rows());
  const std::vector<double> expected{3, 12, 27, 48, 75, 108};
  EXPECT_EQ(read(each), expected);
  EXPECT_EQ(read(whole), expected);
}

TEST(Vmap, Nests) {
  const Tensor a = rows();
  const Tensor b = numbers({1, 2});
  const auto outer =
      one([&](const Tensor& x) { return vmap(one([&](const Tensor& y) { return sum(x) * y; }), {b}, {0})[0]; });
  EXPECT_EQ(read(vmap(outer, {a}, {0})[0]), (std::vector<double>{3, 6, 7, 14, 11, 22}));
}

TEST(Vmap, RandomNumbersAreWhatTheCallerSays) {
  const Tensor x = zeros({4});
  const auto noisy = one([](const Tensor& v) { return v + random::uniform(Shape{}); });
  EXPECT_NE(error_of([&] { vmap(noisy, {x}, {0}); }).find("random numbers"), std::string::npos);
  const auto values = [&](Randomness randomness) {
    random::seed(3);
    const std::vector<float> drawn = vmap(noisy, {x}, {0}, 0, randomness)[0].to_vector<float>();
    return std::set<float>(drawn.begin(), drawn.end());
  };
  EXPECT_EQ(values(Randomness::same).size(), 1U);
  EXPECT_EQ(values(Randomness::different).size(), 4U);
  EXPECT_EQ(values(Randomness::different), values(Randomness::different));
}

TEST(Vmap, WrongUseIsSaid) {
  const auto same = one([](const Tensor& x) { return x; });
  const auto reads = one([](const Tensor& x) { return x * sum(x).item<double>(); });
  EXPECT_NE(error_of([&] { vmap(reads, {rows()}, {0}); }).find("stands for all examples"), std::string::npos);
  EXPECT_NE(error_of([&] { vmap(same, {rows()}, {std::nullopt}); }).find("no input has an axis"), std::string::npos);
  EXPECT_NE(error_of([&] { vmap(same, {rows()}, Axes{}); }).find("0 axes for 1 inputs"), std::string::npos);
  const TensorFunction add = [](const std::vector<Tensor>& x) { return std::vector<Tensor>{x[0] + x[1]}; };
  EXPECT_NE(error_of([&] { vmap(add, {rows(), rows()}, {0, 1}); }).find("2 examples along axis 1"), std::string::npos);
  EXPECT_EQ(read(vmap(same, {rows()}, {0})[0]), read(rows()));  // nothing is left of what failed
}

TEST(Vmap, AResultWithoutAnAxisMustBeTheSameForAll) {
  Batching batching(3);
  const Tensor x = batching.enter(rows(), 0);
  const Tensor shared = numbers({7}) + 1;
  batching.end();
  EXPECT_TRUE(batching.depends(x));
  EXPECT_FALSE(batching.depends(shared));
  EXPECT_EQ(read(batching.leave(shared, std::nullopt)), std::vector<double>{8});
  EXPECT_NE(error_of([&] { batching.leave(x, std::nullopt); }).find("differs between the examples"), std::string::npos);
}

}  // namespace
}  // namespace lento
