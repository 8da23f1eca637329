// Factorisations and solvers through LAPACK, matrix by matrix over the batch. Every matrix is row-major: LAPACKE
// transposes on the way in and out, or ColumnMajor does.
#include "backends/reference/array.h"
#include "backends/reference/bad_values.h"
#include "backends/reference/lapack_by_type.h"
#include "backends/reference/sum_of_products.h"
#include "ir/attrs_linalg.gen.h"
#include "ir/bad_values.h"
#include "ir/op_linalg.gen.h"
#include "reference/kernels_creation.gen.h"
#include "reference/kernels_linalg.gen.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

namespace lento::reference {

namespace {

/// A batch of matrices (…, rows, columns), or of vectors seen as one-row matrices.
struct Matrices {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t count;

  explicit Matrices(const Array& x)
      : rows(x.extent(x.rank() - 2)),
        columns(x.extent(x.rank() - 1)),
        count(element_count(x.shape().span().first(x.shape().size() - 2))) {}

  std::int64_t size() const { return rows * columns; }
  lapack_int m() const { return static_cast<lapack_int>(rows); }
  lapack_int n() const { return static_cast<lapack_int>(columns); }
};

template <class T>
using RealOf = decltype(std::real(T{}));

/// Calls f with the four element types that LAPACK has; inference refuses the others.
template <class F>
void dispatch_lapack(DType dtype, F f) {
  switch (dtype) {
    case DType::float32:
      return f.template operator()<float>();
    case DType::float64:
      return f.template operator()<double>();
    case DType::complex64:
      return f.template operator()<std::complex<float>>();
    default:
      return f.template operator()<std::complex<double>>();
  }
}

/// Tells which matrix is at fault, and what LAPACK says of it.
void bad_matrix(Op op, const Array& result, const Array& x, std::int64_t matrix, std::int64_t lapack_number) {
  tell_bad_value(op, matrix_word(matrix, lapack_number), x, result);
}

/// LAPACK's iterations may not end on nan and inf.
template <class T>
bool all_finite(const T* elements, std::int64_t count) {
  return std::all_of(elements, elements + count, [](T element) { return math::is_finite(element); });
}

/// What the direct methods, which do not iterate, make of a matrix with nan or inf.
template <class T>
void fill_nan(T* to, std::int64_t count) {
  std::fill_n(to, count, T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
}

/// Writes zeros above the diagonal, of which nothing is read.
template <class T>
void clear_upper(T* matrix, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) std::fill(matrix + i * n + i + 1, matrix + (i + 1) * n, T{});
}

template <class T>
void write_identity(T* to, std::int64_t n) {
  std::fill_n(to, n * n, T{});
  for (std::int64_t i = 0; i < n; ++i) to[i * n + i] = T{1};
}

/// A matrix column by column, with a column of zeros behind the last.
///
/// OpenBLAS 0.3.21's product of a complex matrix and a vector with a stride reads one element behind the vector. Its
/// singular value decomposition takes rows for such vectors, so that it reads a column that is not there.
template <class T>
class ColumnMajor {
 public:
  ColumnMajor(std::int64_t rows, std::int64_t columns)
      : rows_(rows), columns_(columns), elements_(static_cast<std::size_t>(rows * (columns + 1))) {}

  T* data() { return elements_.data(); }
  lapack_int stride() const { return static_cast<lapack_int>(rows_); }

  void read(const T* row_major) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < columns_; ++j) elements_[at(i, j)] = row_major[i * columns_ + j];
    }
  }
  void write(T* row_major) const {
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < columns_; ++j) row_major[i * columns_ + j] = elements_[at(i, j)];
    }
  }

 private:
  std::size_t at(std::int64_t row, std::int64_t column) const { return static_cast<std::size_t>(column * rows_ + row); }

  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<T> elements_;
};

}  // namespace

