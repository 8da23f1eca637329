// Factorisations of batches: each matrix as if it were alone, on any number of threads; failures name their matrix.
#include "backends/cpu/libraries/linalg.h"
#include "against_reference.h"
#include "backends/cpu/threads.h"
#include "backends/reference/dispatch.h"
#include "base/dispatch.h"
#include "ir/attrs_linalg.gen.h"
#include "ir/infer.h"
#include "ir/op.h"
#include "ir/op_linalg.gen.h"
#include "reference/kernels_linalg.gen.h"

#include <lento/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <string>

namespace lento::cpu {
namespace {

struct Case {
  Op op;
  AttrsId attrs;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t right;  // columns of the second operand; 0: there is none
};

std::vector<Case> cases() {
  return {{op::cholesky_factor, {}, 7, 7, 0},
          {op::qr_factor, intern(QrFactorAttrs{false}), 9, 5, 0},
          {op::qr_factor, intern(QrFactorAttrs{true}), 5, 9, 0},
          {op::svd_factor, intern(SvdFactorAttrs{true}), 6, 4, 0},
          {op::eigh_factor, {}, 8, 8, 0},
          {op::eig_factor, {}, 6, 6, 0},
          {op::lu_factor, {}, 7, 10, 0},
          {op::linear_solve, {}, 9, 9, 3},
          {op::triangular_solve, intern(TriangularSolveAttrs{true, false, false}), 9, 9, 4},
          {op::triangular_solve, intern(TriangularSolveAttrs{false, true, true}), 17, 17, 1}};
}

/// Random matrices; square ones are symmetric and positive definite.
template <class T>
std::vector<T> matrices(std::int64_t count, std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::vector<T> x = random_elements<T>(count * rows * columns, seed);
  if (rows != columns) return x;
  for (std::int64_t at = 0; at < count; ++at) {
    for (std::int64_t i = 0; i < rows; ++i) {
      T* row = x.data() + (at * rows + i) * columns;
      for (std::int64_t j = 0; j < i; ++j) row[j] = x[static_cast<std::size_t>((at * rows + j) * columns + i)];
      row[i] = static_cast<T>(2 * rows) + std::abs(row[i]);
      if constexpr (!std::is_floating_point_v<T>) {
        for (std::int64_t j = 0; j < i; ++j) row[j] = std::conj(row[j]);
      }
    }
  }
  return x;
}

struct Call {
  std::vector<Meta> operands;
  std::vector<Meta> results;
  std::unique_ptr<const PreparedCall> step;

  Call(const Case& c, DType dtype, const Ints& batch) {
    const auto shape = [&](std::int64_t rows, std::int64_t columns) {
      Shape whole = batch;
      whole.push_back(rows);
      whole.push_back(columns);
      return whole;
    };
    operands.push_back({dtype, shape(c.rows, c.columns)});
    if (c.right != 0) operands.push_back({dtype, shape(c.rows, c.right)});
    results.resize(info(c.op).result_count);
    infer_node(c.op, operands, c.attrs, results);
    step = make_linalg_call(c.op, c.attrs, operands);
  }

