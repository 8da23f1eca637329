// What a device finds wrong is a word, and the error is the one that the CPU device raises.
#include "toy/toy.h"

#include <lento/ops/prim/as_strided.gen.h>
#include <lento/ops/prim/flat_nonzero.gen.h>
#include <lento/ops/prim/gather_nd.gen.h>
#include <lento/ops/prim/strided_slice.gen.h>
#include <lento/ops/prim/strided_update.gen.h>
#include <lento/ops/prim/take_along_axis.gen.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace lento::test {
namespace {

class ToyStatusWords : public Toy {
 protected:
  struct Told {
    ErrorKind kind = ErrorKind::backend;
    std::string message;
    friend bool operator==(const Told&, const Told&) = default;
  };
  /// What a read raises, without the line, which is another one on each device.
  static Told failure_of(const Tensor& x) {
    try {
      (void)x.to_string();
    } catch (const Error& error) {
      const std::string message = error.what();
      return {error.kind(), message.substr(0, message.find(", at "))};
    }
    return {};
  }
  static Options with_fusion(bool on) {
    Options changed = options();
    changed.fusion = on;
    return changed;
  }
  template <class T>
  static Tensor numbers(Device where, const std::vector<T>& values) {
    return from_host(values.data(), dtype_of<T>(), Shape{static_cast<std::int64_t>(values.size())}, where);
  }
  /// As many of 2 by 2 as there are.
  static Tensor matrices(Device where, const Floats& values) { return on(where, values).reshape({-1, 2, 2}); }
  static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  static Tensor table(Device where) { return on(where, Floats(128, 1)).reshape({4, 32}); }
};

struct Case {
  std::string_view name;
  std::function<Tensor(Device)> compute;
};

TEST_F(ToyStatusWords, D4_E7_AFailureOnADeviceIsToldAsOnTheCpu) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::uint64_t kGreatest = std::numeric_limits<std::uint64_t>::max();
  const std::vector<Case> cases = {
      {"picked rows", [](Device d) { return take(table(d), positions({1, 7}, d), 0) + 1; }},
      {"picked rows, int32", [](Device d) { return take(table(d), numbers<std::int32_t>(d, {-5, 1}), 0) + 1; }},
      {"the least index", [](Device d) { return take(table(d), positions({0, kLeast}, d), 0) * 2; }},
      {"a column", [](Device d) { return take(table(d), positions({0, 32}, d), 1); }},
      {"unsigned", [](Device d) { return take(table(d), numbers<std::uint64_t>(d, {0, kGreatest}), 0); }},
      {"a byte", [](Device d) { return take(table(d), numbers<std::uint8_t>(d, {0, 200}), 0); }},
      {"a signed byte", [](Device d) { return take(table(d), numbers<std::int8_t>(d, {0, -100}), 0); }},
      {"along an axis", [](Device d) { return prim::take_along_axis(on(d, {1, 2}), positions({0, -3}, d), 0); }},
      {"the second tensor of indices",
       [](Device d) { return prim::gather_nd(table(d), {positions({0, 3}, d), positions({31, 32}, d)}); }},
      {"both, of which the first one is told",
       [](Device d) { return prim::gather_nd(table(d), {positions({0, 4}, d), positions({31, 32}, d)}); }},
      {"an update", [](Device d) { return put_along_axis(on(d, {1, 2}), positions({2}, d), on(d, {5}), 0); }},
      {"a value that is refused",
       [](Device d) { return quantile(on(d, {1, 2, 3}), on(d, {0.75F}) * 2, std::nullopt); }},
      {"a count", [](Device d) { return prim::flat_nonzero(on(d, {1, 0, 2}), 3); }},
      {"not positive definite", [](Device d) { return linalg::cholesky(matrices(d, {1, 2, 2, 1})); }},
      {"singular", [](Device d) { return linalg::solve(matrices(d, {1, 2, 2, 4}), matrices(d, {1, 0, 0, 1})); }},
      {"singular, in a batch", [](Device d) { return linalg::inv(matrices(d, {1, 0, 0, 1, 1, 2, 2, 4, 0, 0, 0, 0})); }},
      {"nan among values", [](Device d) { return linalg::svdvals(matrices(d, {1, kNan, 0, 1})); }},
      {"nan before what is not positive definite",
       [](Device d) { return linalg::cholesky(matrices(d, {1, 0, 0, 1, kNan, 0, 0, 1, 1, 2, 2, 1})); }},
      {"nan in a symmetric matrix", [](Device d) { return linalg::eigvalsh(matrices(d, {1, 0, kNan, 1})); }},
      {"nan in a matrix", [](Device d) { return linalg::eigvals(matrices(d, {1, 0, kNan, 1})); }},
      {"a slice", [](Device d) { return prim::strided_slice(sort(on(d, {1, 2, 3})), {2}, {0}, {2}, {1}); }},
      {"an update of a slice",
       [](Device d) { return prim::strided_update(sort(on(d, {1, 2, 3})), on(d, {7, 8}), {2}, {0}, {1}); }},
      {"memory seen by strides", [](Device d) { return prim::as_strided(sort(on(d, {1, 2, 3})), 2, {2}, {1}); }},
  };
  for (const Case& it : cases) {
    const Told expected = failure_of(it.compute(Device("cpu")));
    ASSERT_FALSE(expected.message.empty()) << it.name;
    for (const bool fuse : {true, false}) {
      const OptionsScope scope(with_fusion(fuse));
      const Told told = failure_of(it.compute(device()));
      EXPECT_EQ(told.message, expected.message) << it.name << ", fusion " << fuse;
      EXPECT_EQ(told.kind, expected.kind) << it.name << ", fusion " << fuse;
    }
  }
}

