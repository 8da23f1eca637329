#include "backends/cpu/code/reduce_loops.h"

#include "backends/cpu/code/block_tree.h"
#include "backends/cpu/code/loop_symbols.h"
#include "ir/op_reduction.gen.h"
#include "ir/reduction_order.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace lento::cpu {

using llvm::Value;
using Kind = Instruction::Kind;

namespace {

Value* smaller(llvm::IRBuilderBase& b, Value* x, Value* y) { return b.CreateSelect(b.CreateICmpSLT(x, y), x, y); }

/// The reduction of nothing.
double empty_value(Op op) { return op == op::reduce_prod || op == op::reduce_all ? 1 : 0; }

}  // namespace

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

ReduceLoops::ReduceLoops(KernelBody body)
    : body_(std::move(body)),
      b_(body_.b),
      emitter_(body_.emitter),
      kernel_(body_.kernel),
      passes_(kernel_, body_.level),
      search_(body_) {}

void ReduceLoops::write_columns(Value* first) { write_passes(Point{.index = first}); }

void ReduceLoops::write(Value* first_row) {
  body_.loop(first_row, body_.frame.rows, b_.getInt64(1), [&](Value* row) {
    body_.go_to_row(row);
    if (by_rows()) return write_passes(Point{.index = b_.getInt64(0)});
    body_.loop(b_.getInt64(0), body_.frame.count, b_.getInt64(emitter_.lanes()), [&](Value* first) {
      // One body for whole and partial vectors: there is much of it.
      write_passes(Point{.index = first, .mask = emitter_.mask_of(b_.CreateSub(body_.frame.count, first))});
    });
  });
}

void ReduceLoops::write_passes(const Point& start) {
  emit_row_values(0, start);
  for (std::uint16_t number = 0; number <= passes_.last(); ++number) {
    write_pass({number, passes_.needed_in(number), accumulators_of(number, start)}, start);
    emit_row_values(static_cast<std::uint16_t>(number + 1), start);
  }
}

void ReduceLoops::write_pass(const Pass& pass, const Point& start) {
  const bool has_elements = std::ranges::find(pass.needed, 1) != pass.needed.end();
  if (!pass.accumulators.empty()) {
    when_in(pass, [&] { by_rows() ? row_pass(pass) : column_pass(pass, start); });
    read_results(pass);
  } else if (has_elements && by_rows()) {
    when_in(pass, [&] {
      body_.vectors(body_.frame.reduced_begin, body_.frame.reduced_end,
                    [&](const Point& point) { emit_elements(pass, point); });
    });
  } else if (has_elements) {
    when_in(pass, [&] {
      body_.loop(body_.frame.reduced_begin, body_.frame.reduced_end, b_.getInt64(1),
                 [&](Value* k) { emit_elements(pass, Point{start.index, start.mask, k}); });
    });
  }
}

void ReduceLoops::when_in(const Pass& pass, const std::function<void()>& write) {
  Value* number = b_.getInt64(pass.number);
  Value* before_end = b_.CreateICmpSLT(number, body_.frame.end_pass);
  body_.when(b_.CreateAnd(b_.CreateICmpSLE(body_.frame.first_pass, number), before_end), write);
}

void ReduceLoops::emit_elements(const Pass& pass, const Point& point) {
  const std::optional<ReducePasses::Kept>& kept = passes_.kept();
  for (std::size_t at = 0; at < kernel_.body.size(); ++at) {
    if (pass.needed[at] == 0) continue;
    if (kept && kept->at == at && pass.number > kept->pass) {
      body_.values[at] = body_.load(kept->operand, point);
      continue;
    }
    if (const std::optional<std::size_t> operand = passes_.read_back(at, pass.number)) {
      body_.values[at] = body_.load(*operand, point);
      continue;
    }
    body_.emit(at, point);
    if (kept && kept->at == at && pass.number == kept->pass) body_.store(kept->operand, body_.values[at], point);
  }
}

void ReduceLoops::emit_row_values(std::uint16_t pass, const Point& point) {
  for (std::size_t at = 0; at < kernel_.body.size(); ++at) {
    if (body_.level[at] != Level::row || passes_.of(at) != pass) continue;
    if (kernel_.body[at].kind == Kind::store) {
      body_.when(body_.frame.store_rows, [&] { body_.emit(at, point); });
    } else {
      body_.emit(at, point);
    }
  }
}

