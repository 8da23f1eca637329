// Factorisations: what they promise, checked by multiplying back.
#include "ir/attrs_linalg.gen.h"
#include "ir/infer_contraction.gen.h"
#include "ir/infer_linalg.gen.h"
#include "reference/kernels_contraction.gen.h"
#include "reference/kernels_linalg.gen.h"
#include "reference/owned.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace lento::testing {
namespace {

template <class T>
using RealOf = decltype(std::real(T{}));

/// The tests run with every element type that LAPACK has.
template <class T>
class Linalg : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Linalg, Types);

template <class T>
T random_element(std::mt19937& engine) {
  std::uniform_real_distribution<RealOf<T>> part(-1, 1);
  if constexpr (std::is_floating_point_v<T>) {
    return part(engine);
  } else {
    const RealOf<T> real = part(engine);
    return T(real, part(engine));
  }
}

template <class T>
Owned random_matrices(const Shape& shape, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) values.push_back(random_element<T>(engine));
  return Owned(shape, values);
}

/// The conjugate transpose of the last two axes.
template <class T>
Owned adjoint(const Owned& x) {
  Shape shape = x.shape();
  const std::int64_t n = shape.back(), m = shape[shape.size() - 2];
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  std::vector<T> values;
  for (std::int64_t b = 0; b < (m * n == 0 ? 0 : x.array().size() / (m * n)); ++b) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        const T element = x.at<T>((b * m + i) * n + j);
        if constexpr (std::is_floating_point_v<T>) {
          values.push_back(element);
        } else {
          values.push_back(std::conj(element));
        }
      }
    }
  }
  return Owned(shape, values);
}

Owned matmul(const Owned& a, const Owned& b) {
  Owned out(infer_matrix_multiply(a.meta(), b.meta()));
  reference::matrix_multiply(out.array(), a.array(), b.array());
  return out;
}

template <class T>
void expect_close(const Owned& a, const Owned& b) {
  ASSERT_EQ(a.shape(), b.shape());
  const RealOf<T> tolerance = 50 * std::numeric_limits<RealOf<T>>::epsilon();
  for (std::int64_t i = 0; i < a.array().size(); ++i)
    EXPECT_LE(std::abs(a.at<T>(i) - b.at<T>(i)), tolerance) << "element " << i;
}

template <class T>
Owned identity(const Shape& batch, std::int64_t n) {
  Shape shape = batch;
  shape.push_back(n);
  shape.push_back(n);
  std::vector<T> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) values.push_back(T(i % (n * n) / n == i % n ? 1 : 0));
  return Owned(shape, values);
}

/// x * diag(s) for s of shape (…, k).
template <class T>
Owned scale_columns(const Owned& x, const Owned& s) {
  Owned out = x.copy();
  const std::int64_t n = x.shape().back(), m = x.shape()[x.shape().size() - 2];
  for (std::int64_t i = 0; i < x.array().size(); ++i) {
    const std::int64_t at = i / (m * n) * n + i % n;
    if (s.dtype() == x.dtype()) {
      out.array().as<T>()[i] *= s.at<T>(at);
    } else {
      out.array().as<T>()[i] *= s.at<RealOf<T>>(at);
    }
  }
  return out;
}

/// Makes square matrices well conditioned.
template <class T>
void add_to_diagonal(const Owned& x, T value) {
  const std::int64_t n = x.shape().back();
  for (std::int64_t row = 0; row < x.array().size() / n; ++row) x.array().as<T>()[row * n + row % n] += value;
}

Owned cholesky(const Owned& x) {
  Owned out(infer_cholesky_factor(x.meta()));
  reference::cholesky_factor(out.array(), x.array());
  return out;
}

struct Two {
  Owned first, second;
};

Two qr(const Owned& x, bool complete) {
  QrFactorAttrs attrs{complete};
  const auto metas = infer_qr_factor(x.meta(), attrs);
  Two out{Owned(metas[0]), Owned(metas[1])};
  reference::qr_factor(out.first.array(), out.second.array(), x.array(), attrs);
  return out;
}