void cholesky_factor(const Array& out, const Array& x) {
  const Matrices shape(x);
  dispatch_lapack(x.dtype(), [&]<class T>() {
    std::copy_n(x.as<T>(), x.size(), out.as<T>());
    for (std::int64_t matrix = 0; matrix < shape.count && shape.size() > 0; ++matrix) {
      T* factor = out.as<T>() + matrix * shape.size();
      clear_upper(factor, shape.rows);
      if (!all_finite(factor, shape.size())) return bad_matrix(op::cholesky_factor, out, x, matrix, kNotFinite);
      const lapack_int info = call_lapack(Lapack<T>::potrf, LAPACK_ROW_MAJOR, 'L', shape.n(), factor, shape.n());
      if (info != 0) return bad_matrix(op::cholesky_factor, out, x, matrix, info);
    }
  });
}

void qr_factor(const Array& q, const Array& r, const Array& x, const QrFactorAttrs&) {
  const Matrices shape(x), q_shape(q), r_shape(r);
  const std::int64_t rank = std::min(shape.rows, shape.columns);
  dispatch_lapack(x.dtype(), [&]<class T>() {
    std::vector<T> work(static_cast<std::size_t>(shape.size()));
    std::vector<T> reflectors(static_cast<std::size_t>(rank));
    for (std::int64_t matrix = 0; matrix < shape.count; ++matrix) {
      const T* from = x.as<T>() + matrix * shape.size();
      T* to_q = q.as<T>() + matrix * q_shape.size();
      T* to_r = r.as<T>() + matrix * r_shape.size();
      if (rank == 0) {
        if (q_shape.rows == q_shape.columns) write_identity(to_q, q_shape.rows);
        continue;
      }
      if (!all_finite(from, shape.size())) {
        fill_nan(to_q, q_shape.size());
        fill_nan(to_r, r_shape.size());
        continue;
      }
      std::copy_n(from, shape.size(), work.data());
      call_lapack(Lapack<T>::geqrf, LAPACK_ROW_MAJOR, shape.m(), shape.n(), work.data(), shape.n(), reflectors.data());
      // r is on and above the diagonal of what geqrf leaves, the reflectors that make q are below it.
      for (std::int64_t i = 0; i < r_shape.rows; ++i) {
        for (std::int64_t j = 0; j < r_shape.columns; ++j)
          to_r[i * r_shape.columns + j] = j >= i ? work[static_cast<std::size_t>(i * shape.columns + j)] : T{};
      }
      for (std::int64_t i = 0; i < q_shape.rows; ++i) {
        for (std::int64_t j = 0; j < q_shape.columns; ++j)
          to_q[i * q_shape.columns + j] = j < rank ? work[static_cast<std::size_t>(i * shape.columns + j)] : T{};
      }
      call_lapack(Lapack<T>::generate_q, LAPACK_ROW_MAJOR, q_shape.m(), q_shape.n(), static_cast<lapack_int>(rank),
                  to_q, q_shape.n(), reflectors.data());
    }
  });
}

void svd_factor(const Array& u, const Array& s, const Array& vh, const Array& x, const SvdFactorAttrs& attrs) {
  const Matrices shape(x), u_shape(u), vh_shape(vh);
  const std::int64_t rank = std::min(shape.rows, shape.columns);
  dispatch_lapack(x.dtype(), [&]<class T>() {
    ColumnMajor<T> work(shape.rows, shape.columns);
    ColumnMajor<T> left(u_shape.rows, u_shape.columns), right(vh_shape.rows, vh_shape.columns);
    for (std::int64_t matrix = 0; matrix < shape.count; ++matrix) {
      const T* from = x.as<T>() + matrix * shape.size();
      T* to_u = u.as<T>() + matrix * u_shape.size();
      T* to_vh = vh.as<T>() + matrix * vh_shape.size();
      if (rank == 0) {
        if (u_shape.rows == u_shape.columns) write_identity(to_u, u_shape.rows);
        if (vh_shape.rows == vh_shape.columns) write_identity(to_vh, vh_shape.rows);
        continue;
      }
      if (!all_finite(from, shape.size())) return bad_matrix(op::svd_factor, u, x, matrix, kNotFinite);
      work.read(from);
      const lapack_int info = call_lapack(
          Lapack<T>::gesdd, LAPACK_COL_MAJOR, attrs.full_matrices ? 'A' : 'S', shape.m(), shape.n(), work.data(),
          work.stride(), s.as<RealOf<T>>() + matrix * rank, left.data(), left.stride(), right.data(), right.stride());
      if (info != 0) return bad_matrix(op::svd_factor, u, x, matrix, info);
      left.write(to_u);
      right.write(to_vh);
    }
  });
}

