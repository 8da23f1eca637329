// The gradient: each task has the heads that share one of keys and some blocks of its keys. The gradients of a block of
// keys are sums over the blocks of queries, from the first to the last, of one head after the other; those of the
// queries are sums over the blocks of keys. Where there are few heads the keys are cut into parts, and the parts' sums
// for the queries are added in their order. How many parts there are depends on shapes alone.
#include "backends/cpu/attention/blocks.h"
#include "backends/cpu/attention/rows.h"
#include "backends/cpu/libraries/library_calls.h"
#include "backends/cpu/threads.h"
#include "backends/reference/blas_memory.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <optional>

namespace lento::cpu {

namespace {

/// Enough tasks for some processors to have several each.
constexpr std::int64_t kTasks = 16;

/// How the work is cut.
struct Cut {
  std::int64_t key_blocks;
  std::int64_t parts;
  std::int64_t part_blocks;

  explicit Cut(const AttentionProblem& problem) : key_blocks(block_count(problem.keys, kKeyBlock)) {
    const std::int64_t matrices = problem.batch_count() * problem.key_heads;
    const std::int64_t wanted =
        std::clamp<std::int64_t>(block_count(kTasks, matrices), 1, std::max<std::int64_t>(key_blocks, 1));
    part_blocks = std::max<std::int64_t>(block_count(key_blocks, wanted), 1);
    parts = std::max<std::int64_t>(block_count(key_blocks, part_blocks), 1);
  }
};

template <class T>
class KeyBlocks {
 public:
  /// `sums` has room for the gradients of all queries, once per part.
  KeyBlocks(const AttentionProblem& problem, const AttentionGradMemory& memory, T* sums)
      : problem_(problem),
        memory_(memory),
        sums_(sums),
        query_(kQueryBlock * problem.features),
        key_(kKeyBlock * problem.features),
        value_(kKeyBlock * problem.values),
        grad_(kQueryBlock * problem.values),
        weights_(kQueryBlock * kKeyBlock * sizeof(T)),
        grads_(kQueryBlock * kKeyBlock * sizeof(T)),
        by_key_(static_cast<std::size_t>(kKeyBlock * problem.features) * sizeof(T)),
        by_value_(static_cast<std::size_t>(kKeyBlock * problem.values) * sizeof(T)) {}

  void run(std::int64_t matrix, std::int64_t key_head, std::int64_t part, const Span& blocks) {
    const std::int64_t group = problem_.heads / problem_.key_heads;
    const std::int64_t all = problem_.batch_count() * problem_.heads;
    const std::int64_t first = matrix * problem_.heads + key_head * group;
    const std::int64_t size = problem_.queries * problem_.features;
    if (sums_ != nullptr) std::fill_n(sums_ + (part * all + first) * size, group * size, T(0));
    const HeadMatrix key = of(problem_.key, memory_.key, matrix, key_head);
    const HeadMatrix value = of(problem_.value, memory_.value, matrix, key_head);
    for (std::int64_t j = blocks.begin; j < blocks.begin + blocks.count; ++j) {
      const Span keys = block_at(problem_.keys, kKeyBlock, j);
      k_ = key_.read(key, keys, problem_.features);
      v_ = value_.read(value, keys, problem_.values);
      std::fill_n(by_key_.template as<T>(), keys.count * problem_.features, T(0));
      std::fill_n(by_value_.template as<T>(), keys.count * problem_.values, T(0));
      for (std::int64_t g = 0; g < group; ++g) {
        T* const by_query = sums_ == nullptr ? nullptr : sums_ + (part * all + first + g) * size;
        add_head(matrix, key_head * group + g, keys, by_query);
      }
      const std::int64_t row = (matrix * problem_.key_heads + key_head) * problem_.keys + keys.begin;
      store(by_key_.template as<T>(), memory_.key_grad, row, keys.count, problem_.features);
      store(by_value_.template as<T>(), memory_.value_grad, row, keys.count, problem_.values);
    }
  }

 private:
  HeadMatrix of(const AttentionOperand& operand, const void* data, std::int64_t matrix, std::int64_t head) const {
    return HeadMatrix::of(problem_, operand, data, matrix, head);
  }

