// The loops of a kernel. Values are vectors of `lanes` elements along the last dimension. What does not change along
// an inner loop is computed outside of it.
#include "backends/cpu/code/kernel_loops.h"

#include "backends/cpu/code/kernel_generator.h"
#include "codegen/emitter.h"
#include "codegen/math/math.h"
#include "ir/op_elementwise.gen.h"
#include "ir/reduction_order.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace lento::cpu {

using llvm::Value;
using Kind = Instruction::Kind;

KernelGenerator::KernelGenerator(llvm::IRBuilderBase& builder, const Kernel& kernel, const CodeStyle& style)
    : kernel_(kernel),
      style_(style),
      b_(builder),
      emitter_(builder, style.lanes, style.hooks),
      rows_(row_values(kernel)),
      passes_(passes(kernel)),
      values_(kernel.body.size(), nullptr) {}

void KernelGenerator::run(Value* frame) {
  read_frame(frame);
  find_levels();
  if (kernel_.form != LoopForm::map) find_kept();
  if (kernel_.form == LoopForm::map && style_.stages) find_stages();
  bases_.resize(kernel_.operands.size());
  tiles_.resize(kernel_.operands.size(), nullptr);
  emit_where([&](std::size_t at) { return levels_[at] == 0; }, {});
  if (kernel_.form == LoopForm::map) return map_rows();
  loop(b_.getInt64(0), rows_count_, b_.getInt64(1), [&](Value* row) {
    go_to_row(row);
    kernel_.form == LoopForm::row ? reduce_row() : reduce_columns();
  });
}

void KernelGenerator::go_to_row(Value* row) {
  for (std::size_t j = 0; j < bases_.size(); ++j) {
    bases_[j] = b_.CreatePtrAdd(addresses_[j], b_.CreateMul(row, row_strides_[j]));
  }
  for (std::size_t j = 0; j < bases_.size(); ++j) {
    const std::uint16_t by = kernel_.operands[j].picked_by;
    if (by == kNotPicked) continue;
    llvm::Type* type = kernel_.operands[by].dtype == DType::int32 ? b_.getInt32Ty() : b_.getInt64Ty();
    Value* given = b_.CreateSExt(b_.CreateAlignedLoad(type, bases_[by], llvm::Align(1)), b_.getInt64Ty());
    Value* from_end = b_.CreateAdd(given, picked_[j].extent);
    Value* position = b_.CreateSelect(b_.CreateICmpSLT(given, b_.getInt64(0)), from_end, given);
    bases_[j] = b_.CreatePtrAdd(bases_[j], b_.CreateMul(position, picked_[j].stride));
  }
}

