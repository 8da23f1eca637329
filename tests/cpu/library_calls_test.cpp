// What calling libraries must leave alone: the program's OpenMP setting, forked children, and memory.
#include "backends/cpu/libraries/library_calls.h"
#include "against_reference.h"
#include "backends/cpu/libraries/matmul.h"
#include "backends/cpu/libraries/onednn.h"
#include "backends/cpu/threads.h"
#include "base/counters.h"

#include <lento/error.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
int openblas_get_num_threads(void);
}

namespace lento::cpu {
namespace {

template <class T>
std::vector<T> product(std::int64_t m, std::int64_t k, std::int64_t n) {
  const auto a = random_elements<T>(m * k, 1);
  const auto b = random_elements<T>(k * n, 2);
  std::vector<T> c(static_cast<std::size_t>(m * n));
  PreparedMatmul::make(MatmulProblem::of(dtype_of<T>(), {m, k}, {k, n}))->run(a.data(), b.data(), c.data());
  return c;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST(LibraryCalls, LeaveTheProgramsOpenMPSettingAsItWas) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(7);
  {
    const OneThread outer;
    EXPECT_EQ(omp_get_max_threads(), 1);
    {
      const OneThread inner;
    }
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), 7);
  product<float>(150, 100, 300);
  product<bfloat16>(150, 100, 300);
  EXPECT_EQ(omp_get_max_threads(), 7);
  omp_set_num_threads(before);
}

TEST(LibraryCalls, OpenBlasUsesTheThreadThatCallsIt) { EXPECT_EQ(openblas_get_num_threads(), 1); }

TEST(LibraryCalls, E5_WorkInAForkedChildWithTheSameBits) {
  const int before = get_num_threads();
  set_num_threads(3);
  const auto singles = product<float>(200, 100, 300);
  const auto doubles = product<double>(200, 100, 300);
  const auto halves = product<bfloat16>(200, 100, 300);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool same = same_bits(product<float>(200, 100, 300), singles) &&
                      same_bits(product<double>(200, 100, 300), doubles) &&
                      same_bits(product<bfloat16>(200, 100, 300), halves);
    _exit(same ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  set_num_threads(before);
}

/// Ends the process while three threads multiply.
[[noreturn]] void exit_in_the_middle() {
  static std::atomic<int> rounds{0};
  for (int t = 0; t < 3; ++t) {
    std::thread([] {
      try {
        while (true) {
          product<float>(60, 60, 60);
          product<double>(60, 60, 60);
          product<bfloat16>(60, 60, 60);
          ++rounds;
        }
      } catch (const BackendError&) {  // the process is ending
        pause();
      }
    }).detach();
  }
  while (rounds < 20) std::this_thread::yield();
  std::exit(0);
}

TEST(LibraryCallsDeathTest, AProcessEndsCleanlyWhileThreadsAreInsideThem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process of its own, not in a forked child
  for (int attempt = 0; attempt < 5; ++attempt) EXPECT_EXIT(exit_in_the_middle(), testing::ExitedWithCode(0), "");
}

OperandLayout matrix(std::int64_t rows, std::int64_t columns) {
  return {DType::float32, {rows, columns}, {columns, 1}};
}

TEST(Primitives, AreMadeOnceAndCounted) {
  const std::uint64_t before = counter_value("kernel.primitive");
  const auto first = MatmulPrimitive::get(matrix(31, 37), matrix(37, 41), matrix(31, 41));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(counter_value("kernel.primitive") - before, 1U);
  EXPECT_EQ(MatmulPrimitive::get(matrix(31, 37), matrix(37, 41), matrix(31, 41)), first);
  EXPECT_EQ(counter_value("kernel.primitive") - before, 1U);
  EXPECT_NE(MatmulPrimitive::get(matrix(31, 37), matrix(37, 42), matrix(31, 42)), first);
}

TEST(Primitives, AreForgottenWhenThereAreTooManyButNotWhileInUse) {
  const auto held = MatmulPrimitive::get(matrix(3, 5), matrix(5, 7), matrix(3, 7));
  ASSERT_NE(held, nullptr);
  for (std::int64_t n = 8; n < 1048; ++n)
    ASSERT_NE(MatmulPrimitive::get(matrix(3, 5), matrix(5, n), matrix(3, n)), nullptr);
  EXPECT_EQ(cached_primitives(), 1024U);
  EXPECT_NE(MatmulPrimitive::get(matrix(3, 5), matrix(5, 7), matrix(3, 7)), held);
  const auto a = random_elements<float>(15, 1);
  const auto b = random_elements<float>(35, 2);
  std::vector<float> c(21);
  held->run(a.data(), b.data(), c.data());
  float sum = 0;
  for (std::size_t l = 0; l < 5; ++l) sum += a[5 + l] * b[l * 7 + 2];
  EXPECT_NEAR(c[9], sum, error_bound<float>(5));
}

}  // namespace
}  // namespace lento::cpu
