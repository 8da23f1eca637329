#include "backends/cpu/code/short_rows.h"

#include "backends/cpu/code/kernel_body.h"
#include "backends/cpu/code/reduce_loops.h"
#include "ir/op_random.gen.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace lento::cpu {

using llvm::Value;
using Kind = Instruction::Kind;

namespace {

/// The most elements of a row that is short. Behind it vectors along the row are full enough.
constexpr std::uint64_t kMostElements = 32;

/// What has memory and an element at each point: it is turned.
bool is_turned(const KernelOperandInfo& operand) { return operand.moves && !operand.counted; }

/// The kernel with rows as its columns.
Kernel as_columns(const Kernel& kernel) {
  Kernel columns = kernel;
  columns.form = LoopForm::column;
  for (KernelOperandInfo& operand : columns.operands) {
    operand.inner = is_turned(operand) ? InnerStride::one : InnerStride::any;
  }
  return columns;
}

/// The frame of a call, as that of a call with one row of columns.
void turn_frame(const Kernel& kernel, KernelBody& body) {
  FrameValues& frame = body.frame;
  frame.count = body.whole_vectors(frame.rows);
  frame.rows = body.b.getInt64(1);
  // The bound lets LLVM see that there is one block, and less than a turn of its lanes.
  frame.reduced_begin = body.b.getInt64(0);
  frame.reduced_end =
      body.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, frame.reduced_end, body.b.getInt64(kMostElements));
  // A call that does a part of the passes has one row, and never comes here.
  frame.has_blocks = body.b.getFalse();
  frame.first_pass = body.b.getInt64(0);
  frame.end_pass = body.b.getInt64(std::numeric_limits<std::int64_t>::max());
  frame.store_rows = body.b.getTrue();
  frame.results = llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(body.b.getContext()));
  for (std::size_t j = 0; j < kernel.operands.size(); ++j) {
    if (is_turned(kernel.operands[j])) continue;
    FrameValues::Operand& operand = frame.operands[j];
    operand.reduced_stride = kernel.operands[j].moves ? operand.inner_stride : nullptr;
    operand.inner_stride = operand.row_stride;
    operand.lane_offsets = body.emitter.lane_offsets(operand.row_stride);
  }
}

class ShortRows {
 public:
  ShortRows(KernelBody& body, const Kernel& kernel) : body_(body), kernel_(kernel), b_(body.b) {
    for (std::size_t j = 0; j < kernel.operands.size(); ++j) {
      if (is_turned(kernel.operands[j])) body_.tiles[j] = body_.emitter.local(kMostElements * line_bytes(j));
    }
  }

  /// Copies the elements of a vector of rows into tiles, or back.
  void turn(Value* first_row, bool back) {
    for (std::size_t j = 0; j < kernel_.operands.size(); ++j) {
      const KernelOperandInfo& operand = kernel_.operands[j];
      if (!is_turned(operand) || operand.output != back) continue;
      const std::uint64_t lanes = body_.emitter.lanes();
      Value* stride = body_.frame.operands[j].row_stride;
      Value* start = b_.CreatePtrAdd(body_.frame.operands[j].address, b_.CreateMul(first_row, stride));
      body_.loop(b_.getInt64(0), body_.frame.reduced_end, b_.getInt64(lanes), [&](Value* k) {
        const codegen::Emitter::Lines rows{
            .first = b_.CreatePtrAdd(start, b_.CreateMul(k, b_.getInt64(size_of(operand.dtype)))),
            .stride = stride,
            .mask = body_.emitter.mask_of(b_.CreateSub(body_.frame.reduced_end, k))};
        const codegen::Emitter::Lines tile{
            .first = b_.CreatePtrAdd(body_.tiles[j], b_.CreateMul(k, b_.getInt64(line_bytes(j)))),
            .stride = b_.getInt64(line_bytes(j))};
        back ? body_.emitter.turn_tile(operand.dtype, tile, rows) : body_.emitter.turn_tile(operand.dtype, rows, tile);
      });
    }
  }

 private:
  std::uint64_t line_bytes(std::size_t operand) const {
    return body_.emitter.lanes() * size_of(kernel_.operands[operand].dtype);
  }

  KernelBody& body_;
  const Kernel& kernel_;
  llvm::IRBuilderBase& b_;
};

}  // namespace

bool has_short_rows(const Kernel& kernel) {
  constexpr std::size_t kMostInstructions = 32;  // it is all compiled twice
  constexpr std::size_t kMostTiles = 4;
  if (kernel.form != LoopForm::row || kernel.dims < 2 || kernel.body.size() > kMostInstructions) return false;
  std::size_t tiles = 0;
  for (const KernelOperandInfo& operand : kernel.operands) {
    if (operand.picked_by != kNotPicked) return false;
    if (!is_turned(operand)) continue;
    // Others would not be turned in registers.
    const std::size_t size = size_of(operand.dtype);
    if (operand.inner != InnerStride::one || (size != 4 && size != 8) || is_complex(operand.dtype)) return false;
    ++tiles;
  }
  return tiles <= kMostTiles && std::ranges::none_of(kernel.body, [](const Instruction& i) {
           // A block of random bits serves neighbours, which lie in different vectors here.
           return i.kind == Kind::create && i.op == op::random_bits;
         });
}

Value* write_short_rows(llvm::IRBuilderBase& builder, const Kernel& kernel, const CodeStyle& style, Value* frame) {
  const Kernel columns = as_columns(kernel);
  CodeStyle column_style = style;
  column_style.groups = false;
  KernelBody body(builder, columns, column_style, frame);
  // Of a column kernel `count` would be the number of its columns: that of a row's elements is what it reduces.
  Value* is_short = builder.CreateICmpULE(body.frame.count, builder.getInt64(kMostElements));
  turn_frame(kernel, body);
  Value* end = builder.CreateSelect(is_short, body.frame.count, builder.getInt64(0));
  body.frame.count = end;
  body.when(builder.CreateICmpSLT(builder.getInt64(0), end), [&] {
    body.emit_level(Level::call, {});
    body.go_to_row(builder.getInt64(0));
    ShortRows rows(body, kernel);
    ReduceLoops loops(body);
    body.loop(builder.getInt64(0), end, builder.getInt64(body.emitter.lanes()), [&](Value* first) {
      rows.turn(first, false);
      loops.write_columns(first);
      rows.turn(first, true);
    });
  });
  return end;
}

}  // namespace lento::cpu