// ---- Accumulators.

std::vector<Accumulator> ReduceLoops::accumulators_of(std::uint16_t pass, const Point& start) {
  std::vector<Accumulator> result;
  const std::vector<ResultSlot> slots = result_slots(kernel_);
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (slots[s].pass != pass || slots[s].position) continue;
    Accumulator accumulator;
    accumulator.at = slots[s].at;
    accumulator.dtype = slots[s].dtype;
    accumulator.result = result_memory(s, accumulator.dtype, start);
    const std::size_t bytes = size_of(accumulator.dtype) * width();
    const Op op = this->op(accumulator);
    const bool searches = codegen::finds_position(op);
    if (body_.style.groups && !searches) {
      for (unsigned lane = 0; lane < kReductionLanes; lane += emitter_.lanes()) {
        accumulator.groups.push_back(emitter_.local_value(accumulator.dtype));
      }
      if (is_floating(accumulator.dtype) && (op == op::reduce_max || op == op::reduce_min)) {
        accumulator.nans = emitter_.local_value(DType::bool_);
      }
    } else {
      accumulator.lanes = emitter_.local(bytes * kReductionLanes);
    }
    if (searches) {
      FoundPositions& search = accumulator.search.emplace();
      search.best = emitter_.local(bytes * kReductionLanes);
      search.steps = emitter_.local(size_of(DType::int32) * width() * kReductionLanes);
      search.positions = emitter_.local(size_of(DType::int64) * width() * kReductionLanes);
      search.position = result_memory(s + 1, DType::int64, start);
    } else {
      accumulator.tree = emitter_.local(block_tree_bytes(bytes));
    }
    result.push_back(std::move(accumulator));
  }
  return result;
}

Value* ReduceLoops::result_memory(std::size_t slot, DType dtype, const Point& start) {
  Value* own = emitter_.local(size_of(dtype) * width());
  Value* column = b_.CreateMul(start.index, b_.getInt64(size_of(dtype)));
  Value* offset = b_.CreateAdd(b_.CreateMul(body_.frame.result_stride, b_.getInt64(slot)), column);
  Value* given = b_.CreatePtrAdd(body_.frame.results, offset);
  return b_.CreateSelect(b_.CreateIsNull(body_.frame.results), own, given);
}

void ReduceLoops::start_results(const Pass& pass) {
  for (const Accumulator& a : pass.accumulators) {
    if (a.search) {
      search_.start(a);
      continue;
    }
    Value* empty = emitter_.number(a.dtype, empty_value(op(a)));
    if (by_rows()) {
      emitter_.store_one(a.dtype, empty, a.result);
    } else {
      emitter_.store(a.dtype, empty, a.result, nullptr);
    }
    b_.CreateStore(b_.getInt64(0), a.tree);
  }
}

void ReduceLoops::call_tree(const std::string& function, const Accumulator& a) {
  llvm::Type* pointer = llvm::PointerType::getUnqual(b_.getContext());
  auto* signature = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, b_.getInt64Ty()}, false);
  llvm::Module* module = b_.GetInsertBlock()->getModule();
  b_.CreateCall(module->getOrInsertFunction(function, signature), {a.tree, a.result, b_.getInt64(width())});
}

void ReduceLoops::push_block(const Accumulator& a) {
  body_.when(body_.frame.has_blocks, [&] { call_tree(push_block_symbol(op(a), a.dtype), a); });
}

void ReduceLoops::finish_results(const Pass& pass) {
  for (const Accumulator& a : pass.accumulators) {
    if (a.search) {
      search_.finish(a);
    } else {
      body_.when(body_.frame.has_blocks, [&] { call_tree(finish_blocks_symbol(op(a), a.dtype), a); });
    }
  }
}

void ReduceLoops::read_results(const Pass& pass) {
  for (const Accumulator& a : pass.accumulators) {
    const DType dtype = a.search ? DType::int64 : a.dtype;
    Value* memory = a.search ? a.search->position : a.result;
    Value* result = by_rows() ? emitter_.load_one(dtype, memory) : emitter_.load(dtype, memory, nullptr);
    body_.values[a.at] = emitter_.rounded(kernel_.body[a.at].dtype, result);
  }
}