void KernelGenerator::read_frame(Value* frame) {
  llvm::Type* pointer = llvm::PointerType::getUnqual(b_.getContext());
  llvm::Type* word = b_.getInt64Ty();
  const auto field = [&](llvm::Type* type, std::size_t offset) {
    return b_.CreateAlignedLoad(type, b_.CreateConstGEP1_64(b_.getInt8Ty(), frame, offset), llvm::Align(8));
  };
  const auto element = [&](llvm::Type* type, Value* array, std::size_t j) {
    return b_.CreateAlignedLoad(type, b_.CreateConstGEP1_64(b_.getInt64Ty(), array, j), llvm::Align(8));
  };
  Value* addresses = field(pointer, offsetof(CallFrame, addresses));
  Value* row_strides = field(pointer, offsetof(CallFrame, row_strides));
  Value* inner_strides = field(pointer, offsetof(CallFrame, inner_strides));
  Value* reduced_strides = field(pointer, offsetof(CallFrame, reduced_strides));
  numbers_ = field(pointer, offsetof(CallFrame, numbers));
  rows_count_ = field(word, offsetof(CallFrame, rows));
  count_ = field(word, offsetof(CallFrame, count));
  const auto flag = [&](std::size_t offset) { return b_.CreateICmpNE(field(word, offset), b_.getInt64(0)); };
  if (style_.stream) stream_ = flag(offsetof(CallFrame, stream));
  if (kernel_.form != LoopForm::map) {
    reduced_begin_ = field(word, offsetof(CallFrame, reduced_begin));
    reduced_end_ = field(word, offsetof(CallFrame, reduced_end));
    has_blocks_ = b_.CreateICmpSGT(b_.CreateSub(reduced_end_, reduced_begin_), b_.getInt64(kReductionBlock));
    first_pass_ = field(word, offsetof(CallFrame, first_pass));
    end_pass_ = field(word, offsetof(CallFrame, end_pass));
    store_rows_ = flag(offsetof(CallFrame, store_rows));
    results_ = field(pointer, offsetof(CallFrame, results));
    result_stride_ = field(word, offsetof(CallFrame, result_stride));
  }
  Value* picked = field(pointer, offsetof(CallFrame, picked));
  picked_.resize(kernel_.operands.size());
  for (std::size_t j = 0; j < kernel_.operands.size(); ++j) {
    if (kernel_.operands[j].picked_by == kNotPicked) continue;
    static_assert(sizeof(PickedRows) == 16 && offsetof(PickedRows, stride) == 0 && offsetof(PickedRows, extent) == 8);
    Value* bytes = b_.getInt64(size_of(kernel_.operands[j].dtype));
    picked_[j] = {b_.CreateMul(element(word, picked, 2 * j), bytes), element(word, picked, 2 * j + 1)};
  }
  for (std::size_t j = 0; j < kernel_.operands.size(); ++j) {
    addresses_.push_back(element(pointer, addresses, j));
    row_strides_.push_back(element(word, row_strides, j));
    inner_strides_.push_back(nullptr);
    lane_offsets_.push_back(nullptr);
    if (inner(j) == InnerStride::any) {
      inner_strides_[j] = element(word, inner_strides, j);
      lane_offsets_[j] = emitter_.lane_offsets(inner_strides_[j]);
    }
    const bool moves = kernel_.form == LoopForm::column && kernel_.operands[j].moves;
    reduced_strides_.push_back(moves ? element(word, reduced_strides, j) : nullptr);
  }
}

namespace {

/// Elements that stages of a body work on in turn, and the bytes that may wait between stages: they are to stay in the
/// cache of the processor.
constexpr std::uint64_t kStageElements = 256;
constexpr std::size_t kMostWaiting = std::size_t{24} << 10;

}  // namespace

InnerStride KernelGenerator::inner(std::size_t operand) const {
  const KernelOperandInfo& info = kernel_.operands[operand];
  if (kernel_.form == LoopForm::row && !info.moves) return InnerStride::zero;
  // Writing the same element from all lanes would be a race of lanes; there is only one then.
  if (info.output && info.inner == InnerStride::zero) return InnerStride::any;
  return info.inner;
}

/// 0: made of numbers alone; 1: the same along a row; 2: an element value.
void KernelGenerator::find_levels() {
  levels_.assign(kernel_.body.size(), 0);
  for (std::size_t at = 0; at < levels_.size(); ++at) {
    const Instruction& i = kernel_.body[at];
    switch (i.kind) {
      case Kind::load: {
        const bool still = kernel_.form == LoopForm::map ? inner(i.index) == InnerStride::zero : rows_[at] != 0;
        levels_[at] = still ? 1 : 2;
        break;
      }
      case Kind::number:
        break;
      case Kind::reduce:
        levels_[at] = 1;
        break;
      case Kind::compute:
      case Kind::cast:
      case Kind::store:
        for (unsigned j = 0; j < i.input_count; ++j) levels_[at] = std::max(levels_[at], levels_[i.inputs[j]]);
        // A store happens where its elements are: of a map at every point, of a row value behind its pass.
        if (i.kind == Kind::store) {
          levels_[at] = kernel_.form == LoopForm::map ? 2 : std::max<std::uint8_t>(levels_[at], 1);
        }
        break;
    }
  }
}

