#include "backends/cpu/code/kernel_body.h"

#include "ir/op_creation.gen.h"
#include "ir/reduction_order.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <cstddef>

namespace lento::cpu {

using llvm::Value;
using Kind = Instruction::Kind;

InnerStride inner_stride(const Kernel& kernel, std::size_t operand) {
  const KernelOperandInfo& info = kernel.operands[operand];
  if (kernel.form == LoopForm::row && !info.moves) return InnerStride::zero;
  // Writing the same element from all lanes would be a race of lanes; there is only one then.
  if (info.output && info.inner == InnerStride::zero) return InnerStride::any;
  return info.inner;
}

std::vector<Level> levels(const Kernel& kernel) {
  const std::vector<std::uint8_t> is_row_value = row_values(kernel);
  const bool map = kernel.form == LoopForm::map;
  std::vector<Level> level(kernel.body.size(), Level::call);
  for (std::size_t at = 0; at < level.size(); ++at) {
    const Instruction& i = kernel.body[at];
    switch (i.kind) {
      case Kind::load:
      case Kind::create: {
        const bool still = map ? inner_stride(kernel, i.index) == InnerStride::zero : is_row_value[at] != 0;
        level[at] = still ? Level::row : Level::element;
        break;
      }
      case Kind::number:
        break;
      case Kind::reduce:
        level[at] = Level::row;
        break;
      case Kind::compute:
      case Kind::cast:
      case Kind::store:
        for (unsigned j = 0; j < i.input_count; ++j) level[at] = std::max(level[at], level[i.inputs[j]]);
        // A store happens where its elements are: of a map at every point, of a row value behind its pass.
        if (i.kind == Kind::store) level[at] = map ? Level::element : std::max(level[at], Level::row);
        break;
    }
  }
  return level;
}

KernelBody::KernelBody(llvm::IRBuilderBase& builder, const Kernel& of, const CodeStyle& with, Value* from)
    : kernel(of),
      style(with),
      b(builder),
      emitter(builder, with.lanes, with.hooks),
      level(levels(of)),
      values(of.body.size(), nullptr),
      counted(of.body.size(), nullptr),
      bases(of.operands.size(), nullptr),
      copies(of.operands.size(), nullptr),
      tiles(of.operands.size(), nullptr) {
  read_frame(from);
}

void KernelBody::read_frame(Value* from) {
  llvm::Type* pointer = llvm::PointerType::getUnqual(b.getContext());
  llvm::Type* word = b.getInt64Ty();
  const auto field = [&](llvm::Type* type, std::size_t offset) {
    return b.CreateAlignedLoad(type, b.CreateConstGEP1_64(b.getInt8Ty(), from, offset), llvm::Align(8));
  };
  const auto element = [&](llvm::Type* type, Value* array, std::size_t j) {
    return b.CreateAlignedLoad(type, b.CreateConstGEP1_64(b.getInt64Ty(), array, j), llvm::Align(8));
  };
  Value* addresses = field(pointer, offsetof(CallFrame, addresses));
  Value* row_strides = field(pointer, offsetof(CallFrame, row_strides));
  Value* inner_strides = field(pointer, offsetof(CallFrame, inner_strides));
  Value* reduced_strides = field(pointer, offsetof(CallFrame, reduced_strides));
  frame.numbers = field(pointer, offsetof(CallFrame, numbers));
  frame.rows = field(word, offsetof(CallFrame, rows));
  frame.count = field(word, offsetof(CallFrame, count));
  const auto flag = [&](std::size_t offset) { return b.CreateICmpNE(field(word, offset), b.getInt64(0)); };
  if (style.stream) frame.stream = flag(offsetof(CallFrame, stream));
  if (kernel.form != LoopForm::map) {
    frame.reduced_begin = field(word, offsetof(CallFrame, reduced_begin));
    frame.reduced_end = field(word, offsetof(CallFrame, reduced_end));
    frame.has_blocks =
        b.CreateICmpSGT(b.CreateSub(frame.reduced_end, frame.reduced_begin), b.getInt64(kReductionBlock));
    frame.first_pass = field(word, offsetof(CallFrame, first_pass));
    frame.end_pass = field(word, offsetof(CallFrame, end_pass));
    frame.store_rows = flag(offsetof(CallFrame, store_rows));
    frame.results = field(pointer, offsetof(CallFrame, results));
    frame.result_stride = field(word, offsetof(CallFrame, result_stride));
  }
  Value* picked = field(pointer, offsetof(CallFrame, picked));
  frame.operands.resize(kernel.operands.size());
  for (std::size_t j = 0; j < kernel.operands.size(); ++j) {
    if (kernel.operands[j].picked_by == kNotPicked) continue;
    static_assert(sizeof(PickedRows) == 16 && offsetof(PickedRows, stride) == 0 && offsetof(PickedRows, extent) == 8);
    Value* bytes = b.getInt64(size_of(kernel.operands[j].dtype));
    frame.operands[j].picked_stride = b.CreateMul(element(word, picked, 2 * j), bytes);
    frame.operands[j].picked_extent = element(word, picked, 2 * j + 1);
  }
  for (std::size_t j = 0; j < kernel.operands.size(); ++j) {
    FrameValues::Operand& operand = frame.operands[j];
    operand.address = element(pointer, addresses, j);
    operand.row_stride = element(word, row_strides, j);
    if (inner_stride(kernel, j) == InnerStride::any) {
      operand.inner_stride = element(word, inner_strides, j);
      operand.lane_offsets = emitter.lane_offsets(operand.inner_stride);
    }
    const bool moves = kernel.form == LoopForm::column && kernel.operands[j].moves;
    if (moves) operand.reduced_stride = element(word, reduced_strides, j);
  }
}

// ---- Blocks of code.

void KernelBody::loop(Value* begin, Value* end, Value* step, const std::function<void(Value*)>& body) {
  llvm::LLVMContext& context = b.getContext();
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* inside = llvm::BasicBlock::Create(context, "loop", function);
  auto* after = llvm::BasicBlock::Create(context, "done", function);
  b.CreateCondBr(b.CreateICmpSLT(begin, end), inside, after);
  b.SetInsertPoint(inside);
  llvm::PHINode* counter = b.CreatePHI(b.getInt64Ty(), 2);
  counter->addIncoming(begin, before);
  body(counter);
  Value* next = b.CreateAdd(counter, step);
  counter->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, end), inside, after);
  b.SetInsertPoint(after);
}