TEST_F(ToyStatusWords, D4_D7_OfSeveralBadIndicesTheSameOneIsToldHoweverTheyAreRead) {
  for (const std::vector<std::int64_t>& bad : {std::vector<std::int64_t>{4, 9, 5}, {9, 5, 4}, {0, 9, 4}}) {
    for (const bool fuse : {true, false}) {
      const OptionsScope scope(with_fusion(fuse));
      const Told told = failure_of(take(table(device()), positions(bad, device()), 0) + 1);
      EXPECT_EQ(told.message, "take: index 9 is out of range for axis 0 of length 4") << fuse;
    }
  }
}

TEST_F(ToyStatusWords, D6_LinearAlgebraNeedsNoFallback) {
  const auto compute = [](Device d) {
    const Tensor x = matrices(d, {2, 1, 1, 2, 4, 1, 1, 3});
    return std::vector<Tensor>{linalg::cholesky(x), linalg::inv(x),      linalg::svdvals(x),      linalg::qr(x).R,
                               linalg::det(x),      linalg::eigvalsh(x), real(linalg::eigvals(x))};
  };
  const auto fallbacks = [] {
    std::uint64_t total = 0;
    for (const auto& [name, count] : metrics::counters()) total += name.starts_with("fallback.") ? count : 0;
    return total;
  };
  const std::uint64_t before = fallbacks();
  const std::vector<Tensor> here = compute(device()), expected = compute(Device("cpu"));
  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(here[i].to_vector<float>(), expected[i].to_vector<float>()) << i;
  }
  EXPECT_EQ(fallbacks(), before);
}

TEST_F(ToyStatusWords, D4_TheWordsOfARunAreItsOwn) {
  const Tensor good = positions({0, 1}, device());
  const Tensor bad = positions({0, 8}, device());
  for (int i = 0; i < 3; ++i) {  // the same plan, one run behind the other
    toy::hold(true);
    const Tensor first = take(table(device()), good, 0) + 1;
    step(device());
    const Tensor second = take(table(device()), bad, 0) + 1;
    step(device());
    const Tensor third = take(table(device()), good, 0) + 1;
    step(device());
    toy::hold(false);
    EXPECT_EQ(first.to_vector<float>(), Floats(64, 2));
    EXPECT_EQ(failure_of(second).message, "take: index 8 is out of range for axis 0 of length 4");
    EXPECT_EQ(third.to_vector<float>(), Floats(64, 2));
  }
}

}  // namespace
}  // namespace lento::test
