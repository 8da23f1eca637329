#include "backends/cpu/native/indexed_rows.h"

#include "backend/node_call.h"
#include "backends/cpu/native/elements.h"
#include "backends/cpu/threads.h"
#include "backends/reference/array.h"
#include "backends/reference/indices.h"
#include "base/dispatch.h"

#include <algorithm>
#include <atomic>
#include <concepts>

namespace lento::cpu {

namespace {

/// An index counted from the front.
template <class I>
[[gnu::always_inline]] inline std::int64_t resolved(I index, std::int64_t extent) {
  const auto k = static_cast<std::int64_t>(index);
  return std::signed_integral<I> && k < 0 ? k + extent : k;
}
/// Negative when it is out of range: when it is negative, or not less than the extent.
[[gnu::always_inline]] inline std::int64_t wrong_if_negative(std::int64_t k, std::int64_t extent) {
  return k | static_cast<std::int64_t>(static_cast<std::uint64_t>(extent - 1) - static_cast<std::uint64_t>(k));
}

/// Adds the offset of each index. Returns a negative number when one is out of range.
template <class I>
[[gnu::always_inline]] inline std::int64_t add_offsets_of(const I* indices, std::int64_t stride, std::int64_t count,
                                                          std::int64_t extent, std::int64_t moves,
                                                          std::int64_t* offsets) {
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t k = resolved(indices[i * stride], extent);
    wrong |= wrong_if_negative(k, extent);
    offsets[i] += static_cast<std::int64_t>(static_cast<std::uint64_t>(k) * static_cast<std::uint64_t>(moves));
  }
  return wrong;
}

/// The same for the indices alone.
template <class I>
[[gnu::always_inline]] inline std::int64_t look_at_all_of(const I* indices, std::int64_t count, std::int64_t extent) {
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) wrong |= wrong_if_negative(resolved(indices[i], extent), extent);
  return wrong;
}

template <class I>
std::int64_t add_offsets(const I* indices, std::int64_t stride, std::int64_t count, std::int64_t extent,
                         std::int64_t moves, std::int64_t* offsets) {
  if (stride != 1) return add_offsets_of(indices, stride, count, extent, moves, offsets);
  return moves == 1 ? add_offsets_of(indices, 1, count, extent, 1, offsets)
                    : add_offsets_of(indices, 1, count, extent, moves, offsets);
}

// Most indices have these types and lie one behind the other: 64-bit comparisons want more than the least processor.
LENTO_FOR_EVERY_PROCESSOR std::int64_t add_neighbours(const std::int64_t* indices, std::int64_t count,
                                                      std::int64_t extent, std::int64_t* offsets) {
  return add_offsets_of(indices, 1, count, extent, 1, offsets);
}
LENTO_FOR_EVERY_PROCESSOR std::int64_t add_neighbours(const std::int32_t* indices, std::int64_t count,
                                                      std::int64_t extent, std::int64_t* offsets) {
  return add_offsets_of(indices, 1, count, extent, 1, offsets);
}
LENTO_FOR_EVERY_PROCESSOR std::int64_t look_at_all(const std::int64_t* indices, std::int64_t count,
                                                   std::int64_t extent) {
  return look_at_all_of(indices, count, extent);
}
template <class I>
std::int64_t look_at_all(const I* indices, std::int64_t count, std::int64_t extent) {
  return look_at_all_of(indices, count, extent);
}

std::int64_t add_offsets(const void* indices, DType dtype, std::int64_t at, std::int64_t stride, std::int64_t count,
                         std::int64_t extent, std::int64_t moves, std::int64_t* offsets) {
  std::int64_t wrong = 0;
  dispatch(dtype, [&]<class I>() {
    if constexpr (std::integral<I> && !std::same_as<I, bool>) {
      const I* const first = static_cast<const I*>(indices) + at;
      if constexpr (std::same_as<I, std::int64_t> || std::same_as<I, std::int32_t>) {
        if (stride == 1 && moves == 1) {
          wrong = add_neighbours(first, count, extent, offsets);
          return;
        }
      }
      wrong = add_offsets(first, stride, count, extent, moves, offsets);
    }
  });
  return wrong;
}

}  // namespace

void IndexedRows::add_term(const Meta& x, const Meta& indices, std::size_t operand, std::int64_t axis, Ints strides) {
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t moves = reference::row_major_strides(x.shape)[at];
  terms_.push_back({operand, indices.dtype, indices.shape, axis, x.shape[at], moves, std::move(strides)});
}

