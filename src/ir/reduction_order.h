// The order in which a reduction combines its elements: the specification that every backend reproduces bit for bit.
//
// Floating point addition is not associative, so a result is only the same everywhere if the order is. It depends on
// one thing, the number of elements `count`, and on nothing else: not on threads, vector width, fusion or the other
// axes.
//
//   1. Numbering. The reduced elements of one result are numbered 0 … count - 1 in row-major order over the axes that
//      are reduced.
//   2. Blocks. Elements 4096 b … 4096 b + 4095 are block b; the last block may be shorter.
//   3. Lanes. Element i of a block belongs to lane i mod 64. A lane combines its elements from left to right, starting
//      with the first one itself.
//   4. The 64 lanes of a block are combined in six halvings: lane i with lane i + 32 for i < 32, then with lane i + 16,
//      i + 8, + 4, + 2, + 1. Lane 0 then holds the block's value.
//   5. Blocks are combined by a binary tree over their numbers: in each round, neighbours 2 j and 2 j + 1 are combined
//      into j, and an odd one at the end goes into the next round as it is. One is left.
//
// The left operand of each combination is the one with the lower number. A lane or block that does not exist takes no
// part. A vectorising backend may fill missing lanes with an identity where one is exact: -0.0 for sums, 1 for
// products of real numbers, ∓infinity for max and min (complex products have none).
// Sums and products of float16 and bfloat16 combine float32 values and round once, at the end. Which nan is returned,
// when there are several, is not specified.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lento {

inline constexpr std::int64_t kReductionBlock = 4096;
inline constexpr std::int64_t kReductionLanes = 64;

/// Combines load(0) … load(count - 1) in the order above. `count` is at least 1.
template <class Load, class Combine>
auto reduce_in_order(std::int64_t count, Load load, Combine combine) {
  using A = decltype(load(count));

  const auto reduce_block = [&](std::int64_t begin, std::int64_t end) {
    A lanes[kReductionLanes] = {};
    for (std::int64_t i = begin; i < end; ++i) {
      A& lane = lanes[(i - begin) % kReductionLanes];
      lane = i - begin < kReductionLanes ? load(i) : combine(lane, load(i));
    }
    std::int64_t used = std::min(end - begin, kReductionLanes);
    for (std::int64_t half = kReductionLanes / 2; half > 0; half /= 2) {
      for (std::int64_t i = 0; i + half < used; ++i) lanes[i] = combine(lanes[i], lanes[i + half]);
      used = std::min(used, half);
    }
    return lanes[0];
  };

  std::vector<A> blocks;
  for (std::int64_t begin = 0; begin < count; begin += kReductionBlock) {
    blocks.push_back(reduce_block(begin, std::min(begin + kReductionBlock, count)));
  }
  while (blocks.size() > 1) {
    const std::size_t pairs = blocks.size() / 2;
    for (std::size_t j = 0; j < pairs; ++j) blocks[j] = combine(A(blocks[2 * j]), A(blocks[2 * j + 1]));
    if (blocks.size() % 2 == 1) blocks[pairs] = blocks.back();
    blocks.resize((blocks.size() + 1) / 2);
  }
  return A(blocks[0]);
}

}  // namespace lento