void eigh_factor(const Array& w, const Array& v, const Array& x) {
  const Matrices shape(x);
  dispatch_lapack(x.dtype(), [&]<class T>() {
    std::copy_n(x.as<T>(), x.size(), v.as<T>());
    for (std::int64_t matrix = 0; matrix < shape.count && shape.size() > 0; ++matrix) {
      T* vectors = v.as<T>() + matrix * shape.size();
      clear_upper(vectors, shape.rows);
      if (!all_finite(vectors, shape.size())) return bad_matrix(op::eigh_factor, w, x, matrix, kNotFinite);
      const lapack_int info = call_lapack(Lapack<T>::heevd, LAPACK_ROW_MAJOR, 'V', 'L', shape.n(), vectors, shape.n(),
                                          w.as<RealOf<T>>() + matrix * shape.rows);
      if (info != 0) return bad_matrix(op::eigh_factor, w, x, matrix, info);
    }
  });
}

void eig_factor(const Array& w, const Array& v, const Array& x) {
  const Matrices shape(x);
  const std::int64_t n = shape.rows;
  dispatch_lapack(x.dtype(), [&]<class T>() {
    using Result = std::complex<RealOf<T>>;
    std::vector<T> work(static_cast<std::size_t>(shape.size()));
    std::vector<T> vectors(static_cast<std::size_t>(shape.size()));
    std::vector<RealOf<T>> real(static_cast<std::size_t>(n)), imag(static_cast<std::size_t>(n));
    for (std::int64_t matrix = 0; matrix < shape.count && n > 0; ++matrix) {
      const T* from = x.as<T>() + matrix * shape.size();
      Result* to_w = w.as<Result>() + matrix * n;
      Result* to_v = v.as<Result>() + matrix * shape.size();
      if (!all_finite(from, shape.size())) return bad_matrix(op::eig_factor, w, x, matrix, kNotFinite);
      std::copy_n(from, shape.size(), work.data());
      lapack_int info = 0;
      if constexpr (std::same_as<T, Result>) {
        info = call_lapack(Lapack<T>::geev, LAPACK_ROW_MAJOR, 'N', 'V', shape.n(), work.data(), shape.n(), to_w,
                           nullptr, shape.n(), to_v, shape.n());
      } else {
        info = call_lapack(Lapack<T>::geev, LAPACK_ROW_MAJOR, 'N', 'V', shape.n(), work.data(), shape.n(), real.data(),
                           imag.data(), nullptr, shape.n(), vectors.data(), shape.n());
        // A pair of conjugate eigenvalues has its vectors' real parts in one column and the imaginary parts in the
        // next.
        for (std::int64_t j = 0; j < n; ++j) {
          const auto column = static_cast<std::size_t>(j);
          to_w[j] = Result(real[column], imag[column]);
          const std::int64_t first = imag[column] < 0 ? j - 1 : j;
          const RealOf<T> sign = imag[column] < 0 ? -1 : 1;
          for (std::int64_t i = 0; i < n; ++i) {
            const T* row = vectors.data() + i * n;
            to_v[i * n + j] = imag[column] == 0 ? Result(row[j]) : Result(row[first], sign * row[first + 1]);
          }
        }
      }
      if (info != 0) return bad_matrix(op::eig_factor, w, x, matrix, info);
    }
  });
}

