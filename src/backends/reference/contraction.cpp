// Matrix multiplication.
#include "backends/reference/array.h"
#include "backends/reference/sum_of_products.h"
#include "base/dispatch.h"
#include "reference/kernels_contraction.gen.h"

#include <algorithm>
#include <vector>

namespace lento::reference {

void matrix_multiply(const Array& out, const Array& x1, const Array& x2) {
  const std::int64_t rows = x1.extent(x1.rank() - 2);
  const std::int64_t inner = x1.extent(x1.rank() - 1);
  const std::int64_t columns = x2.extent(x2.rank() - 1);
  const std::span<const std::int64_t> batch = out.shape().span().first(out.shape().size() - 2);
  // Which matrix of each operand belongs to the matrices of the result, one after the other.
  std::vector<std::int64_t> first, second;
  const auto collect = [&](const Array& x, std::vector<std::int64_t>& matrices) {
    const std::span<const std::int64_t> own = x.shape().span().first(x.shape().size() - 2);
    for_each_offset(batch, broadcast_strides(own, batch),
                    [&](std::int64_t, std::int64_t at) { matrices.push_back(at); });
  };
  collect(x1, first);
  collect(x2, second);

  dispatch(out.dtype(), [&]<class T>() {
    // vector<bool> has no elements to refer to; one byte each serves as well.
    using Cell = std::conditional_t<std::same_as<T, bool>, char, SumType<T>>;
    std::vector<Cell> row(static_cast<std::size_t>(columns));
    for (std::size_t matrix = 0; matrix < first.size(); ++matrix) {
      const T* a = x1.as<T>() + first[matrix] * rows * inner;
      const T* b = x2.as<T>() + second[matrix] * inner * columns;
      T* c = out.as<T>() + static_cast<std::int64_t>(matrix) * rows * columns;
      for (std::int64_t i = 0; i < rows; ++i) {
        std::fill(row.begin(), row.end(), Cell{});
        // k outside of j: both b and the sums are read along their rows.
        for (std::int64_t k = 0; k < inner; ++k) {
          for (std::int64_t j = 0; j < columns; ++j) {
            auto sum = static_cast<SumType<T>>(row[static_cast<std::size_t>(j)]);
            add_product(sum, a[i * inner + k], b[k * columns + j]);
            row[static_cast<std::size_t>(j)] = static_cast<Cell>(sum);
          }
        }
        for (std::int64_t j = 0; j < columns; ++j)
          c[i * columns + j] = static_cast<T>(row[static_cast<std::size_t>(j)]);
      }
    }
  });
}

}  // namespace lento::reference
