#include "backends/cpu/code/search_loops.h"

#include "ir/reduction_order.h"

#include <llvm/IR/IRBuilder.h>

#include <vector>

namespace lento::cpu {

using llvm::Value;

/// A lane starts with the position of its first element, and with an element that no other is worse than: if nothing
/// beats it, all are equal and the first one is right. Lanes without elements lose to lane 0, which has one.
void SearchLoops::start(const Accumulator& a) {
  Value* worst = emitter_.identity(op(a), a.dtype);
  each_lane(a, [&](Value* lane, const Lane& at) {
    emitter_.store(a.dtype, worst, at.best, nullptr);
    emitter_.store(DType::int64, positions(body_.frame.reduced_begin, lane, nullptr), at.position, nullptr);
  });
}

void SearchLoops::start_block(const Accumulator& a) {
  Value* worst = emitter_.identity(op(a), a.dtype);
  each_lane(a, [&](Value*, const Lane& at) {
    emitter_.store(a.dtype, worst, at.element, nullptr);
    emitter_.store(DType::int32, emitter_.number(DType::int32, 0), at.step, nullptr);
  });
}

/// In a block 32 bits tell the step, half of what a position takes.
void SearchLoops::compare(const Accumulator& a, const Point& point, Value* block) {
  Value* lane = by_rows() ? b_.CreateAnd(point.index, b_.getInt64(kReductionLanes - 1)) : b_.getInt64(0);
  const Lane at = lane_of(a, lane);
  Value* step = by_rows() ? b_.CreateUDiv(b_.CreateSub(point.index, block), b_.getInt64(kReductionLanes))
                          : b_.CreateSub(point.reduced, block);
  Value* here = emitter_.splat(b_.CreateTrunc(step, b_.getInt32Ty()));
  Value* element = element_to_combine(body_, a);
  Value* best = emitter_.load(a.dtype, at.element, nullptr);
  Value* found = emitter_.load(DType::int32, at.step, nullptr);
  Value* better = emitter_.beats(op(a), a.dtype, element, best);
  if (point.mask != nullptr && by_rows()) better = b_.CreateAnd(better, point.mask);
  emitter_.store(a.dtype, emitter_.select(a.dtype, better, element, best), at.element, nullptr);
  emitter_.store(DType::int32, b_.CreateSelect(better, here, found), at.step, nullptr);
}

void SearchLoops::finish_block(const Accumulator& a, Value* block) {
  each_lane(a, [&](Value* lane, const Lane& at) {
    Value* element = emitter_.load(a.dtype, at.element, nullptr);
    Value* best = emitter_.load(a.dtype, at.best, nullptr);
    Value* better = emitter_.beats(op(a), a.dtype, element, best);
    Value* here = positions(block, lane, emitter_.load(DType::int32, at.step, nullptr));
    Value* position = emitter_.load(DType::int64, at.position, nullptr);
    emitter_.store(a.dtype, emitter_.select(a.dtype, better, element, best), at.best, nullptr);
    emitter_.store(DType::int64, b_.CreateSelect(better, here, position), at.position, nullptr);
  });
}

Value* SearchLoops::positions(Value* block, Value* lane, Value* step) {
  Value* first = by_rows() ? emitter_.positions(b_.CreateAdd(block, lane)) : emitter_.splat(block);
  if (step == nullptr) return first;
  step = b_.CreateZExt(step, first->getType());
  return b_.CreateAdd(first, by_rows() ? b_.CreateMul(step, emitter_.splat(b_.getInt64(kReductionLanes))) : step);
}

SearchLoops::Lane SearchLoops::lane_of(const Accumulator& a, Value* lane) {
  Value* bytes = b_.CreateMul(lane, b_.getInt64(size_of(a.dtype)));
  return {b_.CreatePtrAdd(a.lanes, bytes), b_.CreateGEP(b_.getInt32Ty(), a.search->steps, lane),
          b_.CreatePtrAdd(a.search->best, bytes), b_.CreateGEP(b_.getInt64Ty(), a.search->positions, lane)};
}

void SearchLoops::each_lane(const Accumulator& a, const std::function<void(Value*, const Lane&)>& write) {
  const std::int64_t count = by_rows() ? kReductionLanes : 1;
  for (std::int64_t lane = 0; lane < count; lane += emitter_.lanes()) {
    write(b_.getInt64(static_cast<std::uint64_t>(lane)), lane_of(a, b_.getInt64(static_cast<std::uint64_t>(lane))));
  }
}

void SearchLoops::finish(const Accumulator& a) {
  if (!by_rows()) {
    emitter_.store(a.dtype, emitter_.load(a.dtype, a.search->best, nullptr), a.result, nullptr);
    emitter_.store(DType::int64, emitter_.load(DType::int64, a.search->positions, nullptr), a.search->position,
                   nullptr);
    return;
  }
  struct Best {
    Value* element;
    Value* position;
  };
  const Op op = this->op(a);
  const auto better = [&](const Best& x, const Best& y) {
    Value* equal = b_.CreateNot(emitter_.beats(op, a.dtype, x.element, y.element));
    Value* earlier = b_.CreateAnd(equal, b_.CreateICmpSLT(y.position, x.position));
    Value* second = b_.CreateOr(emitter_.beats(op, a.dtype, y.element, x.element), earlier);
    return Best{emitter_.select(a.dtype, second, y.element, x.element),
                b_.CreateSelect(second, y.position, x.position)};
  };
  std::vector<Best> all;
  for (unsigned lane = 0; lane < kReductionLanes; lane += emitter_.lanes()) {
    const Lane at = lane_of(a, b_.getInt64(lane));
    all.push_back({emitter_.load(a.dtype, at.best, nullptr), emitter_.load(DType::int64, at.position, nullptr)});
  }
  for (std::size_t half = all.size() / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) all[i] = better(all[i], all[i + half]);
  }
  Best best = all[0];
  for (unsigned half = emitter_.lanes() / 2; half > 0; half /= 2) {
    best = better(best, {emitter_.shift_down(a.dtype, best.element, half),
                         emitter_.shift_down(DType::int64, best.position, half)});
  }
  emitter_.store_one(a.dtype, best.element, a.result);
  emitter_.store_one(DType::int64, best.position, a.search->position);
}

}  // namespace lento::cpu
