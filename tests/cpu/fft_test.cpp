// Fourier transforms against the reference kernel, which computes in double precision: every kind and type, lengths of
// all sorts, lines anywhere in memory, any number of threads.
#include "backends/cpu/fft/fft.h"
#include "against_reference.h"
#include "backends/cpu/fft/complex.h"
#include "backends/cpu/threads.h"
#include "backends/reference/array.h"
#include "backends/reference/dispatch.h"
#include "base/dispatch.h"
#include "reference/kernels_fft.gen.h"

#include <lento/half.h>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

namespace lento::cpu {
namespace {

using reference::Array;

template <class In, class Out>
struct Transformed {
  std::vector<Out> result;
  std::vector<Out> expected;
};

template <class In, class Out>
Transformed<In, Out> transform(const FftProblem& problem, const std::vector<In>& x) {
  const std::int64_t half = problem.size / 2 + 1;
  const Shape from{problem.outer, problem.kind == FftKind::complex_to_real ? half : problem.size, problem.inner};
  const Shape to{problem.outer, problem.kind == FftKind::real_to_complex ? half : problem.size, problem.inner};
  const auto count = static_cast<std::size_t>(element_count(to));
  Transformed<In, Out> both{std::vector<Out>(count), std::vector<Out>(count)};
  PreparedFft::make(problem)->run(x.data(), both.result.data());
  const Array in(const_cast<In*>(x.data()), dtype_of<In>(), from);
  const Array out(both.expected.data(), dtype_of<Out>(), to);
  if (problem.kind == FftKind::complex) {
    reference::fft_c2c(out, in, {1, problem.inverse});
  } else if (problem.kind == FftKind::real_to_complex) {
    reference::fft_r2c(out, in, {1});
  } else {
    reference::fft_c2r(out, in, {1, problem.size});
  }
  return both;
}

/// Each stage of a transform adds an error of about eps times the root mean square of its elements; with elements of at
/// most 1 (complex: sqrt 2) that is at most sqrt(2 n) at the end. Bluestein's method has three transforms of up to four
/// times the length, and products between. The reference sums the products of an odd length up one after the other, in
/// double precision.
template <class T>
double bound(std::int64_t n) {
  std::int64_t odd = n;
  while (odd % 2 == 0) odd /= 2;
  const bool by_convolution = ComplexTransform<T>(n, 1).needs_spare();
  const double stages = std::log2(static_cast<double>(n)) + 1;
  return (by_convolution ? 8 : 2) * static_cast<double>(std::numeric_limits<T>::epsilon()) * stages *
             std::sqrt(2 * static_cast<double>(n)) +
         std::numeric_limits<double>::epsilon() * static_cast<double>(odd);
}

template <class In, class Out, class T>
void expect_close(const FftProblem& problem) {
  const std::int64_t extent = problem.kind == FftKind::complex_to_real ? problem.size / 2 + 1 : problem.size;
  const auto x = random_elements<In>(problem.outer * extent * problem.inner, static_cast<unsigned>(problem.size));
  const auto [result, expected] = transform<In, Out>(problem, x);
  EXPECT_LE(largest_distance(result, expected), bound<T>(problem.size))
      << problem.outer << " × " << problem.size << " × " << problem.inner;
}

/// Every kind on lines of this length.
template <class T>
void expect_all_close(std::int64_t outer, std::int64_t size, std::int64_t inner) {
  using C = std::complex<T>;
  FftProblem problem{FftKind::complex, dtype_of<C>(), outer, size, inner, false};
  expect_close<C, C, T>(problem);
  problem.inverse = true;
  expect_close<C, C, T>(problem);
  expect_close<T, C, T>({FftKind::real_to_complex, dtype_of<T>(), outer, size, inner, false});
  expect_close<C, T, T>({FftKind::complex_to_real, dtype_of<C>(), outer, size, inner, true});
}

// Every small length; then powers of two, products of small primes, primes and products with a large prime, of which
// the longer ones are computed as matrices.
constexpr std::int64_t kLengths[] = {97,  100, 101, 127, 128, 143,  169,  210,  243,  251,  256,  257,  343,  360,
                                     512, 625, 720, 961, 997, 1000, 1001, 1024, 1155, 1331, 1920, 2048, 2310, 4096};

TEST(Fft, AgreesWithTheDefinitionForEveryShortLength) {
  for (std::int64_t n = 1; n <= 96; ++n) {
    expect_all_close<float>(1, n, 1);
    expect_all_close<double>(3, n, 1);
    expect_all_close<float>(20, n, 1);
    expect_all_close<double>(2, n, 19);
  }
}

TEST(Fft, AgreesWithTheDefinitionForLongerLengths) {
  for (const std::int64_t n : kLengths) {
    expect_all_close<float>(1, n, 1);
    expect_all_close<double>(1, n, 1);
    expect_all_close<float>(9, n, 1);
    expect_all_close<double>(1, n, 5);
  }
}

TEST(Fft, AgreesWithTheDefinitionForLongLines) {
  expect_all_close<float>(1, 65536, 1);
  expect_all_close<double>(2, 32768, 1);
  expect_all_close<float>(1, 49152, 2);
  expect_all_close<double>(1, 16384, 3);
  expect_all_close<float>(1, 4099, 1);  // a prime
  expect_all_close<double>(2, 4099, 1);
}

TEST(Fft, TakesHalvesAsFloat32) {
  for (const std::int64_t n : {1, 7, 16, 60, 101}) {
    expect_close<float16, std::complex<float>, float>({FftKind::real_to_complex, DType::float16, 3, n, 5, false});
    expect_close<bfloat16, std::complex<float>, float>({FftKind::real_to_complex, DType::bfloat16, 3, n, 5, false});
  }
}

TEST(Fft, OfAnEmptyBatchIsNothing) {
  for (const FftKind kind : {FftKind::complex, FftKind::real_to_complex, FftKind::complex_to_real}) {
    const DType dtype = kind == FftKind::real_to_complex ? DType::float32 : DType::complex64;
    PreparedFft::make({kind, dtype, 0, 8, 3, false})->run(nullptr, nullptr);
    PreparedFft::make({kind, dtype, 2, 100, 0, false})->run(nullptr, nullptr);
  }
}

TEST(Fft, DoesNotReadTheImaginaryPartsThatAHermitianSequenceCannotHave) {
  for (const std::int64_t n : {2, 9, 10, 37, 74, 128, 4096, 4099}) {
    for (const std::int64_t lines : {1, 20}) {
      const std::int64_t extent = n / 2 + 1;
      auto x = random_elements<std::complex<double>>(lines * extent, 5);
      const FftProblem problem{FftKind::complex_to_real, DType::complex128, lines, n, 1, true};
      std::vector<double> plain(static_cast<std::size_t>(lines * n)), changed(plain.size());
      PreparedFft::make(problem)->run(x.data(), plain.data());
      for (std::int64_t line = 0; line < lines; ++line) {
        x[static_cast<std::size_t>(line * extent)].imag(std::nan(""));
        if (n % 2 == 0) x[static_cast<std::size_t>(line * extent + n / 2)].imag(std::nan(""));
      }
      PreparedFft::make(problem)->run(x.data(), changed.data());
      EXPECT_EQ(std::memcmp(plain.data(), changed.data(), plain.size() * sizeof(double)), 0) << n;
    }
  }
}

TEST(Fft, ANanStaysInItsLine) {
  using C = std::complex<float>;
  for (const std::int64_t n : {8, 15, 34, 256}) {
    auto x = random_elements<C>(20 * n, 3);
    const FftProblem problem{FftKind::complex, DType::complex64, 20, n, 1, false};
    std::vector<C> plain(x.size()), spoilt(x.size());
    PreparedFft::make(problem)->run(x.data(), plain.data());
    x[static_cast<std::size_t>(7 * n + 1)] = C(std::nanf(""), 0);
    PreparedFft::make(problem)->run(x.data(), spoilt.data());
    for (std::int64_t line = 0; line < 20; ++line) {
      const auto at = static_cast<std::size_t>(line * n), count = static_cast<std::size_t>(n);
      if (line == 7) {
        EXPECT_TRUE(std::isnan(spoilt[at].real()));
      } else {
        EXPECT_EQ(std::memcmp(&plain[at], &spoilt[at], count * sizeof(C)), 0);
      }
    }
  }
}

TEST(Fft, HasTheSameBitsForAnyNumberOfThreads) {
  using C = std::complex<float>;
  const int before = get_num_threads();
  for (const auto& [outer, size, inner] :
       {std::tuple{100, 60, 1}, {3, 128, 50}, {2, 65536, 1}, {1, 20011, 1}, {64, 331, 1}, {5, 4096, 1}}) {
    const FftProblem problem{FftKind::complex, DType::complex64, outer, size, inner, false};
    const auto x = random_elements<C>(problem.outer * problem.size * problem.inner, 1);
    std::vector<C> one(x.size()), several(x.size());
    const auto prepared = PreparedFft::make(problem);
    set_num_threads(1);
    prepared->run(x.data(), one.data());
    set_num_threads(3);
    prepared->run(x.data(), several.data());
    EXPECT_EQ(std::memcmp(one.data(), several.data(), one.size() * sizeof(C)), 0) << size;
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace lento::cpu
