// Fourier transforms against their definition, computed in long double.
#include "ir/attrs_fft.gen.h"
#include "ir/infer_fft.gen.h"
#include "reference/kernels_fft.gen.h"
#include "reference/owned.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace lento::testing {
namespace {

using C = std::complex<double>;

Owned c2c(const Owned& x, std::int64_t axis, bool inverse) {
  return run(infer_fft_c2c, reference::fft_c2c, x, FftC2cAttrs{axis, inverse});
}

std::vector<C> random_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> part(-1, 1);
  std::vector<C> values;
  for (std::int64_t i = 0; i < count; ++i) values.emplace_back(part(engine), part(engine));
  return values;
}

std::vector<C> by_definition(const std::vector<C>& x, int sign) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<C> y;
  for (std::int64_t k = 0; k < n; ++k) {
    std::complex<long double> sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const long double angle = sign * 2 * std::numbers::pi_v<long double> * static_cast<long double>(j * k % n) /
                                static_cast<long double>(n);
      sum += std::complex<long double>(x[static_cast<std::size_t>(j)]) * std::polar(1.0L, angle);
    }
    y.emplace_back(sum);
  }
  return y;
}

double distance(const std::vector<C>& a, const std::vector<C>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

TEST(Fft, AgreesWithTheDefinitionForEveryLength) {
  for (std::int64_t n = 1; n <= 70; ++n) {
    const std::vector<C> x = random_numbers(n, static_cast<unsigned>(n));
    EXPECT_LT(distance(c2c(Owned(x), 0, false).values<C>(), by_definition(x, -1)), 4e-15 * std::sqrt(n)) << n;
    EXPECT_LT(distance(c2c(Owned(x), -1, true).values<C>(), by_definition(x, 1)), 4e-15 * std::sqrt(n)) << n;
  }
}

TEST(Fft, APowerOfTwoIsFastAndReturnsAfterTheInverse) {
  const std::int64_t n = 1 << 16;
  const std::vector<C> x = random_numbers(n, 1);
  std::vector<C> back = c2c(c2c(Owned(x), 0, false), 0, true).values<C>();
  for (C& each : back) each /= static_cast<double>(n);
  EXPECT_LT(distance(back, x), 1e-14);
}

TEST(Fft, SmallWholeNumbersAreExact) {
  EXPECT_EQ(c2c(Owned(std::vector<C>{1, 2, 3, 4}), 0, false).values<C>(),
            (std::vector<C>{10, C(-2, 2), -2, C(-2, -2)}));
}

TEST(Fft, TransformsAlongAnyAxis) {
  const std::vector<C> x = random_numbers(2 * 5 * 3, 7);
  const Owned y = c2c(Owned({2, 5, 3}, x), 1, false);
  for (std::size_t o = 0; o < 2; ++o) {
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<C> line, result;
      for (std::size_t k = 0; k < 5; ++k) {
        line.push_back(x[(o * 5 + k) * 3 + i]);
        result.push_back(y.values<C>()[(o * 5 + k) * 3 + i]);
      }
      EXPECT_LT(distance(result, by_definition(line, -1)), 1e-14);
    }
  }
}

TEST(Fft, RealTransformsAreHalvesOfComplexOnes) {
  for (const std::int64_t n : {1, 2, 5, 6, 8, 9}) {
    std::vector<double> x;
    std::vector<C> widened;
    for (const C& each : random_numbers(n, 3)) {
      x.push_back(each.real());
      widened.emplace_back(each.real());
    }
    const Owned half = run(infer_fft_r2c, reference::fft_r2c, Owned(x), FftR2cAttrs{0});
    const std::vector<C> whole = by_definition(widened, -1);
    ASSERT_EQ(half.shape(), (Shape{n / 2 + 1}));
    EXPECT_LT(distance(half.values<C>(), whole), 1e-14);
    const std::vector<double> back = run(infer_fft_c2r, reference::fft_c2r, half, FftC2rAttrs{0, n}).values<double>();
    for (std::size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], static_cast<double>(n) * x[i], 1e-13);
  }
}

TEST(Fft, ToRealIgnoresTheImaginaryPartsThatMustBeZero) {
  const Owned clean = run(infer_fft_c2r, reference::fft_c2r, Owned(std::vector<C>{1, C(2, 3), 4}), FftC2rAttrs{0, 4});
  const Owned dirty =
      run(infer_fft_c2r, reference::fft_c2r, Owned(std::vector<C>{C(1, 9), C(2, 3), C(4, -9)}), FftC2rAttrs{0, 4});
  EXPECT_EQ(clean.values<double>(), dirty.values<double>());
  EXPECT_EQ(clean.values<double>(), (std::vector<double>{9, -9, 1, 3}));
}

TEST(Fft, HalfPrecisionGivesComplex64) {
  const Owned y =
      run(infer_fft_r2c, reference::fft_r2c, Owned(std::vector<float16>{float16(1), float16(2)}), FftR2cAttrs{0});
  EXPECT_EQ(y.values<std::complex<float>>(), (std::vector<std::complex<float>>{3, -1}));
}

TEST(Fft, EmptyBatchesAreFineEmptyTransformsAreNot) {
  EXPECT_EQ(c2c(Owned({0, 4}, std::vector<C>{}), 1, false).shape(), (Shape{0, 4}));
  EXPECT_NE((message_of<ValueError>([] { c2c(Owned({4, 0}, std::vector<C>{}), 1, false); })), "");
  EXPECT_NE((message_of<IndexError>([] { c2c(Owned(std::vector<C>{1}), 1, false); })), "");
  EXPECT_NE((message_of<ShapeError>(
                [] { run(infer_fft_c2r, reference::fft_c2r, Owned(std::vector<C>{1, 2}), FftC2rAttrs{0, 4}); })),
            "");
}

}  // namespace
}  // namespace lento::testing
