// Each block of queries goes over the blocks of keys from the first to the last. The largest score so far, the sum of
// the weights and the sum of the weighted values are kept for each query; when a larger score comes, both sums are
// brought to it.
#include "backends/cpu/attention/blocks.h"
#include "backends/cpu/attention/rows.h"
#include "backends/cpu/libraries/library_calls.h"
#include "backends/cpu/threads.h"
#include "backends/reference/blas_memory.h"

#include <concepts>
#include <limits>
#include <optional>

namespace lento::cpu {

namespace {

template <class T>
constexpr T kNothing = -std::numeric_limits<T>::infinity();

/// A block of queries on its way over the keys.
template <class T>
class QueryBlock {
 public:
  explicit QueryBlock(const AttentionProblem& problem)
      : problem_(problem),
        query_(kQueryBlock * problem.features),
        key_(kKeyBlock * problem.features),
        value_(kKeyBlock * problem.values),
        scores_(kQueryBlock * kKeyBlock * sizeof(T)),
        sums_(static_cast<std::size_t>(kQueryBlock * problem.values) * sizeof(T)) {}

  void run(const AttentionMemory& memory, std::int64_t matrix, std::int64_t head, const Span& queries) {
    const std::int64_t key_head = head / (problem_.heads / problem_.key_heads);
    const auto of = [&](const AttentionOperand& operand, const void* data, std::int64_t h) {
      return HeadMatrix::of(problem_, operand, data, matrix, h);
    };
    const HeadMatrix key = of(problem_.key, memory.key, key_head);
    const HeadMatrix value = of(problem_.value, memory.value, key_head);
    const HeadMatrix mask = problem_.mask ? of(*problem_.mask, memory.mask, head) : HeadMatrix{};
    const GemmOperand q = query_.read(of(problem_.query, memory.query, head), queries, problem_.features);
    std::fill_n(largest_, queries.count, kNothing<T>);
    std::fill_n(totals_, queries.count, T(0));
    const std::int64_t row = (matrix * problem_.heads + head) * problem_.queries + queries.begin;
    const bool in_place = problem_.query.dtype == dtype_of<T>() && memory.output != nullptr;
    T* const sums = in_place ? static_cast<T*>(memory.output) + row * problem_.values : sums_.template as<T>();
    if (problem_.keys == 0) std::fill_n(sums, queries.count * problem_.values, T(0));
    for (std::int64_t j = 0; j < block_count(problem_.keys, kKeyBlock); ++j) {
      const Span keys = keys_seen(problem_, queries, block_at(problem_.keys, kKeyBlock, j));
      if (keys.count == 0) break;
      T* const scores = scores_.template as<T>();
      multiply_blocks(queries.count, keys.count, problem_.features, q,
                      transposed(key_.read(key, keys, problem_.features)), scores, kKeyBlock, GemmResult::replaced);
      make_weights(mask, queries, keys, static_cast<T>(memory.scale), j == 0 ? nullptr : sums);
      multiply_blocks(queries.count, problem_.values, keys.count, GemmOperand{scores, kKeyBlock, false},
                      value_.read(value, keys, problem_.values), sums, problem_.values,
                      j == 0 ? GemmResult::replaced : GemmResult::added);
    }
    store(memory, row, queries.count, sums);
  }

 private:
  /// Makes weights of the block's scores, relative to the largest scores so far. `sums` is null in the first block.
  void make_weights(const HeadMatrix& mask, const Span& queries, const Span& keys, T scale, T* sums) {
    for (std::int64_t i = 0; i < queries.count; ++i) {
      const std::int64_t query = queries.begin + i;
      T* const row = scores_.template as<T>() + i * kKeyBlock;
      const std::int64_t seen = keys_seen(problem_, query, keys);
      const T largest_here = scale_scores(row, added_to_scores(mask, query, {keys.begin, seen}, mask_), seen, scale);
      const T before = largest_[i];
      const T largest = largest_here > before ? largest_here : before;
      const T shift = largest == kNothing<T> ? T(0) : largest;
      added_totals_[i] = exp_differences(row, seen, shift);
      std::fill(row + seen, row + keys.count, T(0));
      largest_[i] = largest;
      kept_[i] = before - shift;
    }
    if (sums == nullptr) {
      std::copy_n(added_totals_, queries.count, totals_);
      return;
    }
    exp_differences(kept_, queries.count, T(0));
    for (std::int64_t i = 0; i < queries.count; ++i) {
      totals_[i] = totals_[i] * kept_[i] + added_totals_[i];
      if (kept_[i] != 1) scale_row(sums + i * problem_.values, problem_.values, kept_[i]);
    }
  }

  void store(const AttentionMemory& memory, std::int64_t row, std::int64_t count, T* all_sums) {
    const DType dtype = problem_.query.dtype;
    if (memory.log_sum_exp != nullptr)
      add_logarithms(totals_, largest_, count, static_cast<T*>(memory.log_sum_exp) + row);
    if (memory.output == nullptr) return;
    for (std::int64_t i = 0; i < count; ++i) {
      T* const sums = all_sums + i * problem_.values;
      // Of a query that sees something the sum is at least 1, or nan, and then so is the result.
      const bool sees = totals_[i] != 0;
      if (sees) {
        divide_row(sums, problem_.values, totals_[i]);
      } else {
        std::fill_n(sums, problem_.values, T(0));
      }
    }
    store_row(all_sums, dtype, memory.output, row * problem_.values, count * problem_.values);
  }

  const AttentionProblem& problem_;
  Rows<T> query_, key_, value_;
  Scratch scores_, sums_;
  T largest_[kQueryBlock];
  T totals_[kQueryBlock];
  T added_totals_[kQueryBlock];
  T kept_[kQueryBlock] = {};  // what the sums so far are multiplied by
  T mask_[kKeyBlock] = {};
};

}  // namespace

void run_attention(const AttentionProblem& problem, const AttentionMemory& memory) {
  const std::int64_t blocks = block_count(problem.queries, kQueryBlock);
  const std::int64_t tasks = problem.batch_count() * problem.heads * blocks;
  if (tasks == 0) return;
  dispatch_computed(problem.query.dtype, [&]<class T>() {
    parallel_for(tasks, 1, [&](std::int64_t begin, std::int64_t end) {
      const OneThread one;
      std::optional<reference::BlasCall> call;
      if (std::same_as<T, double>) call.emplace();  // once for all products
      QueryBlock<T> block(problem);
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t head = task / blocks;
        // The last block first: under a causal mask it has most to do.
        const std::int64_t index = blocks - 1 - task % blocks;
        block.run(memory, head / problem.heads, head % problem.heads, block_at(problem.queries, kQueryBlock, index));
      }
    });
  });
}

}  // namespace lento::cpu