void KernelBody::when(Value* condition, const std::function<void()>& body) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* inside = llvm::BasicBlock::Create(b.getContext(), "then", function);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "done", function);
  b.CreateCondBr(condition, inside, after);
  b.SetInsertPoint(inside);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void KernelBody::masked_vectors(Value* begin, Value* end, const std::function<void(const Point&)>& body) {
  loop(begin, end, b.getInt64(emitter.lanes()),
       [&](Value* i) { body(Point{.index = i, .mask = emitter.mask_of(b.CreateSub(end, i))}); });
}

Value* KernelBody::whole_vectors(Value* end) {
  return b.CreateAnd(end, b.getInt64(~(std::uint64_t{emitter.lanes()} - 1)));
}

void KernelBody::last_vector(Value* begin, Value* end, const std::function<void(const Point&)>& body) {
  when(b.CreateICmpSLT(begin, end),
       [&] { body(Point{.index = begin, .mask = emitter.mask_of(b.CreateSub(end, begin))}); });
}

void KernelBody::vectors(Value* begin, Value* end, const std::function<void(const Point&)>& body) {
  if (style.compact) return masked_vectors(begin, end, body);
  Value* whole = whole_vectors(end);
  loop(begin, whole, b.getInt64(emitter.lanes()), [&](Value* i) { body(Point{.index = i}); });
  last_vector(whole, end, body);
}

// ---- The body.

void KernelBody::go_to_row(Value* row) {
  for (std::size_t j = 0; j < bases.size(); ++j) {
    bases[j] = b.CreatePtrAdd(frame.operands[j].address, b.CreateMul(row, frame.operands[j].row_stride));
  }
  for (std::size_t j = 0; j < bases.size(); ++j) {
    const std::uint16_t by = kernel.operands[j].picked_by;
    if (by == kNotPicked) continue;
    llvm::Type* type = kernel.operands[by].dtype == DType::int32 ? b.getInt32Ty() : b.getInt64Ty();
    Value* given = b.CreateSExt(b.CreateAlignedLoad(type, bases[by], llvm::Align(1)), b.getInt64Ty());
    Value* from_end = b.CreateAdd(given, frame.operands[j].picked_extent);
    Value* position = b.CreateSelect(b.CreateICmpSLT(given, b.getInt64(0)), from_end, given);
    bases[j] = b.CreatePtrAdd(bases[j], b.CreateMul(position, frame.operands[j].picked_stride));
  }
}

Value* KernelBody::address(std::size_t operand, const Point& point) {
  const FrameValues::Operand& of = frame.operands[operand];
  if (tiles[operand] != nullptr) {
    const std::uint64_t bytes = emitter.lanes() * size_of(kernel.operands[operand].dtype);
    return b.CreatePtrAdd(tiles[operand], b.CreateMul(point.reduced, b.getInt64(bytes)));
  }
  Value* base = bases[operand];
  if (point.reduced != nullptr && of.reduced_stride != nullptr) {
    base = b.CreatePtrAdd(base, b.CreateMul(point.reduced, of.reduced_stride));
  }
  switch (inner_stride(kernel, operand)) {
    case InnerStride::zero:
      return base;
    case InnerStride::one:
      return b.CreatePtrAdd(base, b.CreateMul(point.index, b.getInt64(size_of(kernel.operands[operand].dtype))));
    case InnerStride::any:
      return b.CreatePtrAdd(base, b.CreateMul(point.index, of.inner_stride));
  }
  return nullptr;
}

