#include "backends/cpu/attention/blocks.h"

#include "backends/cpu/libraries/convert_half.h"
#include "backends/reference/arithmetic.h"
#include "base/dispatch.h"

#include <concepts>
#include <cstring>
#include <limits>

namespace lento::cpu {

namespace {

constexpr std::int64_t kLargestExtent = std::numeric_limits<std::int32_t>::max();
// Below this OpenBLAS is faster than oneDNN, whose primitives cost 2 µs a call.
constexpr std::int64_t kSmallProducts = 48 * 48 * 48;

/// Elements of a line as T, one behind the other.
template <class Stored, class T>
void copy_line(const Stored* from, std::int64_t stride, std::int64_t count, T* to) {
  if constexpr (sizeof(Stored) == 2 && std::same_as<T, float>) {
    if (stride == 1) return to_float(from, to, count);
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(reference::widen(from[i * stride]));
}

/// Calls f.operator()<Stored>() with the floating type of elements.
template <class F>
void dispatch_floating(DType dtype, F&& f) {
  dispatch(dtype, [&]<class Stored>() {
    if constexpr (std::floating_point<Stored> || sizeof(Stored) == 2) {
      if constexpr (!std::integral<Stored>) f.template operator()<Stored>();
    }
  });
}

}  // namespace

bool AttentionProblem::fits() const {
  return std::max({queries, keys, features, values}) <= kLargestExtent - std::max(kQueryBlock, kKeyBlock);
}

double AttentionProblem::multiplications(double of_features, double of_values) const {
  double scores = 0;
  for (std::int64_t i = 0; i < block_count(queries, kQueryBlock); ++i) {
    const Span rows = block_at(queries, kQueryBlock, i);
    scores +=
        static_cast<double>(rows.count) * static_cast<double>(causal ? std::min(keys, rows.begin + rows.count) : keys);
  }
  return static_cast<double>(batch_count() * heads) * scores *
         (of_features * static_cast<double>(features) + of_values * static_cast<double>(values));
}

HeadMatrix HeadMatrix::of(const AttentionProblem& problem, const AttentionOperand& operand, const void* data,
                          std::int64_t matrix, std::int64_t head) {
  std::int64_t at = head * operand.head;
  for (std::size_t axis = problem.batch.size(); axis-- > 0;) {
    at += matrix % problem.batch[axis] * operand.batch[axis];
    matrix /= problem.batch[axis];
  }
  return {static_cast<const std::byte*>(data) + at * static_cast<std::int64_t>(size_of(operand.dtype)), &operand};
}

template <class T>
GemmOperand Rows<T>::read(const HeadMatrix& matrix, const Span& rows, std::int64_t columns) {
  const AttentionOperand& x = *matrix.operand;
  const std::byte* const data = matrix.data + rows.begin * x.row * static_cast<std::int64_t>(size_of(x.dtype));
  const bool in_lines = x.column == 1 || columns == 1;
  if (x.dtype == dtype_of<T>() && in_lines && x.row >= columns && x.row <= kLargestExtent) return {data, x.row, false};
  if (!copy_) copy_.emplace(static_cast<std::size_t>(most_) * sizeof(T));
  T* const copy = copy_->template as<T>();
  dispatch_floating(x.dtype, [&]<class Stored>() {
    for (std::int64_t i = 0; i < rows.count; ++i)
      copy_line(reinterpret_cast<const Stored*>(data) + i * x.row, x.column, columns, copy + i * columns);
  });
  return {copy, columns, false};
}

template <class T>
const T* added_to_scores(const HeadMatrix& mask, std::int64_t query, const Span& keys, T* room) {
  if (mask.data == nullptr) return nullptr;
  const AttentionOperand& x = *mask.operand;
  const std::int64_t offset = query * x.row + keys.begin * x.column;
  const std::byte* const data = mask.data + offset * static_cast<std::int64_t>(size_of(x.dtype));
  const bool in_place = x.dtype == dtype_of<T>() && x.column == 1 && keys.count % kScoreLanes == 0;
  if (in_place) return reinterpret_cast<const T*>(data);
  if (is_bool(x.dtype)) {
    const auto* seen = reinterpret_cast<const std::uint8_t*>(data);
    for (std::int64_t j = 0; j < keys.count; ++j)
      room[j] = seen[j * x.column] != 0 ? T(0) : -std::numeric_limits<T>::infinity();
  } else {
    dispatch_floating(
        x.dtype, [&]<class Stored>() { copy_line(reinterpret_cast<const Stored*>(data), x.column, keys.count, room); });
  }
  return room;
}

template <class T>
void multiply_blocks(std::int64_t m, std::int64_t n, std::int64_t k, const GemmOperand& a, const GemmOperand& b, T* c,
                     std::int64_t ldc, GemmResult result) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (result == GemmResult::added) return;
    for (std::int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, T(0));
    return;
  }
  gemm(dtype_of<T>(), m, n, k, a, b, c, ldc, m * n <= kSmallProducts / k, result);
}

template <class T>
void store_row(const T* from, DType dtype, void* to, std::int64_t offset, std::int64_t count) {
  dispatch_floating(dtype, [&]<class Stored>() {
    Stored* const row = static_cast<Stored*>(to) + offset;
    if constexpr (sizeof(Stored) == 2 && std::same_as<T, float>) {
      from_float(from, row, count);
    } else if constexpr (std::same_as<Stored, T>) {
      if (row != from) std::copy_n(from, count, row);
    }
  });
}

template class Rows<float>;
template class Rows<double>;
template const float* added_to_scores(const HeadMatrix&, std::int64_t, const Span&, float*);
template const double* added_to_scores(const HeadMatrix&, std::int64_t, const Span&, double*);
template void multiply_blocks(std::int64_t, std::int64_t, std::int64_t, const GemmOperand&, const GemmOperand&, float*,
                              std::int64_t, GemmResult);
template void multiply_blocks(std::int64_t, std::int64_t, std::int64_t, const GemmOperand&, const GemmOperand&, double*,
                              std::int64_t, GemmResult);
template void store_row(const float*, DType, void*, std::int64_t, std::int64_t);
template void store_row(const double*, DType, void*, std::int64_t, std::int64_t);

}  // namespace lento::cpu
