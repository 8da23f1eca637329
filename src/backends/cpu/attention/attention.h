// Attention without its scores in memory: blocks of queries meet blocks of keys, a product gives their scores, which
// become weights while they are in the cache. How work is cut depends on shapes alone, and every sum has one order, so
// that bits depend neither on threads nor on what else runs.
#pragma once

#include <lento/dtype.h>
#include <lento/ints.h>

#include <cstdint>
#include <optional>

namespace lento::cpu {

/// An operand as matrices, one for each of its heads: distances in elements, 0 along axes it is repeated over.
struct AttentionOperand {
  DType dtype{};
  Ints batch;  // one per axis before the heads
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

struct AttentionProblem {
  Ints batch;  // the axes before the heads
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t features = 0;
  std::int64_t values = 0;
  bool causal = false;
  AttentionOperand query, key, value;
  std::optional<AttentionOperand> mask;
  AttentionOperand grad_output, log_sum_exp, shift;  // of the gradient alone

  /// False for extents that libraries cannot count.
  bool fits() const;
  std::int64_t batch_count() const { return element_count(batch.span()); }
  /// Multiplications of all blocks that are computed, for `products` matrix products over the features and the values.
  double multiplications(double of_features, double of_values) const;
};

/// Where the operands begin, and the results, which lie row by row. Those that nobody wants are null.
struct AttentionMemory {
  const void* query;
  const void* key;
  const void* value;
  const void* mask;
  double scale;
  void* output;
  void* log_sum_exp;
};

struct AttentionGradMemory {
  const void* query;
  const void* key;
  const void* value;
  const void* grad_output;
  const void* log_sum_exp;
  const void* shift;
  const void* mask;
  double scale;
  void* query_grad;
  void* key_grad;
  void* value_grad;
};

void run_attention(const AttentionProblem& problem, const AttentionMemory& memory);
void run_attention_grad(const AttentionProblem& problem, const AttentionGradMemory& memory);

}  // namespace lento::cpu