  /// What all queries of a head add to the gradients of a block of keys, and get from it.
  void add_head(std::int64_t matrix, std::int64_t head, const Span& block, T* by_query) {
    const HeadMatrix query = of(problem_.query, memory_.query, matrix, head);
    const HeadMatrix grad = of(problem_.grad_output, memory_.grad_output, matrix, head);
    const HeadMatrix log_sum_exp = of(problem_.log_sum_exp, memory_.log_sum_exp, matrix, head);
    const HeadMatrix shift = of(problem_.shift, memory_.shift, matrix, head);
    const HeadMatrix mask = problem_.mask ? of(*problem_.mask, memory_.mask, matrix, head) : HeadMatrix{};
    T* const weights = weights_.template as<T>();
    T* const grads = grads_.template as<T>();
    const auto scale = static_cast<T>(memory_.scale);
    for (std::int64_t i = 0; i < block_count(problem_.queries, kQueryBlock); ++i) {
      const Span queries = block_at(problem_.queries, kQueryBlock, i);
      const Span keys = keys_seen(problem_, queries, block);
      if (keys.count == 0) continue;
      const GemmOperand q = query_.read(query, queries, problem_.features);
      const GemmOperand g = grad_.read(grad, queries, problem_.values);
      multiply_blocks(queries.count, keys.count, problem_.features, q, transposed(k_), weights, kKeyBlock,
                      GemmResult::replaced);
      multiply_blocks(queries.count, keys.count, problem_.values, g, transposed(v_), grads, kKeyBlock,
                      GemmResult::replaced);
      for (std::int64_t r = 0; r < queries.count; ++r) {
        const std::int64_t position = queries.begin + r;
        const std::int64_t seen = keys_seen(problem_, position, keys);
        T* const w = weights + r * kKeyBlock;
        T* const d = grads + r * kKeyBlock;
        scale_scores(w, added_to_scores(mask, position, {keys.begin, seen}, mask_), seen, scale);
        const T logarithm = number_at<T>(log_sum_exp, position);
        exp_differences(w, seen, logarithm == -std::numeric_limits<T>::infinity() ? T(0) : logarithm);
        weigh_grads(w, d, seen, number_at<T>(shift, position), scale);
        std::fill(w + seen, w + keys.count, T(0));
        std::fill(d + seen, d + keys.count, T(0));
      }
      const GemmOperand w{weights, kKeyBlock, false};
      const GemmOperand d{grads, kKeyBlock, false};
      if (memory_.value_grad != nullptr) {
        multiply_blocks(keys.count, problem_.values, queries.count, transposed(w), g, by_value_.template as<T>(),
                        problem_.values, GemmResult::added);
      }
      if (memory_.key_grad != nullptr) {
        multiply_blocks(keys.count, problem_.features, queries.count, transposed(d), q, by_key_.template as<T>(),
                        problem_.features, GemmResult::added);
      }
      if (by_query != nullptr) {
        multiply_blocks(queries.count, problem_.features, keys.count, d, k_,
                        by_query + queries.begin * problem_.features, problem_.features, GemmResult::added);
      }
    }
  }

  void store(const T* from, void* to, std::int64_t row, std::int64_t rows, std::int64_t columns) const {
    if (to != nullptr) store_row(from, problem_.query.dtype, to, row * columns, rows * columns);
  }

  const AttentionProblem& problem_;
  const AttentionGradMemory& memory_;
  T* sums_;
  Rows<T> query_, key_, value_, grad_;
  Scratch weights_, grads_, by_key_, by_value_;
  GemmOperand k_{};
  GemmOperand v_{};
  T mask_[kKeyBlock] = {};
};

/// Adds the parts' sums in their order.
template <class T>
void join_parts(T* sums, std::int64_t parts, std::int64_t size, DType dtype, void* result) {
  constexpr std::int64_t kPiece = 4096;
  parallel_for(block_count(size, kPiece), 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Span piece = block_at(size, kPiece, i);
      for (std::int64_t part = 1; part < parts; ++part)
        add_row(sums + piece.begin, sums + part * size + piece.begin, piece.count);
      store_row(sums + piece.begin, dtype, result, piece.begin, piece.count);
    }
  });
}

}  // namespace

void run_attention_grad(const AttentionProblem& problem, const AttentionGradMemory& memory) {
  const std::int64_t matrices = problem.batch_count() * problem.key_heads;
  if (matrices == 0) return;
  const Cut cut(problem);
  const std::int64_t size = problem.batch_count() * problem.heads * problem.queries * problem.features;
  dispatch_computed(problem.query.dtype, [&]<class T>() {
    const bool in_place = cut.parts == 1 && problem.query.dtype == dtype_of<T>();
    std::optional<Scratch> room;
    T* sums = nullptr;
    if (memory.query_grad != nullptr) {
      if (!in_place) room.emplace(static_cast<std::size_t>(cut.parts * size) * sizeof(T));
      sums = in_place ? static_cast<T*>(memory.query_grad) : room->template as<T>();
    }
    parallel_for(matrices * cut.parts, 1, [&](std::int64_t begin, std::int64_t end) {
      const OneThread one;
      std::optional<reference::BlasCall> call;
      if (std::same_as<T, double>) call.emplace();  // once for all products
      KeyBlocks<T> blocks(problem, memory, sums);
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t matrix = task / cut.parts;
        const std::int64_t part = task % cut.parts;
        const std::int64_t first = part * cut.part_blocks;
        blocks.run(matrix / problem.key_heads, matrix % problem.key_heads, part,
                   {first, std::min(cut.part_blocks, cut.key_blocks - first)});
      }
    });
    if (room) join_parts(sums, cut.parts, size, problem.query.dtype, memory.query_grad);
  });
}

}  // namespace lento::cpu