void IndexedRows::finish() {
  rows_ = element_count(sizes_);
  const auto merges = [this](std::size_t d) {
    const auto fits = [&](const Ints& strides) { return strides[d] == strides[d + 1] * sizes_[d + 1]; };
    return fits(base_strides_) && std::ranges::all_of(terms_, [&](const Term& term) { return fits(term.strides); });
  };
  const auto drop = [this](std::size_t d) {
    sizes_.erase(d);
    base_strides_.erase(d);
    for (Term& term : terms_) term.strides.erase(d);
  };
  for (std::size_t d = sizes_.size(); d-- > 0;) {
    if (sizes_[d] == 1) drop(d);
  }
  for (std::size_t d = sizes_.size(); d-- > 1;) {
    if (!merges(d - 1)) continue;
    sizes_[d] *= sizes_[d - 1];
    drop(d - 1);
  }
}

IndexedRows IndexedRows::of_slices(const Meta& x, const Meta& indices, std::size_t operand, std::int64_t axis) {
  const reference::AxisView view(x.shape, axis);
  IndexedRows indexed;
  indexed.row_size_ = view.inner;
  indexed.sizes_ = {view.outer, element_count(indices.shape)};
  indexed.base_strides_ = {view.extent * view.inner, 0};
  indexed.add_term(x, indices, operand, axis, {0, 1});
  indexed.finish();
  return indexed;
}

IndexedRows IndexedRows::along_axis(const Meta& x, const Meta& indices, std::size_t operand, std::int64_t axis) {
  IndexedRows indexed;
  indexed.sizes_ = indices.shape;
  indexed.base_strides_ = reference::row_major_strides(x.shape);
  indexed.base_strides_[static_cast<std::size_t>(axis)] = 0;
  indexed.add_term(x, indices, operand, axis, reference::row_major_strides(indices.shape));
  indexed.finish();
  return indexed;
}

IndexedRows IndexedRows::of_rows(const Meta& x, const std::vector<Meta>& indices, std::size_t first,
                                 const Shape& common) {
  IndexedRows indexed;
  indexed.row_size_ = element_count(x.shape.span().subspan(indices.size()));
  indexed.sizes_ = common;
  indexed.base_strides_.resize(common.size(), 0);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    indexed.add_term(x, indices[i], first + i, static_cast<std::int64_t>(i),
                     reference::broadcast_strides(indices[i].shape, common));
  }
  indexed.finish();
  return indexed;
}

bool IndexedRows::resolve(const CallArguments& arguments, std::int64_t begin, std::int64_t end,
                          std::int64_t* offsets) const {
  const std::size_t rank = sizes_.size();
  const std::int64_t inner = rank == 0 ? 1 : sizes_.back();
  const std::int64_t inner_base = rank == 0 ? 0 : base_strides_.back();
  std::int64_t wrong = 0;
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t column = at % inner;
    const std::int64_t count = std::min(inner - column, end - at);
    const auto walk = [&](const Ints& strides) {
      std::int64_t offset = rank == 0 ? 0 : column * strides.back();
      std::int64_t rest = at / inner;
      for (std::size_t d = rank; d-- > 1;) {
        offset += rest % sizes_[d - 1] * strides[d - 1];
        rest /= sizes_[d - 1];
      }
      return offset;
    };
    const std::int64_t base = walk(base_strides_);
    if (inner_base == 0) {
      std::fill_n(offsets, count, base);
    } else {
      for (std::int64_t i = 0; i < count; ++i) offsets[i] = base + i * inner_base;
    }
    for (const Term& term : terms_) {
      wrong |= add_offsets(arguments.operands[term.operand], term.dtype, walk(term.strides),
                           rank == 0 ? 0 : term.strides.back(), count, term.extent, term.moves, offsets);
    }
    offsets += count;
    at += count;
  }
  return wrong >= 0;
}

void IndexedRows::raise(Op op, const CallArguments& arguments) const {
  const NodeContext context(op);
  for (const Term& term : terms_) {
    const reference::Array indices(arguments.operands[term.operand], term.dtype, term.shape);
    reference::resolved_indices(indices, term.axis, term.extent);
  }
}

void IndexedRows::check(Op op, const CallArguments& arguments) const {
  if (rows_ == 0) return;
  std::atomic<bool> wrong{false};
  for (const Term& term : terms_) {
    parallel_for(element_count(term.shape), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t found = 0;
      dispatch(term.dtype, [&]<class I>() {
        if constexpr (std::integral<I> && !std::same_as<I, bool>)
          found =
              look_at_all(static_cast<const I*>(arguments.operands[term.operand]) + begin, end - begin, term.extent);
      });
      if (found < 0) wrong.store(true, std::memory_order_relaxed);
    });
  }
  if (wrong) raise(op, arguments);
}

}  // namespace lento::cpu
