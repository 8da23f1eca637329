// The loops that reduce, in the order of ir/reduction_order.h: the 64 lanes of a block are memory, a vector of
// them (row kernels) or a vector for each of them (column kernels); the tree over blocks, which few reductions are long
// enough to need, is a function of this library.
#include "backends/cpu/code/kernel_generator.h"
#include "backends/cpu/code/loop_symbols.h"
#include "codegen/math/math.h"
#include "ir/op_reduction.gen.h"
#include "ir/reduction_order.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace lento::cpu {

using llvm::Value;
using Kind = Instruction::Kind;

namespace {

Value* smaller(llvm::IRBuilderBase& b, Value* x, Value* y) { return b.CreateSelect(b.CreateICmpSLT(x, y), x, y); }

/// The reduction of nothing.
double empty_value(Op op) { return op == op::reduce_prod || op == op::reduce_all ? 1 : 0; }

}  // namespace

std::uint16_t KernelGenerator::last_pass() const {
  return passes_.empty() ? std::uint16_t{0} : *std::max_element(passes_.begin(), passes_.end());
}

std::vector<std::uint8_t> KernelGenerator::needed_in(std::uint16_t pass) const {
  std::vector<std::uint8_t> needed(kernel_.body.size(), 0);
  for (std::size_t at = needed.size(); at-- > 0;) {
    const Instruction& i = kernel_.body[at];
    const bool runs = passes_[at] == pass && (i.kind == Kind::reduce || (i.kind == Kind::store && levels_[at] == 2));
    if (!runs && needed[at] == 0) continue;
    needed[at] = levels_[at] == 2 ? 1 : 0;
    if (kept_ && kept_->at == at && pass > kept_->pass) continue;
    for (unsigned j = 0; j < i.input_count; ++j) {
      if (levels_[i.inputs[j]] == 2) needed[i.inputs[j]] = 1;
    }
  }
  return needed;
}

std::optional<std::size_t> KernelGenerator::output_to_keep(std::size_t at, std::uint16_t pass) const {
  std::uint16_t last_use = 0;
  for (std::uint16_t later = pass; later <= last_pass(); ++later) {
    if (needed_in(later)[at] != 0) last_use = later;
  }
  if (last_use == pass) return std::nullopt;
  for (std::size_t s = at + 1; s < kernel_.body.size(); ++s) {
    const Instruction& store = kernel_.body[s];
    if (store.kind != Kind::store || levels_[s] != 2 || passes_[s] < last_use) continue;
    const KernelOperandInfo& operand = kernel_.operands[store.index];
    if (operand.dtype != kernel_.body[at].dtype || operand.inner != InnerStride::one) continue;
    const auto users = std::count_if(kernel_.body.begin(), kernel_.body.end(), [&](const Instruction& i) {
      return (i.kind == Kind::load || i.kind == Kind::store) && i.index == store.index;
    });
    if (users == 1) return store.index;
  }
  return std::nullopt;
}

void KernelGenerator::find_kept() {
  for (std::uint16_t pass = 0; pass < last_pass(); ++pass) {
    const std::vector<std::uint8_t> needed = needed_in(pass);
    for (std::size_t at = needed.size(); at-- > 0;) {
      const Instruction& i = kernel_.body[at];
      if (needed[at] == 0 || i.kind != Kind::compute || !codegen::has_math(i.op) || !is_floating(i.dtype)) continue;
      const std::optional<std::size_t> output = output_to_keep(at, pass);
      if (!output) continue;
      kept_ = Kept{at, *output, pass};
      // An output may lie where an input does: nothing may be read there any more.
      bool reads = false;
      for (std::size_t j = at + 1; j < needed.size(); ++j)
        reads |= needed[j] != 0 && kernel_.body[j].kind == Kind::load;
      for (auto later = static_cast<std::uint16_t>(pass + 1); later <= last_pass(); ++later) {
        const std::vector<std::uint8_t> still = needed_in(later);
        for (std::size_t j = 0; j < still.size(); ++j) reads |= still[j] != 0 && kernel_.body[j].kind == Kind::load;
      }
      if (!reads) return;
      kept_.reset();
    }
  }
}

std::vector<ResultSlot> result_slots(const Kernel& kernel) {
  const std::vector<std::uint16_t> pass = passes(kernel);
  std::vector<ResultSlot> slots;
  for (std::size_t at = 0; at < kernel.body.size(); ++at) {
    const Instruction& i = kernel.body[at];
    if (i.kind != Kind::reduce) continue;
    slots.push_back({at, codegen::accumulator_dtype(i.op, kernel.body[i.inputs[0]].dtype), pass[at], false});
    if (codegen::finds_position(i.op)) slots.push_back({at, DType::int64, pass[at], true});
  }
  return slots;
}