  /// The bytes of every result; those in `left_out` are not asked for.
  std::vector<std::vector<std::byte>> run(std::vector<const void*> in, std::size_t left_out = ~0U) const {
    std::vector<std::vector<std::byte>> out;
    std::vector<void*> to, from;
    for (const void* operand : in) from.push_back(const_cast<void*>(operand));
    for (std::size_t r = 0; r < results.size(); ++r) {
      const auto count = static_cast<std::size_t>(element_count(results[r].shape));
      out.emplace_back(r == left_out ? 0 : count * size_of(results[r].dtype));
      to.push_back(r == left_out ? nullptr : out.back().data());
    }
    const std::vector<const ScalarArgument*> numbers(in.size(), nullptr);
    step->run({from, numbers, to});
    return out;
  }
};

template <class T>
void expect_each_as_if_alone() {
  constexpr std::int64_t kCount = 60;
  const int before = get_num_threads();
  for (const Case& c : cases()) {
    const auto x = matrices<T>(kCount, c.rows, c.columns, 3);
    const auto b = random_elements<T>(kCount * c.rows * c.right, 4);
    const auto operands_at = [&](std::int64_t at) {
      std::vector<const void*> operands{x.data() + at * c.rows * c.columns};
      if (c.right != 0) operands.push_back(b.data() + at * c.rows * c.right);
      return operands;
    };
    const Call batch(c, dtype_of<T>(), {kCount / 4, 4});
    set_num_threads(1);
    const auto one = batch.run(operands_at(0));
    set_num_threads(3);
    EXPECT_EQ(batch.run(operands_at(0)), one) << info(c.op).name << " depends on the number of threads";
    if (batch.results.size() > 1) {
      EXPECT_EQ(batch.run(operands_at(0), 0).back(), one.back()) << info(c.op).name << " without its first result";
    }
    const Call alone(c, dtype_of<T>(), {});
    for (std::int64_t at = 0; at < kCount; ++at) {
      const auto own = alone.run(operands_at(at));
      for (std::size_t r = 0; r < own.size(); ++r) {
        const std::byte* in_batch = one[r].data() + static_cast<std::size_t>(at) * own[r].size();
        EXPECT_TRUE(std::equal(own[r].begin(), own[r].end(), in_batch)) << info(c.op).name << ", matrix " << at;
      }
    }
  }
  set_num_threads(before);
}

TEST(Linalg, EachMatrixOfABatchIsComputedAsIfItWereAlone) {
  expect_each_as_if_alone<float>();
  expect_each_as_if_alone<double>();
  expect_each_as_if_alone<std::complex<float>>();
  expect_each_as_if_alone<std::complex<double>>();
}

TEST(Linalg, OfAnEmptyBatchIsNothing) {
  for (const Case& c : cases()) {
    const Call call(c, DType::float64, {0, 3});
    call.run(std::vector<const void*>(call.operands.size(), nullptr));
  }
}

/// Substitution with sums in the element type: within n eps of the reference's for matrices of condition near 1.
template <class T>
void expect_triangular_close() {
  for (const std::int64_t n : {1, 2, 5, 33, 130}) {
    for (int bits = 0; bits < 8; ++bits) {
      const TriangularSolveAttrs attrs{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
      auto a = random_elements<T>(n * n, 7);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          T& element = a[static_cast<std::size_t>(i * n + j)];
          const bool is_read = i == j ? !attrs.unit_diagonal : (i < j) == attrs.upper;
          element = element / static_cast<T>(n) + (i == j ? T(1) : T(0));
          if (!is_read) element = T(std::numeric_limits<double>::quiet_NaN());
        }
      }
      const auto b = random_elements<T>(n * 3, 8);
      const Shape a_shape{n, n}, b_shape{n, 3};
      std::vector<T> expected(b.size()), result(b.size());
      reference::triangular_solve({expected.data(), dtype_of<T>(), b_shape},
                                  {const_cast<T*>(a.data()), dtype_of<T>(), a_shape},
                                  {const_cast<T*>(b.data()), dtype_of<T>(), b_shape}, attrs);
      const Call call({op::triangular_solve, intern(attrs), n, n, 3}, dtype_of<T>(), {});
      const auto bytes = call.run({a.data(), b.data()});
      std::memcpy(result.data(), bytes[0].data(), bytes[0].size());
      double largest = 1;
      for (const T& element : expected) largest = std::max(largest, static_cast<double>(std::abs(element)));
      using Real = decltype(std::abs(T{}));
      EXPECT_LE(largest_distance(result, expected),
                static_cast<double>(n + 3) * static_cast<double>(std::numeric_limits<Real>::epsilon()) * largest);
    }
  }
}

TEST(Linalg, TriangularSystemsAgreeWithTheReferenceAndReadOnlyTheirTriangle) {
  expect_triangular_close<float>();
  expect_triangular_close<double>();
  expect_triangular_close<std::complex<float>>();
  expect_triangular_close<std::complex<double>>();
}

std::vector<Case> large_cases(std::int64_t n) {
  return {{op::cholesky_factor, {}, n, n, 0}, {op::lu_factor, {}, n, n, 0}, {op::linear_solve, {}, n, n, 150}};
}

/// Large matrices are factorised in blocks, in another order than the reference's: within n eps of it, relative to the
/// largest element, for matrices of condition near 1, whose pivots lie on the diagonal.
template <class T>
void expect_large_close() {
  for (const std::int64_t n : {384, 500}) {
    auto x = matrices<T>(1, n, n, 2);
    std::swap_ranges(x.begin(), x.begin() + n, x.begin() + 3 * n);  // rows 0 and 3, where there are exchanges
    for (const Case& c : large_cases(n)) {
      if (c.op == op::cholesky_factor) std::swap_ranges(x.begin(), x.begin() + n, x.begin() + 3 * n);
      const auto b = random_elements<T>(n * c.right, 9);
      const Call call(c, dtype_of<T>(), {});
      std::vector<const void*> operands{x.data()};
      if (c.right != 0) operands.push_back(b.data());
      set_num_threads(1);
      const auto bytes = call.run(operands);
      set_num_threads(3);
      EXPECT_EQ(call.run(operands), bytes) << info(c.op).name << " depends on the number of threads";
      std::vector<T> result(bytes[0].size() / sizeof(T)), expected(result.size());
      std::memcpy(result.data(), bytes[0].data(), bytes[0].size());
      const auto array = [](const void* data, const Meta& meta) {
        return reference::Array(const_cast<void*>(data), meta.dtype, meta.shape);
      };
      std::vector<std::int32_t> pivots(static_cast<std::size_t>(n));
      if (c.op == op::cholesky_factor) {
        reference::cholesky_factor(array(expected.data(), call.results[0]), array(x.data(), call.operands[0]));
        std::swap_ranges(x.begin(), x.begin() + n, x.begin() + 3 * n);
      } else if (c.op == op::lu_factor) {
        reference::lu_factor(array(expected.data(), call.results[0]), array(pivots.data(), call.results[1]),
                             array(x.data(), call.operands[0]));
        EXPECT_EQ(std::memcmp(bytes[1].data(), pivots.data(), bytes[1].size()), 0);
        EXPECT_EQ(pivots[0], 3);
      } else {
        reference::linear_solve(array(expected.data(), call.results[0]), array(x.data(), call.operands[0]),
                                array(b.data(), call.operands[1]));
      }
      double largest = 0;
      for (const T& element : expected) largest = std::max(largest, static_cast<double>(std::abs(element)));
      using Real = decltype(std::abs(T{}));
      EXPECT_LE(largest_distance(result, expected),
                static_cast<double>(n) * static_cast<double>(std::numeric_limits<Real>::epsilon()) * largest)
          << info(c.op).name;
    }
  }
}

TEST(Linalg, LargeMatricesAreFactorisedInBlocksWithTheSameBitsForAnyNumberOfThreads) {
  const int before = get_num_threads();
  expect_large_close<float>();
  expect_large_close<double>();
  expect_large_close<std::complex<float>>();
  expect_large_close<std::complex<double>>();
  set_num_threads(before);
}

TEST(Linalg, LargeMatricesFailAndPropagateNanLikeSmallOnes) {
  constexpr std::int64_t kSize = 400;
  auto x = matrices<double>(1, kSize, kSize, 1);
  const std::vector<double> b(kSize, 1.0);
  const auto call = [&](Op op, std::int64_t right) {
    std::vector<const void*> operands{x.data()};
    if (right != 0) operands.push_back(b.data());
    return Call({op, {}, kSize, kSize, right}, DType::float64, {}).run(operands);
  };
  x[300 * kSize + 300] = -1;
  EXPECT_THROW(call(op::cholesky_factor, 0), LinAlgError);
  std::fill(x.begin() + 7 * kSize, x.begin() + 8 * kSize, 0.0);
  EXPECT_THROW(call(op::linear_solve, 1), LinAlgError);
  EXPECT_NO_THROW(call(op::lu_factor, 0));
  x[5] = std::nan("");
  const auto solution = call(op::linear_solve, 1);
  for (std::int64_t i = 0; i < kSize; ++i) {
    double element;
    std::memcpy(&element, solution[0].data() + static_cast<std::size_t>(i) * sizeof(double), sizeof(double));
    EXPECT_TRUE(std::isnan(element));
  }
}

TEST(Linalg, AFailureNamesTheFirstMatrixAtFault) {
  constexpr std::int64_t kCount = 200, kSize = 12;
  const int before = get_num_threads();
  set_num_threads(3);
  auto x = matrices<double>(kCount, kSize, kSize, 1);
  for (const std::int64_t at : {61, 150, 199}) x[static_cast<std::size_t>(at * kSize * kSize)] = -1;
  const Call call({op::cholesky_factor, {}, kSize, kSize, 0}, DType::float64, {kCount});
  try {
    call.run({x.data()});
    FAIL() << "not positive definite";
  } catch (const LinAlgError& error) {
    EXPECT_NE(std::string(error.what()).find("(matrix 61 of the batch)"), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find("cholesky_factor: "), 0U) << error.what();
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace lento::cpu
