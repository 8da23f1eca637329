// SearchLoops: what arg_max and arg_min do in the loops of a kernel that reduces: lanes of elements with their
// positions. Which element is found does not depend on the order of comparing, since of equal ones the first is wanted;
// so there is no tree of blocks, and columns need one lane only.
#pragma once

#include "backends/cpu/code/accumulator.h"
#include "backends/cpu/code/kernel_body.h"

#include <functional>

namespace lento::cpu {

class SearchLoops {
 public:
  /// The body outlives it.
  explicit SearchLoops(KernelBody& body) : body_(body), b_(body.b), emitter_(body.emitter) {}

  void start(const Accumulator& accumulator);
  void start_block(const Accumulator& accumulator);
  /// Compares the vector of elements at a point of a block.
  void compare(const Accumulator& accumulator, const Point& point, llvm::Value* block);
  void finish_block(const Accumulator& accumulator, llvm::Value* block);
  void finish(const Accumulator& accumulator);

 private:
  /// Memory of a vector of lanes, or of columns.
  struct Lane {
    llvm::Value* element;
    llvm::Value* step;
    llvm::Value* best;
    llvm::Value* position;
  };
  Lane lane_of(const Accumulator& accumulator, llvm::Value* lane);
  void each_lane(const Accumulator& accumulator, const std::function<void(llvm::Value*, const Lane&)>& write);
  /// Positions of the elements that a vector of lanes, or of columns, has in a step of a block; null is the first.
  llvm::Value* positions(llvm::Value* block, llvm::Value* lane, llvm::Value* step);
  bool by_rows() const { return body_.kernel.form == LoopForm::row; }
  Op op(const Accumulator& accumulator) const { return body_.kernel.body[accumulator.at].op; }

  KernelBody& body_;
  llvm::IRBuilderBase& b_;
  codegen::Emitter& emitter_;
};

}  // namespace lento::cpu