std::vector<KernelGenerator::Accumulator> KernelGenerator::accumulators_of(std::uint16_t pass, const Point& start) {
  std::vector<Accumulator> result;
  const unsigned width = kernel_.form == LoopForm::column ? emitter_.lanes() : 1;
  const std::vector<ResultSlot> slots = result_slots(kernel_);
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (slots[s].pass != pass || slots[s].position) continue;
    Accumulator accumulator;
    accumulator.at = slots[s].at;
    accumulator.dtype = slots[s].dtype;
    accumulator.result = result_memory(s, accumulator.dtype, start);
    const std::size_t bytes = size_of(accumulator.dtype) * width;
    const bool searches = codegen::finds_position(kernel_.body[accumulator.at].op);
    if (style_.groups && !searches) {
      for (unsigned lane = 0; lane < kReductionLanes; lane += emitter_.lanes())
        accumulator.groups.push_back(emitter_.local_value(accumulator.dtype));
      const Op op = kernel_.body[accumulator.at].op;
      if (is_floating(accumulator.dtype) && (op == op::reduce_max || op == op::reduce_min))
        accumulator.nans = emitter_.local_value(DType::bool_);
    } else {
      accumulator.lanes = emitter_.local(bytes * kReductionLanes);
    }
    if (searches) {
      accumulator.best = emitter_.local(bytes * kReductionLanes);
      accumulator.steps = emitter_.local(size_of(DType::int32) * width * kReductionLanes);
      accumulator.positions = emitter_.local(size_of(DType::int64) * width * kReductionLanes);
      accumulator.position = result_memory(s + 1, DType::int64, start);
    } else {
      accumulator.tree = emitter_.local(block_tree_bytes(bytes));
    }
    result.push_back(accumulator);
  }
  return result;
}

Value* KernelGenerator::result_memory(std::size_t slot, DType dtype, const Point& start) {
  const unsigned width = kernel_.form == LoopForm::column ? emitter_.lanes() : 1;
  Value* own = emitter_.local(size_of(dtype) * width);
  Value* offset = b_.CreateAdd(b_.CreateMul(result_stride_, b_.getInt64(slot)),
                               b_.CreateMul(start.index, b_.getInt64(size_of(dtype))));
  return b_.CreateSelect(b_.CreateIsNull(results_), own, b_.CreatePtrAdd(results_, offset));
}

void KernelGenerator::when_in_pass(std::uint16_t pass, const std::function<void()>& body) {
  Value* number = b_.getInt64(pass);
  when(b_.CreateAnd(b_.CreateICmpSLE(first_pass_, number), b_.CreateICmpSLT(number, end_pass_)), body);
}

void KernelGenerator::emit_row_values(std::uint16_t pass, const Point& point) {
  emit_where([&](std::size_t at) { return levels_[at] == 1 && passes_[at] == pass; }, point);
}

Value* KernelGenerator::element_to_combine(const Accumulator& accumulator) {
  const Instruction& i = kernel_.body[accumulator.at];
  Value* value = values_[i.inputs[0]];
  const DType dtype = kernel_.body[i.inputs[0]].dtype;
  if (is_bool(accumulator.dtype)) return emitter_.cast(value, dtype, DType::bool_);
  return is_bool(dtype) ? emitter_.cast(value, dtype, accumulator.dtype) : value;
}

/// The memory of a lane (row kernels) or of a lane of all columns (column kernels).
Value* KernelGenerator::accumulator_bytes(const Accumulator& accumulator, Value* lane) const {
  const std::uint64_t width = kernel_.form == LoopForm::column ? emitter_.lanes() : 1;
  return b_.CreatePtrAdd(accumulator.lanes, b_.CreateMul(lane, b_.getInt64(size_of(accumulator.dtype) * width)));
}

void KernelGenerator::start_results(const std::vector<Accumulator>& accumulators, unsigned width) {
  for (const Accumulator& a : accumulators) {
    if (a.positions != nullptr) {
      start_search(a);
      continue;
    }
    Value* empty = emitter_.number(a.dtype, empty_value(kernel_.body[a.at].op));
    if (width == 1) {
      emitter_.store_one(a.dtype, empty, a.result);
    } else {
      emitter_.store(a.dtype, empty, a.result, nullptr);
    }
    b_.CreateStore(b_.getInt64(0), a.tree);
  }
}

