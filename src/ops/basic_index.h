// x[items] and x[items] = value for an index of integers, slices, an ellipsis and new axes alone, which is what
// programs write most of the time. It is recorded without the detours that index tensors need. What is unusual is left
// to subscript.cpp: errors, operands that are not there yet, and calls that somebody watches.
#pragma once

#include <lento/operand.h>
#include <lento/tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lento {

struct BasicItem {
  enum class Kind : std::uint8_t { position, slice, ellipsis, new_axis };

  // Nothing has a value from the start: an index has room for more items than it has, and is made for every op.
  Kind kind;
  bool has_start;  // of a slice; true for a position
  bool has_stop;
  std::int64_t start;  // or the position
  std::int64_t stop;
  std::int64_t step;
};
inline constexpr std::size_t kMostBasicItems = 8;

/// The selected part; an undefined tensor when get_item has to look closer, and then nothing was recorded that anybody
/// holds. Needs a CallScope. Never waits.
Tensor get_basic(const Tensor& x, std::span<const BasicItem> items);

/// `x` with the selected part replaced; an undefined tensor when set_item has to look closer.
Tensor set_basic(const Tensor& x, std::span<const BasicItem> items, const Operand& value);

}  // namespace lento