Value* ReduceLoops::lane_memory(const Accumulator& a, Value* lane) {
  return b_.CreatePtrAdd(a.lanes, b_.CreateMul(lane, b_.getInt64(size_of(a.dtype) * std::uint64_t{width()})));
}

// ---- Rows.

void ReduceLoops::row_pass(const Pass& pass) {
  start_results(pass);
  body_.loop(body_.frame.reduced_begin, body_.frame.reduced_end, b_.getInt64(kReductionBlock), [&](Value* block) {
    Value* end = smaller(b_, b_.CreateAdd(block, b_.getInt64(kReductionBlock)), body_.frame.reduced_end);
    for (const Accumulator& a : pass.accumulators) {
      a.search ? search_.start_block(a) : start_row_block(a);
    }
    grouped_vectors(block, end, [&](const Point& point, unsigned group) {
      emit_elements(pass, point);
      for (const Accumulator& a : pass.accumulators) {
        a.search ? search_.compare(a, point, block) : combine_lanes(a, point, group);
      }
    });
    for (const Accumulator& a : pass.accumulators) {
      if (a.search) {
        search_.finish_block(a, block);
        continue;
      }
      fold_row_block(a);
      push_block(a);
    }
  });
  finish_results(pass);
}

void ReduceLoops::grouped_vectors(Value* begin, Value* end, const std::function<void(const Point&, unsigned)>& write) {
  if (!body_.style.groups) {
    return body_.vectors(begin, end, [&](const Point& point) { write(point, 0); });
  }
  const unsigned lanes = emitter_.lanes();
  const unsigned groups = static_cast<unsigned>(kReductionLanes) / lanes;
  const auto at = [&](Value* first, unsigned group) { return b_.CreateAdd(first, b_.getInt64(group * lanes)); };
  Value* full = b_.CreateAnd(end, b_.getInt64(~std::uint64_t{kReductionLanes - 1}));
  body_.loop(begin, full, b_.getInt64(kReductionLanes), [&](Value* i) {
    for (unsigned group = 0; group < groups; ++group) write(Point{.index = at(i, group)}, group);
  });
  for (unsigned group = 0; group < groups; ++group) {
    body_.last_vector(at(full, group), end, [&](const Point& point) { write(point, group); });
  }
}

void ReduceLoops::start_row_block(const Accumulator& a) {
  Value* identity = emitter_.identity(op(a), a.dtype);
  for (Value* group : a.groups) b_.CreateStore(identity, group);
  if (a.nans != nullptr) b_.CreateStore(emitter_.number(DType::bool_, 0), a.nans);
  if (!a.groups.empty()) return;
  for (unsigned lane = 0; lane < kReductionLanes; lane += emitter_.lanes()) {
    emitter_.store(a.dtype, identity, lane_memory(a, b_.getInt64(lane)), nullptr);
  }
}

void ReduceLoops::combine_lanes(const Accumulator& a, const Point& point, unsigned group) {
  const Op op = this->op(a);
  Value* element = element_to_combine(body_, a);
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
  Value* lanes = lane_memory(a, b_.CreateAnd(point.index, b_.getInt64(kReductionLanes - 1)));
  Value* so_far = emitter_.load(a.dtype, lanes, nullptr);
  emitter_.store(a.dtype, emitter_.combine(op, a.dtype, so_far, element), lanes, nullptr);
}

std::vector<Value*> ReduceLoops::lanes_of(const Accumulator& a) {
  std::vector<Value*> vectors;
  for (Value* group : a.groups) vectors.push_back(emitter_.load_local(a.dtype, group));
  if (!vectors.empty()) return vectors;
  for (unsigned lane = 0; lane < kReductionLanes; lane += emitter_.lanes()) {
    vectors.push_back(emitter_.load(a.dtype, lane_memory(a, b_.getInt64(lane)), nullptr));
  }
  return vectors;
}