void KernelGenerator::loop(Value* begin, Value* end, Value* step, const std::function<void(Value*)>& body) {
  llvm::LLVMContext& context = b_.getContext();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* inside = llvm::BasicBlock::Create(context, "loop", function);
  auto* after = llvm::BasicBlock::Create(context, "done", function);
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), inside, after);
  b_.SetInsertPoint(inside);
  llvm::PHINode* counter = b_.CreatePHI(b_.getInt64Ty(), 2);
  counter->addIncoming(begin, before);
  body(counter);
  Value* next = b_.CreateAdd(counter, step);
  counter->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), inside, after);
  b_.SetInsertPoint(after);
}

void KernelGenerator::when(Value* condition, const std::function<void()>& body) {
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  auto* inside = llvm::BasicBlock::Create(b_.getContext(), "then", function);
  auto* after = llvm::BasicBlock::Create(b_.getContext(), "done", function);
  b_.CreateCondBr(condition, inside, after);
  b_.SetInsertPoint(inside);
  body();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void KernelGenerator::vectors(Value* begin, Value* end, const std::function<void(const Point&)>& body) {
  const std::uint64_t lanes = emitter_.lanes();
  if (style_.compact) {
    return loop(begin, end, b_.getInt64(lanes),
                [&](Value* i) { body(Point{.index = i, .mask = emitter_.mask_of(b_.CreateSub(end, i))}); });
  }
  // `begin` is 0 or the start of a block, either way a multiple of the lanes.
  Value* full = b_.CreateAnd(end, b_.getInt64(~(lanes - 1)));
  const auto whole = [&](bool stream) {
    if (kernel_.form == LoopForm::map && stages_.size() > 1) {
      map_stages(full, stream);
    } else {
      loop(begin, full, b_.getInt64(lanes), [&](Value* i) { body(Point{.index = i, .stream = stream}); });
    }
  };
  if (style_.stream) {
    when(stream_, [&] { whole(true); });
    when(b_.CreateNot(stream_), [&] { whole(false); });
  } else {
    whole(false);
  }
  when(b_.CreateICmpSLT(full, end),
       [&] { body(Point{.index = full, .mask = emitter_.mask_of(b_.CreateSub(end, full))}); });
}

void KernelGenerator::emit_where(const std::function<bool(std::size_t)>& chosen, const Point& point) {
  for (std::size_t at = 0; at < kernel_.body.size(); ++at) {
    if (chosen(at)) emit(at, point);
  }
}

Value* KernelGenerator::address(std::size_t operand, const Point& point) {
  Value* base = bases_[operand];
  if (point.reduced != nullptr && reduced_strides_[operand] != nullptr) {
    base = b_.CreatePtrAdd(base, b_.CreateMul(point.reduced, reduced_strides_[operand]));
  }
  switch (inner(operand)) {
    case InnerStride::zero:
      return base;
    case InnerStride::one:
      return b_.CreatePtrAdd(base, b_.CreateMul(point.index, b_.getInt64(size_of(kernel_.operands[operand].dtype))));
    case InnerStride::any:
      return b_.CreatePtrAdd(base, b_.CreateMul(point.index, inner_strides_[operand]));
  }
  return nullptr;
}

void KernelGenerator::emit(std::size_t at, const Point& point) {
  const Instruction& i = kernel_.body[at];
  const bool kept = kept_ && kept_->at == at;
  if (kept && pass_ > kept_->pass) {
    values_[at] = load(kept_->operand, point);
    return;
  }
  switch (i.kind) {
    case Kind::load:
      values_[at] = load(i.index, point);
      break;
    case Kind::number:
      values_[at] = emitter_.load_one(i.dtype, b_.CreateConstGEP1_64(b_.getInt8Ty(), numbers_, 16ULL * i.index));
      break;
    case Kind::compute: {
      Value* args[3] = {};
      for (unsigned j = 0; j < i.input_count; ++j) args[j] = values_[i.inputs[j]];
      const DType dtype = kernel_.body[i.inputs[i.input_count - 1]].dtype;
      // Along a column's row neighbouring row values differ.
      const bool uniform = levels_[at] == 0 || (levels_[at] == 1 && kernel_.form != LoopForm::column);
      values_[at] = emitter_.compute(i.op, dtype, i.dtype, {args, i.input_count}, uniform);
      break;
    }
    case Kind::cast:
      values_[at] = emitter_.cast(values_[i.inputs[0]], kernel_.body[i.inputs[0]].dtype, i.dtype);
      break;
    case Kind::store:
      if (kernel_.form != LoopForm::map && levels_[at] == 1) {
        when(store_rows_, [&] { store(i.index, values_[i.inputs[0]], point); });
      } else {
        store(i.index, values_[i.inputs[0]], point);
      }
      break;
    case Kind::reduce:
      break;  // the loops do it
  }
  if (kept && pass_ == kept_->pass) store(kept_->operand, values_[at], point);
}

Value* KernelGenerator::load(std::size_t operand, const Point& point) {
  const DType dtype = kernel_.operands[operand].dtype;
  if (tiles_[operand] != nullptr) return emitter_.load(dtype, tiles_[operand], nullptr);
  Value* pointer = address(operand, point);
  switch (inner(operand)) {
    case InnerStride::zero:
      return emitter_.load_one(dtype, pointer);
    case InnerStride::one:
      return emitter_.load(dtype, pointer, point.mask);
    case InnerStride::any:
      return emitter_.gather(dtype, pointer, lane_offsets_[operand], point.mask);
  }
  return nullptr;
}

void KernelGenerator::store(std::size_t operand, Value* value, const Point& point) {
  const DType dtype = kernel_.operands[operand].dtype;
  Value* pointer = address(operand, point);
  switch (inner(operand)) {
    case InnerStride::zero:
      return emitter_.store_one(dtype, value, pointer);
    case InnerStride::one:
      if (point.stream) return emitter_.stream(dtype, value, pointer);
      return emitter_.store(dtype, value, pointer, point.mask);
    case InnerStride::any:
      return emitter_.scatter(dtype, value, pointer, lane_offsets_[operand], point.mask);
  }
}

void KernelGenerator::map_rows() {
  Value* first = style_.tiles ? map_tiles() : b_.getInt64(0);
  loop(first, rows_count_, b_.getInt64(1), [&](Value* row) {
    go_to_row(row);
    map_row();
  });
  if (style_.stream) {
    // What went past the caches must not be overtaken by the news that it is there.
    when(stream_, [&] { style_.hooks.finish_streams(b_); });
  }
}

/// An operand whose neighbours in memory are in neighbouring rows would be read at one element a line of the cache.
/// Squares of it are turned in registers instead and read from a small copy.
Value* KernelGenerator::map_tiles() {
  const std::uint64_t lanes = emitter_.lanes();
  Value* side = b_.getInt64(lanes);
  Value* fits = b_.getTrue();
  std::vector<std::size_t> turned;
  std::vector<Value*> copies(kernel_.operands.size(), nullptr);
  for (std::size_t j = 0; j < kernel_.operands.size(); ++j) {
    const KernelOperandInfo& operand = kernel_.operands[j];
    if (operand.output || inner(j) != InnerStride::any || operand.picked_by != kNotPicked) continue;
    turned.push_back(j);
    copies[j] = emitter_.local(lanes * lanes * size_of(operand.dtype));
    fits = b_.CreateAnd(fits, b_.CreateICmpEQ(row_strides_[j], b_.getInt64(size_of(operand.dtype))));
  }
  Value* whole = b_.getInt64(~(lanes - 1));
  Value* rows = b_.CreateSelect(fits, b_.CreateAnd(rows_count_, whole), b_.getInt64(0));
  Value* columns = b_.CreateAnd(count_, whole);
  const auto emit_row = [&](const Point& point) {
    emit_where([&](std::size_t at) { return levels_[at] == 1; }, Point{.index = b_.getInt64(0)});
    emit_where([&](std::size_t at) { return levels_[at] == 2; }, point);
  };
  loop(b_.getInt64(0), rows, side, [&](Value* row) {
    const auto each_row = [&](const std::function<void(Value*)>& body) {
      loop(b_.getInt64(0), side, b_.getInt64(1), [&](Value* r) {
        go_to_row(b_.CreateAdd(row, r));
        body(r);
      });
    };
    loop(b_.getInt64(0), columns, side, [&](Value* column) {
      go_to_row(row);
      for (const std::size_t j : turned) {
        emitter_.turn_tile(kernel_.operands[j].dtype, address(j, Point{.index = column}), inner_strides_[j], copies[j]);
      }
      const auto use = [&](bool stream) {
        each_row([&](Value* r) {
          for (const std::size_t j : turned) {
            const std::uint64_t bytes = lanes * size_of(kernel_.operands[j].dtype);
            tiles_[j] = b_.CreatePtrAdd(copies[j], b_.CreateMul(r, b_.getInt64(bytes)));
          }
          emit_row(Point{.index = column, .stream = stream});
        });
      };
      if (style_.stream) {
        when(stream_, [&] { use(true); });
        when(b_.CreateNot(stream_), [&] { use(false); });
      } else {
        use(false);
      }
      tiles_.assign(tiles_.size(), nullptr);
    });
    when(b_.CreateICmpSLT(columns, count_), [&] {
      each_row(
          [&](Value*) { emit_row(Point{.index = columns, .mask = emitter_.mask_of(b_.CreateSub(count_, columns))}); });
    });
  });
  return rows;
}

/// Where a body takes long from its first load to its last store, a processor has too few elements under way to be
/// busy: its window of instructions ends. Such a body is cut into stages, each with a loop of its own over a few
/// vectors, and what later stages use of earlier ones waits in memory that stays in the nearest cache.
void KernelGenerator::find_stages() {
  constexpr int kWeightOfStage = 18;
  const auto weight = [&](const Instruction& i) {
    if (i.kind != Kind::compute || !is_floating(i.dtype)) return 1;
    return codegen::has_math(i.op) ? 20 : i.op == op::divide || i.op == op::sqrt ? 6 : 1;
  };
  stages_.assign(1, {});
  int total = 0;
  for (std::size_t at = 0; at < kernel_.body.size(); ++at) {
    if (levels_[at] == 2) total += weight(kernel_.body[at]);
  }
  const int count = total / kWeightOfStage;
  int done = 0;
  for (std::size_t at = 0; at < kernel_.body.size(); ++at) {
    if (levels_[at] != 2) continue;
    // Stores stand together in the end: an output may lie where an input does.
    const bool full = done * count >= total * static_cast<int>(stages_.size());
    if (full && static_cast<int>(stages_.size()) < count && kernel_.body[at].kind != Kind::store)
      stages_.emplace_back();
    stages_.back().push_back(at);
    done += weight(kernel_.body[at]);
  }
  std::size_t bytes = 0;
  for (const std::vector<std::size_t>& inputs : inputs_of_stages()) {
    for (const std::size_t from : inputs) bytes += kStageElements * size_of(kernel_.body[from].dtype);
  }
  if (bytes > kMostWaiting) stages_.assign(1, {});
}

/// What each stage uses of those before it.
std::vector<std::vector<std::size_t>> KernelGenerator::inputs_of_stages() const {
  std::vector<std::vector<std::size_t>> inputs(stages_.size());
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    for (const std::size_t at : stages_[s]) {
      const Instruction& i = kernel_.body[at];
      for (unsigned j = 0; j < i.input_count; ++j) {
        const std::size_t from = i.inputs[j];
        const bool known = std::find(inputs[s].begin(), inputs[s].end(), from) != inputs[s].end();
        if (levels_[from] == 2 && from < stages_[s].front() && !known) inputs[s].push_back(from);
      }
    }
  }
  return inputs;
}