void lu_factor(const Array& lu, const Array& pivots, const Array& x) {
  const Matrices shape(x);
  const std::int64_t rank = std::min(shape.rows, shape.columns);
  dispatch_lapack(x.dtype(), [&]<class T>() {
    std::copy_n(x.as<T>(), x.size(), lu.as<T>());
    for (std::int64_t matrix = 0; matrix < shape.count && rank > 0; ++matrix) {
      T* factors = lu.as<T>() + matrix * shape.size();
      std::int32_t* swaps = pivots.as<std::int32_t>() + matrix * rank;
      if (!all_finite(factors, shape.size())) {
        fill_nan(factors, shape.size());
        std::iota(swaps, swaps + rank, 0);
        continue;
      }
      // A positive return value says that the matrix is singular, which the diagonal shows as well.
      call_lapack(Lapack<T>::getrf, LAPACK_ROW_MAJOR, shape.m(), shape.n(), factors, shape.n(), swaps);
      for (std::int64_t i = 0; i < rank; ++i) swaps[i] -= 1;  // LAPACK counts from 1
    }
  });
}

void linear_solve(const Array& out, const Array& a, const Array& b) {
  const Matrices shape(a), right(b);
  dispatch_lapack(a.dtype(), [&]<class T>() {
    std::vector<T> work(static_cast<std::size_t>(shape.size()));
    std::vector<lapack_int> pivots(static_cast<std::size_t>(shape.rows));
    std::copy_n(b.as<T>(), b.size(), out.as<T>());
    for (std::int64_t matrix = 0; matrix < shape.count && right.size() > 0; ++matrix) {
      std::copy_n(a.as<T>() + matrix * shape.size(), shape.size(), work.data());
      T* solution = out.as<T>() + matrix * right.size();
      if (!all_finite(work.data(), shape.size())) {
        fill_nan(solution, right.size());
        continue;
      }
      const lapack_int info = call_lapack(Lapack<T>::gesv, LAPACK_ROW_MAJOR, shape.n(), right.n(), work.data(),
                                          shape.n(), pivots.data(), solution, right.n());
      if (info != 0) return bad_matrix(op::linear_solve, out, a, matrix, info);
    }
  });
}

void triangular_solve(const Array& out, const Array& a, const Array& b, const TriangularSolveAttrs& attrs) {
  const Matrices shape(a), right(b);
  const std::int64_t n = shape.rows;
  const bool from_below = attrs.upper != attrs.transpose;  // the last unknown stands alone in its row
  dispatch_lapack(a.dtype(), [&]<class T>() {
    using Sum = SumType<T>;
    for (std::int64_t matrix = 0; matrix < shape.count; ++matrix) {
      const T* coefficients = a.as<T>() + matrix * shape.size();
      const T* from = b.as<T>() + matrix * right.size();
      T* to = out.as<T>() + matrix * right.size();
      const auto coefficient = [&](std::int64_t i, std::int64_t j) {
        return coefficients[attrs.transpose ? j * n + i : i * n + j];
      };
      for (std::int64_t column = 0; column < right.columns; ++column) {
        for (std::int64_t step = 0; step < n; ++step) {
          const std::int64_t i = from_below ? n - 1 - step : step;
          Sum known{};
          for (std::int64_t j = from_below ? i + 1 : 0; j < (from_below ? n : i); ++j) {
            add_product(known, coefficient(i, j), to[j * right.columns + column]);
          }
          const Sum rest = static_cast<Sum>(from[i * right.columns + column]) - known;
          to[i * right.columns + column] =
              static_cast<T>(attrs.unit_diagonal ? rest : math::divide(rest, static_cast<Sum>(coefficient(i, i))));
        }
      }
    }
  });
}

}  // namespace lento::reference