Two eigh(const Owned& x) {
  const auto metas = infer_eigh_factor(x.meta());
  Two out{Owned(metas[0]), Owned(metas[1])};
  reference::eigh_factor(out.first.array(), out.second.array(), x.array());
  return out;
}

Two eig(const Owned& x) {
  const auto metas = infer_eig_factor(x.meta());
  Two out{Owned(metas[0]), Owned(metas[1])};
  reference::eig_factor(out.first.array(), out.second.array(), x.array());
  return out;
}

Two lu(const Owned& x) {
  const auto metas = infer_lu_factor(x.meta());
  Two out{Owned(metas[0]), Owned(metas[1])};
  reference::lu_factor(out.first.array(), out.second.array(), x.array());
  return out;
}

struct Three {
  Owned u, s, vh;
};

Three svd(const Owned& x, bool full) {
  SvdFactorAttrs attrs{full};
  const auto metas = infer_svd_factor(x.meta(), attrs);
  Three out{Owned(metas[0]), Owned(metas[1]), Owned(metas[2])};
  reference::svd_factor(out.u.array(), out.s.array(), out.vh.array(), x.array(), attrs);
  return out;
}

Owned solve(const Owned& a, const Owned& b) {
  Owned out(infer_linear_solve(a.meta(), b.meta()));
  reference::linear_solve(out.array(), a.array(), b.array());
  return out;
}

TYPED_TEST(Linalg, CholeskyMultipliesBackAndReadsOnlyTheLowerTriangle) {
  using T = TypeParam;
  const Owned root = random_matrices<T>({3, 4, 4}, 1);
  Owned x = matmul(root, adjoint<T>(root));
  add_to_diagonal(x, T(1));
  const Owned factor = cholesky(x);
  expect_close<T>(matmul(factor, adjoint<T>(factor)), x);
  EXPECT_EQ(factor.template at<T>(1), T(0));
  Owned spoiled = x.copy();
  spoiled.array().template as<T>()[1] = T(std::numeric_limits<RealOf<T>>::quiet_NaN());
  EXPECT_EQ(cholesky(spoiled).template values<T>(), factor.template values<T>());
}

TYPED_TEST(Linalg, QrMultipliesBackAndQIsOrthonormal) {
  using T = TypeParam;
  for (const Shape& shape : {Shape{5, 3}, Shape{3, 5}, Shape{2, 4, 4}, Shape{2, 4, 1}}) {
    for (const bool complete : {false, true}) {
      const Owned x = random_matrices<T>(shape, 2);
      const auto [q, r] = qr(x, complete);
      expect_close<T>(matmul(q, r), x);
      const Shape batch(shape.begin(), shape.end() - 2);
      expect_close<T>(matmul(adjoint<T>(q), q), identity<T>(batch, q.shape().back()));
      EXPECT_EQ(r.shape()[r.shape().size() - 2], q.shape().back());
      if (r.shape()[r.shape().size() - 2] > 1) {
        EXPECT_EQ(r.template at<T>(r.shape().back()), T(0));  // below the diagonal
      }
    }
  }
}

TYPED_TEST(Linalg, SvdMultipliesBackInDescendingOrder) {
  using T = TypeParam;
  for (const Shape& shape : {Shape{5, 3}, Shape{3, 5}, Shape{2, 4, 4}}) {
    const Owned x = random_matrices<T>(shape, 3);
    const auto [u, s, vh] = svd(x, false);
    expect_close<T>(matmul(scale_columns<T>(u, s), vh), x);
    for (std::int64_t i = 0; i + 1 < s.shape().back(); ++i)
      EXPECT_GE(s.template at<RealOf<T>>(i), s.template at<RealOf<T>>(i + 1));
    const Three full = svd(x, true);
    const Shape batch(shape.begin(), shape.end() - 2);
    expect_close<T>(matmul(full.u, adjoint<T>(full.u)), identity<T>(batch, shape[shape.size() - 2]));
    expect_close<T>(matmul(full.vh, adjoint<T>(full.vh)), identity<T>(batch, shape.back()));
  }
}

