// arg_max and arg_min: lanes of elements with their positions. Which element is found does not depend on the order of
// comparing, since of equal ones the first is wanted; so there are neither blocks nor a tree of them.
#include "backends/cpu/kernel_generator.h"
#include "backends/reference/reduction_order.h"

#include <llvm/IR/IRBuilder.h>

namespace lento::cpu {

using llvm::Value;
using reference::kReductionLanes;

/// A lane starts with the position of its first element, and with an element that no other is worse than: if nothing
/// beats it, all are equal and the first one is right. Lanes without elements lose to lane 0, which has one.
void KernelGenerator::start_search(const Accumulator& a) {
  Value* worst = emitter_.identity(kernel_.body[a.at].op, a.dtype);
  if (kernel_.form == LoopForm::column) {
    emitter_.store(a.dtype, worst, a.lanes, nullptr);
    emitter_.store(DType::int64, emitter_.splat(reduced_begin_), a.positions, nullptr);
    return;
  }
  for (unsigned lane = 0; lane < kReductionLanes; lane += emitter_.lanes()) {
    emitter_.store(a.dtype, worst, accumulator_bytes(a, b_.getInt64(lane)), nullptr);
    emitter_.store(DType::int64, emitter_.positions(b_.CreateAdd(reduced_begin_, b_.getInt64(lane))),
                   b_.CreateConstGEP1_64(b_.getInt64Ty(), a.positions, lane), nullptr);
  }
}

void KernelGenerator::search(const Accumulator& a, const Point& point) {
  Value* elements = a.lanes;
  Value* positions = a.positions;
  Value* here = nullptr;
  if (kernel_.form == LoopForm::column) {
    here = emitter_.splat(point.reduced);
  } else {
    here = emitter_.positions(point.index);
    Value* lane = b_.CreateAnd(point.index, b_.getInt64(kReductionLanes - 1));
    elements = accumulator_bytes(a, lane);
    positions = b_.CreateGEP(b_.getInt64Ty(), positions, lane);
  }
  Value* element = element_to_combine(a);
  Value* best = emitter_.load(a.dtype, elements, nullptr);
  Value* found = emitter_.load(DType::int64, positions, nullptr);
  Value* better = emitter_.beats(kernel_.body[a.at].op, a.dtype, element, best);
  if (point.mask != nullptr && kernel_.form == LoopForm::row) better = b_.CreateAnd(better, point.mask);
  emitter_.store(a.dtype, emitter_.select(a.dtype, better, element, best), elements, nullptr);
  emitter_.store(DType::int64, b_.CreateSelect(better, here, found), positions, nullptr);
}

void KernelGenerator::finish_search(const Accumulator& a) {
  if (kernel_.form == LoopForm::column) {
    emitter_.store(a.dtype, emitter_.load(a.dtype, a.lanes, nullptr), a.result, nullptr);
    emitter_.store(DType::int64, emitter_.load(DType::int64, a.positions, nullptr), a.position, nullptr);
    return;
  }
  struct Best {
    Value* element;
    Value* position;
  };
  const Op op = kernel_.body[a.at].op;
  const auto better = [&](const Best& x, const Best& y) {
    Value* equal = b_.CreateNot(emitter_.beats(op, a.dtype, x.element, y.element));
    Value* earlier = b_.CreateAnd(equal, b_.CreateICmpSLT(y.position, x.position));
    Value* second = b_.CreateOr(emitter_.beats(op, a.dtype, y.element, x.element), earlier);
    return Best{emitter_.select(a.dtype, second, y.element, x.element),
                b_.CreateSelect(second, y.position, x.position)};
  };
  std::vector<Best> all;
  for (unsigned lane = 0; lane < kReductionLanes; lane += emitter_.lanes()) {
    all.push_back({emitter_.load(a.dtype, accumulator_bytes(a, b_.getInt64(lane)), nullptr),
                   emitter_.load(DType::int64, b_.CreateConstGEP1_64(b_.getInt64Ty(), a.positions, lane), nullptr)});
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
  emitter_.store_one(DType::int64, best.position, a.position);
}

}  // namespace lento::cpu
