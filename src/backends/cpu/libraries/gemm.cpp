#include "backends/cpu/libraries/gemm.h"

#include "backends/cpu/libraries/library_calls.h"
#include "backends/reference/blas_memory.h"
#include "base/address_space.h"
#include "base/dispatch.h"
#include "base/fail.h"

#include <cblas.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <concepts>
#include <new>
#include <type_traits>
#include <vector>

namespace lento::cpu {

namespace {

CBLAS_TRANSPOSE transposition(const GemmOperand& operand) { return operand.transposed ? CblasTrans : CblasNoTrans; }

/// The product with one row or one column: BLAS' products of matrices take twice to four times as long for it.
template <class T>
void blas_gemv(std::int64_t m, std::int64_t n, std::int64_t k, GemmOperand a, GemmOperand b, void* c, std::int64_t ldc,
               GemmResult kind) {
  // With one row, the product of the transposed matrix b with a.
  const bool is_row = m == 1;
  const GemmOperand& matrix = is_row ? b : a;
  const GemmOperand& vector = is_row ? a : b;
  const std::int64_t rows = is_row ? k : m;
  const std::int64_t columns = is_row ? n : k;
  const T* elements = static_cast<const T*>(vector.data);
  std::int64_t vector_stride = vector.transposed == is_row ? vector.ld : 1;
  std::vector<T> gathered;
  if constexpr (!std::is_floating_point_v<T>) {
    // OpenBLAS 0.3.21 reads one element behind the end of a complex vector with a stride.
    if (vector_stride != 1) {
      for (std::int64_t i = 0; i < k; ++i) gathered.push_back(elements[i * vector_stride]);
      elements = gathered.data();
      vector_stride = 1;
    }
  }
  const std::int64_t result_stride = is_row ? 1 : ldc;
  T* const result = static_cast<T*>(c);
  if (kind == GemmResult::replaced) {
    for (std::int64_t i = 0; i < (is_row ? n : m); ++i) result[i * result_stride] = T(0);
  }
  // As it lies in memory, row by row, the matrix is the transposed one when the operand is.
  const auto call = [&](auto function, auto one) {
    function(CblasRowMajor, matrix.transposed == is_row ? CblasNoTrans : CblasTrans,
             static_cast<blasint>(matrix.transposed ? columns : rows),
             static_cast<blasint>(matrix.transposed ? rows : columns), one, static_cast<const T*>(matrix.data),
             static_cast<blasint>(matrix.ld), elements, static_cast<blasint>(vector_stride), one, result,
             static_cast<blasint>(result_stride));
  };
  const T one(1);
  if constexpr (std::same_as<T, float>) call(cblas_sgemv, one);
  if constexpr (std::same_as<T, double>) call(cblas_dgemv, one);
  if constexpr (std::same_as<T, std::complex<float>>) call(cblas_cgemv, &one);
  if constexpr (std::same_as<T, std::complex<double>>) call(cblas_zgemv, &one);
}

template <class T>
void blas_gemm(std::int64_t m, std::int64_t n, std::int64_t k, GemmOperand a, GemmOperand b, void* c, std::int64_t ldc,
               GemmResult kind) {
  const reference::BlasCall one_buffer;
  if (m == 1 || n == 1) return blas_gemv<T>(m, n, k, a, b, c, ldc, kind);
  const auto call = [&](auto function, auto alpha, auto beta) {
    function(CblasRowMajor, transposition(a), transposition(b), static_cast<blasint>(m), static_cast<blasint>(n),
             static_cast<blasint>(k), alpha, static_cast<const T*>(a.data), static_cast<blasint>(a.ld),
             static_cast<const T*>(b.data), static_cast<blasint>(b.ld), beta, static_cast<T*>(c),
             static_cast<blasint>(ldc));
  };
  const T one(1);
  const T kept(kind == GemmResult::added ? 1 : 0);
  if constexpr (std::same_as<T, float>) call(cblas_sgemm, one, kept);
  if constexpr (std::same_as<T, double>) call(cblas_dgemm, one, kept);
  if constexpr (std::same_as<T, std::complex<float>>) call(cblas_cgemm, &one, &kept);
  if constexpr (std::same_as<T, std::complex<double>>) call(cblas_zgemm, &one, &kept);
}

/// sum += a * b; integers as unsigned ones of at least the width of int, so that nothing overflows.
template <class T>
void add_product(T& sum, T a, T b) {
  if constexpr (std::same_as<T, bool>) {
    sum = sum || (a && b);
  } else {
    using Wide = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    sum = static_cast<T>(static_cast<Wide>(sum) + static_cast<Wide>(a) * static_cast<Wide>(b));
  }
}

template <class T>
void plain(std::int64_t m, std::int64_t n, std::int64_t k, StridedMatrix a, StridedMatrix b, void* to,
           std::int64_t ldc) {
  const T* const left = static_cast<const T*>(a.data);
  const T* const right = static_cast<const T*>(b.data);
  for (std::int64_t i = 0; i < m; ++i) {
    T* const c = static_cast<T*>(to) + i * ldc;
    const T* const row = left + i * a.row;
    if (b.column == 1) {  // along the rows of b
      std::fill_n(c, n, T{});
      for (std::int64_t l = 0; l < k; ++l) {
        const T factor = row[l * a.column];
        const T* const from = right + l * b.row;
        for (std::int64_t j = 0; j < n; ++j) add_product(c[j], factor, from[j]);
      }
    } else {
      for (std::int64_t j = 0; j < n; ++j) {
        const T* const from = right + j * b.column;
        T sum{};
        for (std::int64_t l = 0; l < k; ++l) add_product(sum, row[l * a.column], from[l * b.row]);
        c[j] = sum;
      }
    }
  }
}

/// Throws when oneDNN could not multiply. Its arguments are right, so that memory for a packed operand was missing.
void check_memory(dnnl_status_t status) {
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  if (status != dnnl_success) fail<BackendError>("oneDNN could not multiply: status {}", static_cast<int>(status));
}

constexpr std::size_t kRoomForCode = std::size_t{32} << 20;

/// Lets oneDNN generate the code of its float32 product, which it does when each form is first used and destroys at
/// exit.
bool prepare_sgemm() {
  require_address_space(kRoomForCode);  // it does not look whether there was memory for the code
  constexpr dnnl_dim_t kSize = 64;
  const std::vector<float> a(kSize * kSize), b(kSize * kSize);
  std::vector<float> c(kSize * kSize);
  for (const char transposed_a : {'N', 'T'}) {
    for (const char transposed_b : {'N', 'T'}) {
      check_memory(dnnl_sgemm(transposed_a, transposed_b, kSize, kSize, kSize, 1.0F, a.data(), kSize, b.data(), kSize,
                              0.0F, c.data(), kSize));
    }
  }
  wait_for_calls_at_exit();
  return true;
}

}  // namespace

void gemm(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, GemmOperand a, GemmOperand b, void* c,
          std::int64_t ldc, bool small, GemmResult result) {
  switch (dtype) {
    case DType::float32: {
      if (small || m == 1 || n == 1) return blas_gemm<float>(m, n, k, a, b, c, ldc, result);
      [[maybe_unused]] static const bool prepared = prepare_sgemm();
      check_memory(dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1.0F,
                              static_cast<const float*>(a.data), a.ld, static_cast<const float*>(b.data), b.ld,
                              result == GemmResult::added ? 1.0F : 0.0F, static_cast<float*>(c), ldc));
      return;
    }
    case DType::float64:
      return blas_gemm<double>(m, n, k, a, b, c, ldc, result);
    case DType::complex64:
      return blas_gemm<std::complex<float>>(m, n, k, a, b, c, ldc, result);
    default:
      return blas_gemm<std::complex<double>>(m, n, k, a, b, c, ldc, result);
  }
}

void plain_product(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, StridedMatrix a, StridedMatrix b,
                   void* c, std::int64_t ldc) {
  dispatch(dtype, [&]<class T>() {
    if constexpr (std::integral<T>) plain<T>(m, n, k, a, b, c, ldc);
  });
}

}  // namespace lento::cpu