void KernelGenerator::push_block(const Accumulator& a, unsigned width) {
  when(has_blocks_, [&] {
    llvm::Type* pointer = llvm::PointerType::getUnqual(b_.getContext());
    auto* signature = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, b_.getInt64Ty()}, false);
    llvm::Module* module = b_.GetInsertBlock()->getModule();
    const std::string name = push_block_symbol(kernel_.body[a.at].op, a.dtype);
    b_.CreateCall(module->getOrInsertFunction(name, signature), {a.tree, a.result, b_.getInt64(width)});
  });
}

void KernelGenerator::finish_results(const std::vector<Accumulator>& accumulators, unsigned width) {
  for (const Accumulator& a : accumulators) {
    if (a.positions != nullptr) {
      finish_search(a);
      continue;
    }
    when(has_blocks_, [&] {
      llvm::Type* pointer = llvm::PointerType::getUnqual(b_.getContext());
      auto* signature = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, b_.getInt64Ty()}, false);
      llvm::Module* module = b_.GetInsertBlock()->getModule();
      const std::string name = finish_blocks_symbol(kernel_.body[a.at].op, a.dtype);
      b_.CreateCall(module->getOrInsertFunction(name, signature), {a.tree, a.result, b_.getInt64(width)});
    });
  }
}

void KernelGenerator::read_results(const std::vector<Accumulator>& accumulators, unsigned width) {
  for (const Accumulator& a : accumulators) {
    const DType dtype = a.positions != nullptr ? DType::int64 : a.dtype;
    Value* memory = a.positions != nullptr ? a.position : a.result;
    Value* result = width == 1 ? emitter_.load_one(dtype, memory) : emitter_.load(dtype, memory, nullptr);
    values_[a.at] = emitter_.rounded(kernel_.body[a.at].dtype, result);
  }
}

// ---- Rows: the last dimension is reduced.

void KernelGenerator::reduce_row() {
  const Point start{.index = b_.getInt64(0)};
  emit_row_values(0, start);
  for (std::uint16_t pass = 0; pass <= last_pass(); ++pass) {
    pass_ = pass;
    const std::vector<std::uint8_t> needed = needed_in(pass);
    const std::vector<Accumulator> accumulators = accumulators_of(pass, start);
    const auto emit_elements = [&](const Point& point) {
      emit_where([&](std::size_t at) { return needed[at] != 0; }, point);
    };
    if (!accumulators.empty()) {
      when_in_pass(pass, [&] { row_pass(needed, accumulators); });
      read_results(accumulators, 1);
    } else if (std::find(needed.begin(), needed.end(), 1) != needed.end()) {
      when_in_pass(pass, [&] { vectors(reduced_begin_, reduced_end_, emit_elements); });
    }
    emit_row_values(static_cast<std::uint16_t>(pass + 1), start);
  }
}

std::vector<Value*> KernelGenerator::lanes_of(const Accumulator& a) {
  std::vector<Value*> vectors;
  for (Value* group : a.groups) vectors.push_back(emitter_.load_local(a.dtype, group));
  if (!vectors.empty()) return vectors;
  for (unsigned lane = 0; lane < kReductionLanes; lane += emitter_.lanes()) {
    vectors.push_back(emitter_.load(a.dtype, accumulator_bytes(a, b_.getInt64(lane)), nullptr));
  }
  return vectors;
}

void KernelGenerator::start_block(const Accumulator& a) {
  if (a.positions != nullptr) return start_block_search(a);
  Value* identity = emitter_.identity(kernel_.body[a.at].op, a.dtype);
  for (Value* group : a.groups) b_.CreateStore(identity, group);
  if (a.nans != nullptr) b_.CreateStore(emitter_.number(DType::bool_, 0), a.nans);
  if (!a.groups.empty()) return;
  for (unsigned lane = 0; lane < kReductionLanes; lane += emitter_.lanes()) {
    emitter_.store(a.dtype, identity, accumulator_bytes(a, b_.getInt64(lane)), nullptr);
  }
}

void KernelGenerator::combine_lanes(const Accumulator& a, const Point& point, unsigned group) {
  const Op op = kernel_.body[a.at].op;
  Value* element = element_to_combine(a);
  if (point.mask != nullptr) element = emitter_.select(a.dtype, point.mask, element, emitter_.identity(op, a.dtype));
  if (!a.groups.empty()) {
    Value* so_far = emitter_.load_local(a.dtype, a.groups[group]);
    if (a.nans == nullptr) {
      b_.CreateStore(emitter_.combine(op, a.dtype, so_far, element), a.groups[group]);
      return;
    }
    b_.CreateStore(emitter_.combine_numbers(op, so_far, element), a.groups[group]);
    Value* nan = b_.CreateFCmpUNO(element, element);
    b_.CreateStore(b_.CreateOr(emitter_.load_local(DType::bool_, a.nans), nan), a.nans);
    return;
  }
  Value* lanes = accumulator_bytes(a, b_.CreateAnd(point.index, b_.getInt64(kReductionLanes - 1)));
  emitter_.store(a.dtype, emitter_.combine(op, a.dtype, emitter_.load(a.dtype, lanes, nullptr), element), lanes,
                 nullptr);
}