TYPED_TEST(Linalg, EighDiagonalizesInAscendingOrder) {
  using T = TypeParam;
  const Owned half = random_matrices<T>({2, 4, 4}, 4);
  Owned x = half.copy();
  const Owned other = adjoint<T>(half);
  for (std::int64_t i = 0; i < 32; ++i) x.array().template as<T>()[i] += other.template at<T>(i);
  const auto [w, v] = eigh(x);
  expect_close<T>(matmul(x, v), scale_columns<T>(v, w));
  expect_close<T>(matmul(adjoint<T>(v), v), identity<T>({2}, 4));
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_LE(w.template at<RealOf<T>>(i), w.template at<RealOf<T>>(i + 1));
}

TYPED_TEST(Linalg, EigIsAlwaysComplexAndDiagonalizes) {
  using T = TypeParam;
  using C = std::complex<RealOf<T>>;
  const Owned x = random_matrices<T>({2, 5, 5}, 5);
  const auto [w, v] = eig(x);
  std::vector<C> widened;
  for (const T& element : x.template values<T>()) widened.emplace_back(element);
  expect_close<C>(matmul(Owned({2, 5, 5}, widened), v), scale_columns<C>(v, w));
}

TYPED_TEST(Linalg, LuMultipliesBackAfterTheSwaps) {
  using T = TypeParam;
  for (const Shape& shape : {Shape{4, 4}, Shape{5, 3}, Shape{3, 5}}) {
    const Owned x = random_matrices<T>(shape, 6);
    const auto [factors, pivots] = lu(x);
    const std::int64_t m = shape[0], n = shape[1], k = std::min(m, n);
    std::vector<T> lower, upper, swapped = x.template values<T>();
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < k; ++j)
        lower.push_back(i == j ? T(1) : i > j ? factors.template at<T>(i * n + j) : T(0));
    }
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t j = 0; j < n; ++j) upper.push_back(i <= j ? factors.template at<T>(i * n + j) : T(0));
    }
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t other = pivots.template at<std::int32_t>(i);
      ASSERT_GE(other, i);
      if (other != i)
        std::swap_ranges(swapped.begin() + i * n, swapped.begin() + (i + 1) * n, swapped.begin() + other * n);
    }
    expect_close<T>(matmul(Owned({m, k}, lower), Owned({k, n}, upper)), Owned(shape, swapped));
  }
}

TYPED_TEST(Linalg, SolveSolvesWithoutChangingItsOperands) {
  using T = TypeParam;
  Owned a = random_matrices<T>({2, 4, 4}, 7);
  add_to_diagonal(a, T(3));
  const Owned before = a.copy(), b = random_matrices<T>({2, 4, 3}, 8);
  expect_close<T>(matmul(a, solve(a, b)), b);
  EXPECT_EQ(a.template values<T>(), before.template values<T>());
}

TYPED_TEST(Linalg, TriangularSolveReadsOneTriangle) {
  using T = TypeParam;
  Owned a = random_matrices<T>({2, 4, 4}, 9);
  add_to_diagonal(a, T(3));
  const Owned b = random_matrices<T>({2, 4, 2}, 10);
  for (int setting = 0; setting < 8; ++setting) {
    const bool upper = (setting & 1) != 0, transpose = (setting & 2) != 0, unit = (setting & 4) != 0;
    const Owned y =
        run(infer_triangular_solve, reference::triangular_solve, a, b, TriangularSolveAttrs{upper, transpose, unit});
    // The matrix that is meant, written out.
    Owned meant = a.copy();
    for (std::int64_t k = 0; k < 32; ++k) {
      const std::int64_t i = k % 16 / 4, j = k % 4;
      const std::int64_t row = transpose ? j : i, column = transpose ? i : j;
      T element = a.template at<T>(k / 16 * 16 + row * 4 + column);
      if (row == column) {
        if (unit) element = T(1);
      } else if ((row < column) != upper) {
        element = T(0);
      }
      meant.array().template as<T>()[k] = element;
    }
    expect_close<T>(matmul(meant, y), b);
  }
}

