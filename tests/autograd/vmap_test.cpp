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

std::vector<double> read(const Tensor& x) { return x.to_vector<double>(); }
Tensor numbers(std::initializer_list<double> values) { return tensor(values); }
Tensor rows() { return reshape(numbers({1, 2, 3, 4, 5, 6}), {3, 2}); }

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Vmap, MapsAlongAnyAxisAndSharesTheRest) {
  const auto dot = [](const Tensor& x, const Tensor& y) { return sum(x * y); };
  const Tensor weights = numbers({10, 1});
  EXPECT_EQ(read(vmap(dot, {0, std::nullopt})(rows(), weights)), (std::vector<double>{12, 34, 56}));
  const Tensor long_weights = numbers({100, 10, 1});
  EXPECT_EQ(read(vmap(dot, {-1, std::nullopt})(rows(), long_weights)), (std::vector<double>{135, 246}));
  const auto twice = [](const Tensor& x) { return x * 2; };
  EXPECT_EQ(vmap(twice, 0, 1)(rows()).shape(), (Shape{2, 3}));
}

TEST(Vmap, GradientsOfEachExampleAndGradientsOfTheWhole) {
  const auto loss = [](const Tensor& x) { return sum(x * x * x); };
  const Tensor each = vmap(grad(loss))(rows());
  const Tensor whole = grad([&](const Tensor& x) { return sum(vmap(loss)(x)); })(rows());
  const std::vector<double> expected{3, 12, 27, 48, 75, 108};
  EXPECT_EQ(read(each), expected);
  EXPECT_EQ(read(whole), expected);
}

TEST(Vmap, Nests) {
  const Tensor a = rows();
  const Tensor b = numbers({1, 2});
  const auto outer = [&](const Tensor& x) { return vmap([&](const Tensor& y) { return sum(x) * y; })(b); };
  EXPECT_EQ(read(vmap(outer)(a)), (std::vector<double>{3, 6, 7, 14, 11, 22}));
}

TEST(Vmap, RandomNumbersAreWhatTheCallerSays) {
  const Tensor x = zeros({4});
  const auto noisy = [](const Tensor& v) { return v + random::uniform(Shape{}); };
  EXPECT_NE(error_of([&] { (void)vmap(noisy)(x); }).find("random numbers"), std::string::npos);
  const auto values = [&](Randomness randomness) {
    random::seed(3);
    const std::vector<float> drawn = vmap(noisy, 0, 0, randomness)(x).to_vector<float>();
    return std::set<float>(drawn.begin(), drawn.end());
  };
  EXPECT_EQ(values(Randomness::same).size(), 1U);
  EXPECT_EQ(values(Randomness::different).size(), 4U);
  EXPECT_EQ(values(Randomness::different), values(Randomness::different));
}

TEST(Vmap, WrongUseIsSaid) {
  const auto same = [](const Tensor& x) { return x; };
  const auto reads = [](const Tensor& x) { return x * sum(x).item<double>(); };
  EXPECT_NE(error_of([&] { (void)vmap(reads)(rows()); }).find("stands for all examples"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)vmap(same, std::nullopt)(rows()); }).find("no argument has an axis"),
            std::string::npos);
  EXPECT_NE(
      error_of([&] { (void)vmap(same, std::vector<MappedAxes::Axis>{})(rows()); }).find("in_axes has 0 entries for 1"),
      std::string::npos);
  const auto add = [](const Tensor& x, const Tensor& y) { return x + y; };
  EXPECT_NE(error_of([&] { (void)vmap(add, {0, 1})(rows(), rows()); }).find("2 examples along axis 1"),
            std::string::npos);
  EXPECT_EQ(read(vmap(same)(rows())), read(rows()));  // nothing is left of what failed
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
