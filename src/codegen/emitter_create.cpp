// What is made of positions alone: evenly spaced numbers, and random bits.
#include "codegen/emitter.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lento::codegen {

using llvm::FixedVectorType;
using llvm::Value;

namespace {

// Philox4x32-10 of backends/reference/philox.h, two 64-bit lanes a block. A lane holds one of the two words that are
// multiplied next, and beside it the word that the upper half of its product is mixed with. In even rounds these are
// (c0, c3) and (c2, c1), in odd ones (c2, c1) and (c0, c3): so products stay in the lane they were made in, and only
// their lower halves change places. Only the lower halves of lanes count; the upper ones hold anything.
constexpr unsigned kRounds = 10;
constexpr std::uint64_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
constexpr std::uint64_t kRaises[] = {0x9E3779B9, 0xBB67AE85};
constexpr std::uint64_t kLow = 0xffffffff;

unsigned lanes_of(Value* vector) { return llvm::cast<FixedVectorType>(vector->getType())->getNumElements(); }

/// One of two values in each lane, by turns.
Value* by_turns(llvm::IRBuilderBase& b, unsigned lanes, std::uint64_t even, std::uint64_t odd) {
  std::vector<llvm::Constant*> words;
  for (unsigned i = 0; i < lanes; ++i) words.push_back(b.getInt64(i % 2 == 0 ? even : odd));
  return llvm::ConstantVector::get(words);
}

/// Lane order(i) of a vector in lane i, for `count` lanes.
template <class Order>
Value* shuffled(llvm::IRBuilderBase& b, Value* vector, unsigned count, Order order) {
  std::vector<int> lanes(count);
  for (unsigned i = 0; i < count; ++i) lanes[i] = static_cast<int>(order(i));
  return b.CreateShuffleVector(vector, lanes);
}

Value* swapped(llvm::IRBuilderBase& b, Value* vector) {
  return shuffled(b, vector, lanes_of(vector), [](unsigned i) { return i ^ 1U; });
}

/// What goes on between rounds.
struct Words {
  Value* multiplied;
  Value* mixed;
};

/// Where `turn` is 0, an even round.
Words round(llvm::IRBuilderBase& b, const Words& words, Value* key, unsigned turn) {
  const unsigned lanes = lanes_of(words.multiplied);
  Value* product =
      b.CreateMul(b.CreateAnd(words.multiplied, kLow), by_turns(b, lanes, kMultipliers[turn], kMultipliers[1 - turn]));
  if (lanes_of(key) != lanes) key = shuffled(b, key, lanes, [](unsigned i) { return i % 2; });
  return {b.CreateXor(b.CreateXor(b.CreateLShr(product, 32), words.mixed), key), swapped(b, product)};
}

/// Two rounds at a time, in a loop.
Words looped_rounds(llvm::IRBuilderBase& b, const Words& words, Value* key) {
  const unsigned lanes = lanes_of(words.multiplied);
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* inside = llvm::BasicBlock::Create(b.getContext(), "rounds", before->getParent());
  auto* after = llvm::BasicBlock::Create(b.getContext(), "mixed", before->getParent());
  key = shuffled(b, key, lanes, [](unsigned i) { return i % 2; });
  b.CreateBr(inside);
  b.SetInsertPoint(inside);
  llvm::PHINode* left = b.CreatePHI(b.getInt32Ty(), 2);
  llvm::PHINode* multiplied = b.CreatePHI(key->getType(), 2);
  llvm::PHINode* mixed = b.CreatePHI(key->getType(), 2);
  llvm::PHINode* even = b.CreatePHI(key->getType(), 2);
  Words now = round(b, {multiplied, mixed}, even, 0);
  now = round(b, now, b.CreateAdd(swapped(b, even), by_turns(b, lanes, kRaises[0], kRaises[1])), 1);
  left->addIncoming(b.getInt32(kRounds / 2), before);
  multiplied->addIncoming(words.multiplied, before);
  mixed->addIncoming(words.mixed, before);
  even->addIncoming(key, before);
  Value* fewer = b.CreateSub(left, b.getInt32(1));
  left->addIncoming(fewer, inside);
  multiplied->addIncoming(now.multiplied, inside);
  mixed->addIncoming(now.mixed, inside);
  even->addIncoming(b.CreateAdd(even, by_turns(b, lanes, 2 * kRaises[1], 2 * kRaises[0])), inside);
  b.CreateCondBr(b.CreateICmpNE(fewer, b.getInt32(0)), inside, after);
  b.SetInsertPoint(after);
  return now;
}

/// The words of blocks with these numbers, of which each stands in two lanes: as 32-bit numbers, in their order.
Value* philox(llvm::IRBuilderBase& b, Value* blocks, const Emitter::Stream& stream) {
  const unsigned lanes = lanes_of(blocks);
  // c2 = c3 = 0.
  Words words{b.CreateAnd(blocks, by_turns(b, lanes, kLow, 0)),
              b.CreateAnd(b.CreateLShr(blocks, 32), by_turns(b, lanes, 0, kLow))};
  if (stream.compact) {
    words = looped_rounds(b, words, stream.keys[0]);
  } else {
    for (unsigned i = 0; i < kRounds; ++i) words = round(b, words, stream.keys[i], i % 2);
  }
  // c0 and c1 are in one lane now, and so are c2 and c3. They are not shifted together: LLVM would make one more
  // multiplication of the last product and the shift, a slow one.
  Value* last = swapped(b, words.mixed);
  auto* halves = FixedVectorType::get(b.getInt32Ty(), 2 * lanes);
  std::vector<int> order(std::size_t{2} * lanes);
  for (unsigned i = 0; i < 2 * lanes; ++i) order[i] = static_cast<int>(i % 2 == 0 ? i : 2 * lanes + i - 1);
  return b.CreateShuffleVector(b.CreateBitCast(words.multiplied, halves), b.CreateBitCast(last, halves), order);
}

}  // namespace