void ReduceLoops::fold_row_block(const Accumulator& a) {
  const Op op = this->op(a);
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

// ---- Columns.

void ReduceLoops::column_pass(const Pass& pass, const Point& column) {
  start_results(pass);
  body_.loop(body_.frame.reduced_begin, body_.frame.reduced_end, b_.getInt64(kReductionBlock), [&](Value* block) {
    Value* end = smaller(b_, b_.CreateAdd(block, b_.getInt64(kReductionBlock)), body_.frame.reduced_end);
    Value* used = smaller(b_, b_.CreateSub(end, block), b_.getInt64(kReductionLanes));
    for (const Accumulator& a : pass.accumulators) {
      if (a.search) search_.start_block(a);
    }
    start_column_lanes(pass, used);
    body_.loop(block, end, b_.getInt64(1), [&](Value* k) {
      const Point point{column.index, column.mask, k};
      fetch_ahead(pass, column, k);
      emit_elements(pass, point);
      for (const Accumulator& a : pass.accumulators) {
        a.search ? search_.compare(a, point, block) : combine_columns(a, point);
      }
    });
    for (const Accumulator& a : pass.accumulators) {
      if (a.search) {
        search_.finish_block(a, block);
        continue;
      }
      fold_column_block(a, used);
      push_block(a);
    }
  });
  finish_results(pass);
}

void ReduceLoops::start_column_lanes(const Pass& pass, Value* used) {
  body_.loop(b_.getInt64(0), used, b_.getInt64(1), [&](Value* lane) {
    for (const Accumulator& a : pass.accumulators) {
      if (a.search) continue;
      emitter_.store(a.dtype, emitter_.identity(op(a), a.dtype), lane_memory(a, lane), nullptr);
    }
  });
}

void ReduceLoops::combine_columns(const Accumulator& a, const Point& point) {
  Value* lane = lane_memory(a, b_.CreateAnd(point.reduced, b_.getInt64(kReductionLanes - 1)));
  Value* so_far = emitter_.load(a.dtype, lane, nullptr);
  emitter_.store(a.dtype, emitter_.combine(op(a), a.dtype, so_far, element_to_combine(body_, a)), lane, nullptr);
}

void ReduceLoops::fold_column_block(const Accumulator& a, Value* used) {
  constexpr int kHalvings = std::countr_zero(static_cast<std::uint64_t>(kReductionLanes));
  body_.loop(b_.getInt64(1), b_.getInt64(kHalvings + 1), b_.getInt64(1), [&](Value* round) {
    Value* half = b_.CreateLShr(b_.getInt64(kReductionLanes), round);
    // Lanes i < half for which lane i + half exists: the rounds before have left at most twice as many as `half`.
    Value* left = smaller(b_, used, b_.CreateShl(half, b_.getInt64(1)));
    body_.loop(b_.getInt64(0), b_.CreateSub(left, half), b_.getInt64(1), [&](Value* lane) {
      Value* low = lane_memory(a, lane);
      Value* high = lane_memory(a, b_.CreateAdd(lane, half));
      Value* folded =
          emitter_.combine(op(a), a.dtype, emitter_.load(a.dtype, low, nullptr), emitter_.load(a.dtype, high, nullptr));
      emitter_.store(a.dtype, folded, low, nullptr);
    });
  });
  emitter_.store(a.dtype, emitter_.load(a.dtype, a.lanes, nullptr), a.result, nullptr);
}

/// Rows lie far apart, so that processors do not guess that the next ones are needed.
void ReduceLoops::fetch_ahead(const Pass& pass, const Point& column, Value* k) {
  constexpr std::uint64_t kRowsAhead = 24;
  constexpr std::uint64_t kLine = 64;
  if (body_.style.compact || body_.style.short_rows) return;
  for (std::size_t at = 0; at < pass.needed.size(); ++at) {
    const Instruction& i = kernel_.body[at];
    if (pass.needed[at] == 0 || i.kind != Kind::load || inner_stride(kernel_, i.index) != InnerStride::one) continue;
    // Behind the end it is harmless: nothing is read that is not there.
    const Point further{.index = column.index, .reduced = b_.CreateAdd(k, b_.getInt64(kRowsAhead))};
    Value* ahead = body_.address(i.index, further);
    for (std::uint64_t byte = 0; byte < size_of(i.dtype) * emitter_.lanes(); byte += kLine) {
      Value* line = b_.CreateConstGEP1_64(b_.getInt8Ty(), ahead, byte);
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()},
                         {line, b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
    }
  }
}

}  // namespace lento::cpu