TYPED_TEST(Linalg, EmptyMatrices) {
  using T = TypeParam;
  const Owned none({0, 0}, std::vector<T>{});
  EXPECT_EQ(cholesky(none).shape(), (Shape{0, 0}));
  EXPECT_EQ(eigh(none).first.shape(), (Shape{0}));
  EXPECT_EQ(eig(none).first.shape(), (Shape{0}));
  EXPECT_EQ(solve(none, Owned({0, 2}, std::vector<T>{})).shape(), (Shape{0, 2}));
  EXPECT_EQ(cholesky(Owned({0, 3, 3}, std::vector<T>{})).shape(), (Shape{0, 3, 3}));
  const Owned tall({3, 0}, std::vector<T>{});
  expect_close<T>(qr(tall, true).first, identity<T>({}, 3));
  EXPECT_EQ(qr(tall, false).first.shape(), (Shape{3, 0}));
  expect_close<T>(svd(tall, true).u, identity<T>({}, 3));
  EXPECT_EQ(svd(tall, false).s.shape(), (Shape{0}));
  EXPECT_EQ(lu(tall).second.shape(), (Shape{0}));
}

TYPED_TEST(Linalg, DataErrorsNameTheMatrix) {
  using T = TypeParam;
  const Owned singular({2, 2, 2}, std::vector<T>{1, 0, 0, 1, 1, 2, 2, 4});
  EXPECT_EQ(message_of<LinAlgError>([&] { solve(singular, random_matrices<T>({2, 2, 1}, 1)); }),
            "the matrix is singular (matrix 1 of the batch)");
  EXPECT_EQ(message_of<LinAlgError>([&] { cholesky(Owned({2, 2}, std::vector<T>{1, 0, 0, -1})); }),
            "the matrix is not positive definite: its leading minor of order 2 is not positive");
  EXPECT_EQ(lu(singular).first.template at<T>(7), T(0));  // no error
}

TYPED_TEST(Linalg, NanAndInfinityEnd) {
  using T = TypeParam;
  for (const auto bad : {std::numeric_limits<RealOf<T>>::quiet_NaN(), std::numeric_limits<RealOf<T>>::infinity()}) {
    Owned x = identity<T>({}, 6);
    x.array().template as<T>()[7] = T(bad);
    EXPECT_NE(message_of<LinAlgError>([&] { cholesky(x); }), "");
    EXPECT_NE(message_of<LinAlgError>([&] { svd(x, false); }), "");
    EXPECT_NE(message_of<LinAlgError>([&] { eigh(x); }), "");
    EXPECT_EQ(message_of<LinAlgError>([&] { eig(x); }), "the matrix contains nan or inf");
    EXPECT_TRUE(std::isnan(std::abs(qr(x, false).first.template at<T>(0))));
    EXPECT_TRUE(std::isnan(std::abs(lu(x).first.template at<T>(0))));
    EXPECT_EQ(lu(x).second.template at<std::int32_t>(3), 3);
    EXPECT_TRUE(std::isnan(std::abs(solve(x, identity<T>({}, 6)).template at<T>(0))));
  }
}

TEST(LinalgErrors, T2_DtypesAndShapes) {
  EXPECT_EQ(message_of<DTypeError>([] { infer_cholesky_factor({DType::float16, {3, 3}}); }),
            "x is float16(3, 3), which has no linear algebra: convert it to float32 first");
  EXPECT_EQ(message_of<DTypeError>([] { infer_eigh_factor({DType::int32, {3, 3}}); }),
            "x must be floating or complex, got int32(3, 3)");
  EXPECT_EQ(message_of<ShapeError>([] { infer_cholesky_factor({DType::float32, {3, 4}}); }),
            "x must be square in its last two axes, got float32(3, 4)");
  EXPECT_NE(message_of<ShapeError>([] { infer_lu_factor({DType::float32, {3}}); }), "");
  EXPECT_NE(message_of<ShapeError>([] { infer_linear_solve({DType::float32, {3, 3}}, {DType::float32, {2, 1}}); }), "");
  EXPECT_NE(
      message_of<ShapeError>([] { infer_linear_solve({DType::float32, {2, 3, 3}}, {DType::float32, {3, 3, 1}}); }), "");
  EXPECT_NE(message_of<DTypeError>([] { infer_linear_solve({DType::float32, {3, 3}}, {DType::float64, {3, 1}}); }), "");
}

}  // namespace
}  // namespace lento::testing