Value* Emitter::lane(Value* value, unsigned number) {
  return lanes_ == 1 ? value : b_.CreateExtractElement(value, std::uint64_t{number});
}

Emitter::Spacing Emitter::iota_spacing(DType dtype, Value* start, Value* step, Value* stride) {
  if (!is_integer(dtype)) return {start, step, stride};
  llvm::Type* integer = memory_type(dtype);
  Spacing spacing{b_.CreateTrunc(lane(start, 0), integer), b_.CreateTrunc(lane(step, 0), integer), nullptr};
  Value* apart = b_.CreateMul(spacing.step, b_.CreateTrunc(stride, integer));
  spacing.between = b_.CreateMul(lane_numbers(integer), splat(apart));
  spacing.advance = splat(b_.CreateMul(apart, llvm::ConstantInt::get(integer, lanes_)));
  return spacing;
}

Value* Emitter::iota(DType dtype, const Spacing& spacing, Value* position) {
  if (is_integer(dtype)) {
    Value* moved = b_.CreateMul(b_.CreateTrunc(position, memory_type(dtype)), spacing.step);
    return b_.CreateAdd(splat(b_.CreateAdd(spacing.start, moved)), spacing.between);
  }
  Value* positions = b_.CreateAdd(splat(position), lane_offsets(spacing.between));
  Value* counted = cast(positions, DType::int64, DType::float64);
  if (!is_complex(dtype)) {
    return cast(b_.CreateFAdd(spacing.start, b_.CreateFMul(counted, spacing.step)), DType::float64, dtype);
  }
  Value* twice = lanes_ == 1 ? b_.CreateVectorSplat(2, counted)
                             : shuffled(b_, counted, 2 * lanes_, [](unsigned i) { return i / 2; });
  return cast(b_.CreateFAdd(spacing.start, b_.CreateFMul(twice, spacing.step)), DType::complex128, dtype);
}

Emitter::Stream Emitter::random_stream(DType dtype, Value* key, Value* counter, bool compact) {
  Stream stream{lane(counter, 0), {}, compact};
  const unsigned lanes = std::max(lanes_ * static_cast<unsigned>(size_of(dtype)) / 8, 2U);
  Value* keys[] = {b_.CreateAnd(lane(key, 0), kLow), b_.CreateLShr(lane(key, 0), 32)};
  for (unsigned round = 0; round < (compact ? 1U : kRounds); ++round) {
    // The word of c0 and c1 is mixed with the first half of the key: it comes of the product in the second lane.
    const unsigned first = round % 2 == 0 ? 1 : 0;
    Value* pair = llvm::PoisonValue::get(FixedVectorType::get(b_.getInt64Ty(), 2));
    for (unsigned i = 0; i < 2; ++i) pair = b_.CreateInsertElement(pair, keys[first == i ? 0 : 1], std::uint64_t{i});
    stream.keys.push_back(shuffled(b_, pair, lanes, [](unsigned i) { return i % 2; }));
    for (unsigned i = 0; i < 2; ++i) keys[i] = b_.CreateAnd(b_.CreateAdd(keys[i], b_.getInt64(kRaises[i])), kLow);
  }
  return stream;
}

