// One matrix product on the calling thread, by library or plain loops, for each element type.
#pragma once

#include <lento/dtype.h>

#include <cstdint>

namespace lento::cpu {

/// A matrix as BLAS wants it: rows `ld` elements apart, or columns when transposed.
struct GemmOperand {
  const void* data;
  std::int64_t ld;
  bool transposed;
};

/// What becomes of the elements that the result of a product had.
enum class GemmResult : std::uint8_t { replaced, added };

/// c (m × n, rows `ldc` apart) = a @ b for float32, float64 and complex types; extents and distances fit 31 bits. The
/// caller holds OneThread. `small` chooses what is fastest for less than some 50³ products.
void gemm(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, GemmOperand a, GemmOperand b, void* c,
          std::int64_t ldc, bool small, GemmResult result = GemmResult::replaced);

/// A matrix with any strides.
struct StridedMatrix {
  const void* data;
  std::int64_t row;
  std::int64_t column;
};

/// The same for integers, which wrap, and bool, by loops.
void plain_product(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, StridedMatrix a, StridedMatrix b,
                   void* c, std::int64_t ldc);

}  // namespace lento::cpu