void KernelGenerator::map_stages(Value* full, bool stream) {
  const std::uint64_t lanes = emitter_.lanes();
  const std::vector<std::vector<std::size_t>> inputs = inputs_of_stages();
  std::vector<Value*> memory(kernel_.body.size(), nullptr);  // of values that wait; what was loaded is loaded again
  for (const std::vector<std::size_t>& of_stage : inputs) {
    for (const std::size_t from : of_stage) {
      const Instruction& i = kernel_.body[from];
      if (i.kind != Kind::load && memory[from] == nullptr) {
        memory[from] = emitter_.local(kStageElements * size_of(i.dtype));
      }
    }
  }
  const auto waiting = [&](std::size_t at, Value* offset) {
    return b_.CreatePtrAdd(memory[at], b_.CreateMul(offset, b_.getInt64(size_of(kernel_.body[at].dtype))));
  };
  loop(b_.getInt64(0), full, b_.getInt64(kStageElements), [&](Value* chunk) {
    Value* rest = b_.CreateSub(full, chunk);
    Value* count =
        b_.CreateSelect(b_.CreateICmpSLT(rest, b_.getInt64(kStageElements)), rest, b_.getInt64(kStageElements));
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      loop(b_.getInt64(0), count, b_.getInt64(lanes), [&](Value* offset) {
        const Point point{.index = b_.CreateAdd(chunk, offset), .stream = stream};
        for (const std::size_t from : inputs[s]) {
          if (memory[from] == nullptr) {
            emit(from, point);
          } else {
            values_[from] = emitter_.load(kernel_.body[from].dtype, waiting(from, offset), nullptr);
          }
        }
        for (const std::size_t at : stages_[s]) {
          emit(at, point);
          if (memory[at] != nullptr) {
            emitter_.store(kernel_.body[at].dtype, values_[at], waiting(at, offset), nullptr);
          }
        }
      });
    }
  });
}

