// Blocks of queries and keys: how they are cut, read as matrices of the type that is computed in, and multiplied.
#pragma once

#include "backends/cpu/arena.h"
#include "backends/cpu/attention/attention.h"
#include "backends/cpu/attention/rows.h"
#include "backends/cpu/libraries/gemm.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace lento::cpu {

/// Queries and keys of a block (docs/decisions.md says what was measured).
inline constexpr std::int64_t kQueryBlock = 64;
inline constexpr std::int64_t kKeyBlock = 256;
static_assert(kQueryBlock % kScoreLanes == 0 && kKeyBlock % kScoreLanes == 0);

/// A part of a row of positions.
struct Span {
  std::int64_t begin;
  std::int64_t count;
};

inline std::int64_t block_count(std::int64_t positions, std::int64_t block) { return (positions + block - 1) / block; }
inline Span block_at(std::int64_t positions, std::int64_t block, std::int64_t index) {
  return {index * block, std::min(block, positions - index * block)};
}

/// How many keys of a block this query sees.
inline std::int64_t keys_seen(const AttentionProblem& problem, std::int64_t query, const Span& keys) {
  return problem.causal ? std::clamp<std::int64_t>(query + 1 - keys.begin, 0, keys.count) : keys.count;
}
/// The keys of a block that some of these queries see.
inline Span keys_seen(const AttentionProblem& problem, const Span& queries, const Span& keys) {
  return {keys.begin, keys_seen(problem, queries.begin + queries.count - 1, keys)};
}

/// A head of an operand: its matrix.
struct HeadMatrix {
  const std::byte* data = nullptr;
  const AttentionOperand* operand = nullptr;

  /// `matrix` counts over the axes before the heads.
  static HeadMatrix of(const AttentionProblem& problem, const AttentionOperand& operand, const void* data,
                       std::int64_t matrix, std::int64_t head);
};

/// Rows of a matrix as the type that is computed in, one below the other in memory: in place where they lie so, else in
/// scratch memory for `most` elements.
template <class T>
class Rows {
 public:
  explicit Rows(std::int64_t most) : most_(most) {}
  GemmOperand read(const HeadMatrix& matrix, const Span& rows, std::int64_t columns);

 private:
  std::int64_t most_;
  std::optional<Scratch> copy_;
};

/// What is added to the scores of one query and some keys, or null when there is no mask. `room`, for kKeyBlock of
/// them, is used where it does not lie as scale_scores wants it.
template <class T>
const T* added_to_scores(const HeadMatrix& mask, std::int64_t query, const Span& keys, T* room);

/// The caller holds OneThread.
template <class T>
void multiply_blocks(std::int64_t m, std::int64_t n, std::int64_t k, const GemmOperand& a, const GemmOperand& b, T* c,
                     std::int64_t ldc, GemmResult result);

inline GemmOperand transposed(const GemmOperand& x) { return {x.data, x.ld, !x.transposed}; }

/// Rows of results in the stored type.
template <class T>
void store_row(const T* from, DType dtype, void* to, std::int64_t offset, std::int64_t count);

/// One number of a column such as log_sum_exp.
template <class T>
T number_at(const HeadMatrix& matrix, std::int64_t row) {
  return reinterpret_cast<const T*>(matrix.data)[row * matrix.operand->row];
}

/// Calls f.operator()<T>() with the type that is computed in: float for 16-bit floats.
template <class F>
void dispatch_computed(DType dtype, F&& f) {
  if (dtype == DType::float64) {
    std::forward<F>(f).template operator()<double>();
  } else {
    std::forward<F>(f).template operator()<float>();
  }
}

}  // namespace lento::cpu