void KernelGenerator::grouped_vectors(Value* begin, Value* end,
                                      const std::function<void(const Point&, unsigned)>& body) {
  if (!style_.groups) return vectors(begin, end, [&](const Point& point) { body(point, 0); });
  const unsigned lanes = emitter_.lanes();
  const unsigned groups = static_cast<unsigned>(kReductionLanes) / lanes;
  const auto at = [&](Value* first, unsigned group) { return b_.CreateAdd(first, b_.getInt64(group * lanes)); };
  Value* full = b_.CreateAnd(end, b_.getInt64(~std::uint64_t{kReductionLanes - 1}));
  loop(begin, full, b_.getInt64(kReductionLanes), [&](Value* i) {
    for (unsigned group = 0; group < groups; ++group) body(Point{.index = at(i, group)}, group);
  });
  for (unsigned group = 0; group < groups; ++group) {
    Value* first = at(full, group);
    when(b_.CreateICmpSLT(first, end),
         [&] { body(Point{.index = first, .mask = emitter_.mask_of(b_.CreateSub(end, first))}, group); });
  }
}

void KernelGenerator::row_pass(const std::vector<std::uint8_t>& needed, const std::vector<Accumulator>& accumulators) {
  start_results(accumulators, 1);
  loop(reduced_begin_, reduced_end_, b_.getInt64(kReductionBlock), [&](Value* block) {
    Value* end = smaller(b_, b_.CreateAdd(block, b_.getInt64(kReductionBlock)), reduced_end_);
    for (const Accumulator& a : accumulators) start_block(a);
    grouped_vectors(block, end, [&](const Point& point, unsigned group) {
      emit_where([&](std::size_t at) { return needed[at] != 0; }, point);
      for (const Accumulator& a : accumulators) {
        a.positions != nullptr ? search(a, point, block) : combine_lanes(a, point, group);
      }
    });
    for (const Accumulator& a : accumulators) {
      if (a.positions != nullptr) {
        finish_block_search(a, block);
        continue;
      }
      fold_row_block(a);
      push_block(a, 1);
    }
  });
  finish_results(accumulators, 1);
}

void KernelGenerator::fold_row_block(const Accumulator& a) {
  const Op op = kernel_.body[a.at].op;
  std::vector<Value*> vectors = lanes_of(a);
  for (std::size_t half = vectors.size() / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) vectors[i] = emitter_.combine(op, a.dtype, vectors[i], vectors[i + half]);
  }
  Value* value = vectors[0];
  for (unsigned half = emitter_.lanes() / 2; half > 0; half /= 2) {
    value = emitter_.combine(op, a.dtype, value, emitter_.shift_down(a.dtype, value, half));
  }
  if (a.nans != nullptr) {
    Value* any = b_.CreateOrReduce(emitter_.load_local(DType::bool_, a.nans));
    value = b_.CreateSelect(any, emitter_.number(a.dtype, std::numeric_limits<double>::quiet_NaN()), value);
  }
  emitter_.store_one(a.dtype, value, a.result);
}

// ---- Columns: the last dimension but one is reduced, a vector of columns at a time.

void KernelGenerator::reduce_columns() {
  loop(b_.getInt64(0), count_, b_.getInt64(emitter_.lanes()), [&](Value* first) {
    // One body for whole and partial vectors: there is much of it.
    const Point column{.index = first, .mask = emitter_.mask_of(b_.CreateSub(count_, first))};
    emit_row_values(0, column);
    for (std::uint16_t pass = 0; pass <= last_pass(); ++pass) {
      pass_ = pass;
      const std::vector<std::uint8_t> needed = needed_in(pass);
      const std::vector<Accumulator> accumulators = accumulators_of(pass, column);
      if (!accumulators.empty()) {
        when_in_pass(pass, [&] { column_pass(needed, accumulators, column); });
        read_results(accumulators, emitter_.lanes());
      } else if (std::find(needed.begin(), needed.end(), 1) != needed.end()) {
        when_in_pass(pass, [&] {
          loop(reduced_begin_, reduced_end_, b_.getInt64(1), [&](Value* k) {
            emit_where([&](std::size_t at) { return needed[at] != 0; }, Point{column.index, column.mask, k});
          });
        });
      }
      emit_row_values(static_cast<std::uint16_t>(pass + 1), column);
    }
  });
}