void KernelGenerator::map_row() {
  emit_where([&](std::size_t at) { return levels_[at] == 1; }, Point{.index = b_.getInt64(0)});
  vectors(b_.getInt64(0), count_,
          [&](const Point& point) { emit_where([&](std::size_t at) { return levels_[at] == 2; }, point); });
}

void generate(llvm::Module& module, const Kernel& kernel, const CodeStyle& style) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  auto* signature = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false);
  auto* function = llvm::Function::Create(signature, llvm::Function::ExternalLinkage, kEntryName, module);
  function->setDoesNotThrow();
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Value* frame = function->getArg(0);
  if (style.narrow_lanes != 0) {
    CodeStyle narrow_style = style;
    narrow_style.lanes = style.narrow_lanes;
    auto* narrow = llvm::BasicBlock::Create(context, "narrow", function);
    auto* wide = llvm::BasicBlock::Create(context, "wide", function);
    llvm::Value* count = builder.CreateAlignedLoad(
        builder.getInt64Ty(), builder.CreateConstGEP1_64(builder.getInt8Ty(), frame, offsetof(CallFrame, count)),
        llvm::Align(8));
    builder.CreateCondBr(builder.CreateICmpSLE(count, builder.getInt64(style.narrow_lanes)), narrow, wide);
    builder.SetInsertPoint(narrow);
    KernelGenerator(builder, kernel, narrow_style).run(frame);
    builder.CreateRetVoid();
    builder.SetInsertPoint(wide);
  }
  KernelGenerator(builder, kernel, style).run(frame);
  builder.CreateRetVoid();
}

}  // namespace lento::cpu