Value* Emitter::random_neighbours(DType dtype, const Stream& stream, Value* position) {
  const unsigned per_block = size_of(dtype) == 4 ? 4 : 2;
  if (lanes_ < per_block) return random_scattered(dtype, stream, position, b_.getInt64(1));
  const unsigned words = lanes_ * static_cast<unsigned>(size_of(dtype)) / 8;
  Value* first = b_.CreateAdd(stream.counter, b_.CreateUDiv(position, b_.getInt64(per_block)));
  // Of so many 64-bit words from the first block on.
  const auto blocks = [&](unsigned count) {
    std::vector<llvm::Constant*> numbers;
    for (unsigned i = 0; i < count; ++i) numbers.push_back(b_.getInt64(i / 2));
    return philox(b_, b_.CreateAdd(b_.CreateVectorSplat(count, first), llvm::ConstantVector::get(numbers)), stream);
  };
  Value* within = b_.CreateURem(position, b_.getInt64(per_block));
  // Neighbours that begin within a block are found among twice as many.
  if (stream.compact) {
    Value* memory = local(std::uint64_t{16} * words);
    b_.CreateAlignedStore(blocks(2 * words), memory, llvm::Align(64));
    Value* from = b_.CreatePtrAdd(memory, b_.CreateMul(within, b_.getInt64(size_of(dtype))));
    return b_.CreateAlignedLoad(type(dtype), from, llvm::Align(size_of(dtype)));
  }
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  auto* aligned = llvm::BasicBlock::Create(b_.getContext(), "aligned", function);
  auto* shifted = llvm::BasicBlock::Create(b_.getContext(), "shifted", function);
  auto* after = llvm::BasicBlock::Create(b_.getContext(), "drawn", function);
  b_.CreateCondBr(b_.CreateICmpEQ(within, b_.getInt64(0)), aligned, shifted);
  b_.SetInsertPoint(aligned);
  Value* drawn = b_.CreateBitCast(blocks(words), type(dtype));
  b_.CreateBr(after);
  b_.SetInsertPoint(shifted);
  Value* more = b_.CreateBitCast(blocks(2 * words), FixedVectorType::get(memory_type(dtype), 2 * lanes_));
  Value* chosen = nullptr;
  for (unsigned shift = 1; shift < per_block; ++shift) {
    Value* these = shuffled(b_, more, lanes_, [&](unsigned i) { return i + shift; });
    chosen = chosen == nullptr ? these : b_.CreateSelect(b_.CreateICmpEQ(within, b_.getInt64(shift)), these, chosen);
  }
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* result = b_.CreatePHI(type(dtype), 2);
  result->addIncoming(drawn, aligned);
  result->addIncoming(chosen, shifted);
  return result;
}

Value* Emitter::random_scattered(DType dtype, const Stream& stream, Value* position, Value* stride) {
  // A block for each element, of which one word is used.
  const bool wide = size_of(dtype) == 8;
  Value* positions = b_.CreateAdd(splat(position), lane_offsets(stride));
  const auto constant = [&](std::uint64_t value) { return splat(b_.getInt64(value)); };
  Value* blocks = b_.CreateAdd(splat(stream.counter), b_.CreateLShr(positions, constant(wide ? 1 : 2)));
  Value* pairs = lanes_ == 1 ? b_.CreateVectorSplat(2, blocks)
                             : shuffled(b_, blocks, 2 * lanes_, [](unsigned i) { return i / 2; });
  Value* words = b_.CreateBitCast(philox(b_, pairs, stream), pairs->getType());
  const auto half = [&](unsigned which) {
    if (lanes_ == 1) return b_.CreateExtractElement(words, std::uint64_t{which});
    return shuffled(b_, words, lanes_, [&](unsigned i) { return 2 * i + which; });
  };
  const auto has = [&](std::uint64_t bit) {
    return b_.CreateICmpNE(b_.CreateAnd(positions, constant(bit)), constant(0));
  };
  Value* drawn = b_.CreateSelect(has(wide ? 1 : 2), half(1), half(0));
  if (wide) return drawn;
  return b_.CreateTrunc(b_.CreateSelect(has(1), b_.CreateLShr(drawn, constant(32)), drawn), type(dtype));
}

}  // namespace lento::codegen