Value* KernelBody::load(std::size_t operand, const Point& point) {
  const DType dtype = kernel.operands[operand].dtype;
  if (copies[operand] != nullptr) return emitter.load(dtype, copies[operand], nullptr);
  Value* pointer = address(operand, point);
  switch (inner_stride(kernel, operand)) {
    case InnerStride::zero:
      return emitter.load_one(dtype, pointer);
    case InnerStride::one:
      return emitter.load(dtype, pointer, point.mask);
    case InnerStride::any:
      return emitter.gather(dtype, pointer, frame.operands[operand].lane_offsets, point.mask);
  }
  return nullptr;
}

void KernelBody::store(std::size_t operand, Value* value, const Point& point) {
  const DType dtype = kernel.operands[operand].dtype;
  Value* pointer = address(operand, point);
  switch (inner_stride(kernel, operand)) {
    case InnerStride::zero:
      return emitter.store_one(dtype, value, pointer);
    case InnerStride::one:
      if (point.stream) return emitter.stream(dtype, value, pointer);
      return emitter.store(dtype, value, pointer, point.mask);
    case InnerStride::any:
      return emitter.scatter(dtype, value, pointer, frame.operands[operand].lane_offsets, point.mask);
  }
}

void KernelBody::prepare_to_create(std::size_t at) {
  const Instruction& i = kernel.body[at];
  Value* first = values[i.inputs[0]];
  Value* second = values[i.inputs[1]];
  if (i.op == op::iota) {
    const InnerStride inner = inner_stride(kernel, i.index);
    Value* stride = inner == InnerStride::any ? frame.operands[i.index].inner_stride
                                              : b.getInt64(inner == InnerStride::one ? 1 : 0);
    spacings_[at] = emitter.iota_spacing(i.dtype, first, second, stride);
  } else {
    streams_[at] = emitter.random_stream(i.dtype, first, second, !style.careful);
  }
}

Value* KernelBody::create(std::size_t at, const Point& point) {
  const Instruction& i = kernel.body[at];
  Value* position = b.CreatePtrToInt(address(i.index, point), b.getInt64Ty());
  if (i.op == op::iota) return emitter.iota(i.dtype, spacings_.at(at), position);
  switch (inner_stride(kernel, i.index)) {
    case InnerStride::zero:
      return emitter.random_scattered(i.dtype, streams_.at(at), position, b.getInt64(0));
    case InnerStride::one:
      return emitter.random_neighbours(i.dtype, streams_.at(at), position);
    case InnerStride::any:
      return emitter.random_scattered(i.dtype, streams_.at(at), position, frame.operands[i.index].inner_stride);
  }
  return nullptr;
}

Value* KernelBody::advance_of(std::size_t at) const {
  const auto spacing = spacings_.find(at);
  return spacing == spacings_.end() ? nullptr : spacing->second.advance;
}

void KernelBody::emit(std::size_t at, const Point& point) {
  const Instruction& i = kernel.body[at];
  switch (i.kind) {
    case Kind::load:
      values[at] = load(i.index, point);
      break;
    case Kind::number:
      values[at] = emitter.load_one(i.dtype, b.CreateConstGEP1_64(b.getInt8Ty(), frame.numbers, 16ULL * i.index));
      break;
    case Kind::create:
      values[at] = counted[at] != nullptr ? counted[at] : create(at, point);
      break;
    case Kind::compute: {
      Value* args[3] = {};
      for (unsigned j = 0; j < i.input_count; ++j) args[j] = values[i.inputs[j]];
      const DType dtype = kernel.body[i.inputs[i.input_count - 1]].dtype;
      // Along a column's row neighbouring row values differ.
      const bool uniform = level[at] == Level::call || (level[at] == Level::row && kernel.form != LoopForm::column);
      values[at] = emitter.compute(i.op, dtype, i.dtype, {args, i.input_count}, uniform);
      break;
    }
    case Kind::cast:
      values[at] = emitter.cast(values[i.inputs[0]], kernel.body[i.inputs[0]].dtype, i.dtype);
      break;
    case Kind::store:
      store(i.index, values[i.inputs[0]], point);
      break;
    case Kind::reduce:
      break;
  }
}

void KernelBody::emit_level(Level wanted, const Point& point) {
  for (std::size_t at = 0; at < kernel.body.size(); ++at) {
    if (level[at] == wanted) emit(at, point);
    // Its numbers stand before it.
    if (wanted == Level::call && kernel.body[at].kind == Kind::create) prepare_to_create(at);
  }
}

}  // namespace lento::cpu