/// Rows lie far apart, so that processors do not guess that the next ones are needed.
void KernelGenerator::fetch_ahead(const std::vector<std::uint8_t>& needed, const Point& column, Value* k) {
  constexpr std::uint64_t kRowsAhead = 24;
  constexpr std::uint64_t kLine = 64;
  if (style_.compact) return;
  for (std::size_t at = 0; at < needed.size(); ++at) {
    const Instruction& i = kernel_.body[at];
    if (needed[at] == 0 || i.kind != Kind::load || inner(i.index) != InnerStride::one) continue;
    // Behind the end it is harmless: nothing is read that is not there.
    Value* ahead = address(i.index, Point{.index = column.index, .reduced = b_.CreateAdd(k, b_.getInt64(kRowsAhead))});
    for (std::uint64_t byte = 0; byte < size_of(i.dtype) * emitter_.lanes(); byte += kLine) {
      Value* line = b_.CreateConstGEP1_64(b_.getInt8Ty(), ahead, byte);
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()},
                         {line, b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
    }
  }
}

void KernelGenerator::column_pass(const std::vector<std::uint8_t>& needed, const std::vector<Accumulator>& accumulators,
                                  const Point& column) {
  Value* one = b_.getInt64(1);
  start_results(accumulators, emitter_.lanes());
  loop(reduced_begin_, reduced_end_, b_.getInt64(kReductionBlock), [&](Value* block) {
    Value* end = smaller(b_, b_.CreateAdd(block, b_.getInt64(kReductionBlock)), reduced_end_);
    Value* used = smaller(b_, b_.CreateSub(end, block), b_.getInt64(kReductionLanes));
    for (const Accumulator& a : accumulators) {
      if (a.positions != nullptr) start_block_search(a);
    }
    loop(b_.getInt64(0), used, one, [&](Value* lane) {
      for (const Accumulator& a : accumulators) {
        if (a.positions != nullptr) continue;
        emitter_.store(a.dtype, emitter_.identity(kernel_.body[a.at].op, a.dtype), accumulator_bytes(a, lane), nullptr);
      }
    });
    loop(block, end, one, [&](Value* k) {
      const Point point{column.index, column.mask, k};
      fetch_ahead(needed, column, k);
      emit_where([&](std::size_t at) { return needed[at] != 0; }, point);
      for (const Accumulator& a : accumulators) {
        if (a.positions != nullptr) {
          search(a, point, block);
          continue;
        }
        Value* lane = accumulator_bytes(a, b_.CreateAnd(k, b_.getInt64(kReductionLanes - 1)));
        Value* so_far = emitter_.load(a.dtype, lane, nullptr);
        emitter_.store(a.dtype, emitter_.combine(kernel_.body[a.at].op, a.dtype, so_far, element_to_combine(a)), lane,
                       nullptr);
      }
    });
    for (const Accumulator& a : accumulators) {
      if (a.positions != nullptr) {
        finish_block_search(a, block);
        continue;
      }
      fold_column_block(a, used);
      push_block(a, emitter_.lanes());
    }
  });
  finish_results(accumulators, emitter_.lanes());
}

void KernelGenerator::fold_column_block(const Accumulator& a, Value* used) {
  const Op op = kernel_.body[a.at].op;
  constexpr int kHalvings = std::countr_zero(static_cast<std::uint64_t>(kReductionLanes));
  loop(b_.getInt64(1), b_.getInt64(kHalvings + 1), b_.getInt64(1), [&](Value* round) {
    Value* half = b_.CreateLShr(b_.getInt64(kReductionLanes), round);
    // Lanes i < half for which lane i + half exists: the rounds before have left at most twice as many as `half`.
    Value* left = smaller(b_, used, b_.CreateShl(half, b_.getInt64(1)));
    loop(b_.getInt64(0), b_.CreateSub(left, half), b_.getInt64(1), [&](Value* lane) {
      Value* low = accumulator_bytes(a, lane);
      Value* high = accumulator_bytes(a, b_.CreateAdd(lane, half));
      Value* folded =
          emitter_.combine(op, a.dtype, emitter_.load(a.dtype, low, nullptr), emitter_.load(a.dtype, high, nullptr));
      emitter_.store(a.dtype, folded, low, nullptr);
    });
  });
  emitter_.store(a.dtype, emitter_.load(a.dtype, a.lanes, nullptr), a.result, nullptr);
}

}  // namespace lento::cpu
