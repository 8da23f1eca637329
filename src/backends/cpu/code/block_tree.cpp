#include "backends/cpu/code/block_tree.h"

#include "backends/reference/arithmetic.h"
#include "base/dispatch.h"
#include "ir/op_reduction.gen.h"

#include <cstdint>
#include <cstring>

namespace lento::cpu {

namespace {

constexpr std::size_t kMaxLevels = 40;  // 2^40 blocks of 4096 elements: more than memory can hold

/// Where the blocks of a long reduction meet: a binary counter. Level l holds the combination of 2^l neighbouring
/// blocks while bit l of `count` is set. What is left at the end is combined from the right, so that the whole is the
/// tree that pairs neighbours round by round.
struct BlockTree {
  std::uint64_t count;
  std::uint64_t unused;
  // Followed by kMaxLevels rows of `width` elements.
  std::byte* level(std::size_t l, std::size_t row_bytes) {
    return reinterpret_cast<std::byte*>(this + 1) + l * row_bytes;
  }
};

template <class T, class Combine>
void combine_into(T* right, const void* left, std::int64_t width) {
  const T* values = static_cast<const T*>(left);
  for (std::int64_t i = 0; i < width; ++i) right[i] = Combine{}(values[i], right[i]);
}

template <class T, class Combine>
void push_block(BlockTree* tree, const void* values, std::int64_t width) {
  const std::size_t row_bytes = static_cast<std::size_t>(width) * sizeof(T);
  std::size_t l = 0;
  // Carries go up: the row is combined where it comes to rest.
  while ((tree->count >> l & 1) != 0) ++l;
  T* row = reinterpret_cast<T*>(tree->level(l, row_bytes));
  std::memcpy(static_cast<void*>(row), values, row_bytes);
  for (std::size_t lower = 0; lower < l; ++lower) combine_into<T, Combine>(row, tree->level(lower, row_bytes), width);
  ++tree->count;
}

template <class T, class Combine>
void finish_blocks(BlockTree* tree, void* values, std::int64_t width) {
  const std::size_t row_bytes = static_cast<std::size_t>(width) * sizeof(T);
  T* result = static_cast<T*>(values);
  bool first = true;
  for (std::size_t l = 0; l < kMaxLevels; ++l) {
    if ((tree->count >> l & 1) == 0) continue;
    if (first) {
      std::memcpy(values, tree->level(l, row_bytes), row_bytes);
    } else {
      combine_into<T, Combine>(result, tree->level(l, row_bytes), width);
    }
    first = false;
  }
  tree->count = 0;
}

/// The function for a reduction with this accumulator: pushing a block, or finishing.
void* find_tree_function(Op op, DType dtype, bool push) {
  return dispatch(dtype, [&]<class T>() -> void* {
    const auto with = [&]<class Combine>(Combine) {
      return push ? reinterpret_cast<void*>(push_block<T, Combine>)
                  : reinterpret_cast<void*>(finish_blocks<T, Combine>);
    };
    if constexpr (!reference::Half<T>) {
      switch (op) {
        case op::reduce_sum:
          return with(reference::Add{});
        case op::reduce_prod:
          return with(reference::Multiply{});
        case op::reduce_max:
        case op::reduce_any:
          return with(reference::Maximum{});
        case op::reduce_min:
        case op::reduce_all:
          return with(reference::Minimum{});
        default:
          break;
      }
    }
    return nullptr;
  });
}

}  // namespace

std::size_t block_tree_bytes(std::size_t row_bytes) { return sizeof(BlockTree) + kMaxLevels * row_bytes; }

void* push_block_function(Op reduction, DType accumulator) { return find_tree_function(reduction, accumulator, true); }
void* finish_blocks_function(Op reduction, DType accumulator) {
  return find_tree_function(reduction, accumulator, false);
}

}  // namespace lento::cpu
