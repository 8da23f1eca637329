#include "backends/cpu/code/map_loops.h"

#include "codegen/math/math.h"
#include "ir/op_creation.gen.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_random.gen.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace lento::cpu {

using llvm::Value;
using Kind = Instruction::Kind;

namespace {

/// Elements that stages of a body work on in turn, and the bytes that may wait between stages: they are to stay in the
/// cache of the processor.
constexpr std::uint64_t kStageElements = 256;
constexpr std::size_t kMostWaiting = std::size_t{24} << 10;

}  // namespace

MapLoops::MapLoops(KernelBody body)
    : body_(std::move(body)),
      b_(body_.b),
      emitter_(body_.emitter),
      kernel_(body_.kernel),
      stages_(body_.style.stages ? make_stages() : std::vector<Stage>()) {}

void MapLoops::write() {
  Value* first = body_.style.tiles ? write_tiles() : b_.getInt64(0);
  body_.loop(first, body_.frame.rows, b_.getInt64(1), [&](Value* row) {
    body_.go_to_row(row);
    write_row();
  });
  if (body_.style.stream) {
    // What went past the caches must not be overtaken by the news that it is there.
    body_.when(body_.frame.stream, [&] { body_.style.hooks.finish_streams(b_); });
  }
}

void MapLoops::in_both_ways(const std::function<void(bool)>& write) {
  if (!body_.style.stream) return write(false);
  body_.when(body_.frame.stream, [&] { write(true); });
  body_.when(b_.CreateNot(body_.frame.stream), [&] { write(false); });
}

void MapLoops::write_row() {
  Value* zero = b_.getInt64(0);
  Value* count = body_.frame.count;
  const auto elements = [&](const Point& point) { body_.emit_level(Level::element, point); };
  body_.emit_level(Level::row, Point{.index = zero});
  if (body_.style.compact) return body_.masked_vectors(zero, count, elements);
  Value* whole = body_.whole_vectors(count);
  in_both_ways([&](bool stream) { write_whole_vectors(whole, stream); });
  body_.last_vector(whole, count, elements);
}

void MapLoops::write_whole_vectors(Value* end, bool stream) {
  if (stages_.size() > 1) return write_stages(end, stream);
  counting_loop(end, [&](Value* i) { body_.emit_level(Level::element, Point{.index = i, .stream = stream}); });
}

void MapLoops::counting_loop(Value* end, const std::function<void(Value*)>& body) {
  Value* zero = b_.getInt64(0);
  std::vector<std::size_t> carried;
  std::vector<Value*> first;
  for (std::size_t at = 0; at < kernel_.body.size(); ++at) {
    if (body_.level[at] != Level::element || body_.advance_of(at) == nullptr) continue;
    carried.push_back(at);
    first.push_back(body_.create(at, Point{.index = zero}));
  }
  llvm::BasicBlock* before = b_.GetInsertBlock();
  body_.loop(zero, end, b_.getInt64(emitter_.lanes()), [&](Value* i) {
    std::vector<llvm::PHINode*> now;
    for (std::size_t j = 0; j < carried.size(); ++j) {
      now.push_back(b_.CreatePHI(first[j]->getType(), 2));
      now[j]->addIncoming(first[j], before);
      body_.counted[carried[j]] = now[j];
    }
    body(i);
    for (std::size_t j = 0; j < carried.size(); ++j) {
      Value* next = b_.CreateAdd(now[j], body_.advance_of(carried[j]));
      now[j]->addIncoming(next, b_.GetInsertBlock());
      body_.counted[carried[j]] = nullptr;
    }
  });
}

// ---- Tiles.

/// An operand whose neighbours in memory are in neighbouring rows would be read at one element a line of the cache.
/// Squares of it are turned in registers instead and read from a small copy.
Value* MapLoops::write_tiles() {
  const std::uint64_t lanes = emitter_.lanes();
  Value* side = b_.getInt64(lanes);
  Value* fits = b_.getTrue();
  std::vector<std::size_t> turned;
  std::vector<Value*> copies(kernel_.operands.size(), nullptr);
  for (std::size_t j = 0; j < kernel_.operands.size(); ++j) {
    const KernelOperandInfo& operand = kernel_.operands[j];
    if (operand.output || operand.counted || inner_stride(kernel_, j) != InnerStride::any ||
        operand.picked_by != kNotPicked)
      continue;
    turned.push_back(j);
    copies[j] = emitter_.local(lanes * lanes * size_of(operand.dtype));
    fits = b_.CreateAnd(fits, b_.CreateICmpEQ(body_.frame.operands[j].row_stride, b_.getInt64(size_of(operand.dtype))));
  }
  Value* rows = b_.CreateSelect(fits, body_.whole_vectors(body_.frame.rows), b_.getInt64(0));
  Value* columns = body_.whole_vectors(body_.frame.count);
  const auto write_part_of_row = [&](const Point& point) {
    body_.emit_level(Level::row, Point{.index = b_.getInt64(0)});
    body_.emit_level(Level::element, point);
  };
  body_.loop(b_.getInt64(0), rows, side, [&](Value* row) {
    const auto each_row = [&](const std::function<void(Value*)>& write) {
      body_.loop(b_.getInt64(0), side, b_.getInt64(1), [&](Value* r) {
        body_.go_to_row(b_.CreateAdd(row, r));
        write(r);
      });
    };
    body_.loop(b_.getInt64(0), columns, side, [&](Value* column) {
      body_.go_to_row(row);
      for (const std::size_t j : turned) {
        const DType dtype = kernel_.operands[j].dtype;
        emitter_.turn_tile(dtype, {body_.address(j, Point{.index = column}), body_.frame.operands[j].inner_stride},
                           {copies[j], b_.getInt64(lanes * size_of(dtype))});
      }
      in_both_ways([&](bool stream) {
        each_row([&](Value* r) {
          for (const std::size_t j : turned) {
            const std::uint64_t bytes = lanes * size_of(kernel_.operands[j].dtype);
            body_.copies[j] = b_.CreatePtrAdd(copies[j], b_.CreateMul(r, b_.getInt64(bytes)));
          }
          write_part_of_row(Point{.index = column, .stream = stream});
        });
      });
      std::ranges::fill(body_.copies, nullptr);
    });
    body_.when(b_.CreateICmpSLT(columns, body_.frame.count), [&] {
      each_row([&](Value*) {
        Value* left = b_.CreateSub(body_.frame.count, columns);
        write_part_of_row(Point{.index = columns, .mask = emitter_.mask_of(left)});
      });
    });
  });
  return rows;
}

// ---- Stages.

/// Where a body takes long from its first load to its last store, a processor has too few elements under way to be
/// busy: its window of instructions ends. Such a body is cut into stages, each with a loop of its own over a few
/// vectors, and what later stages use of earlier ones waits in memory that stays in the nearest cache.
std::vector<MapLoops::Stage> MapLoops::make_stages() const {
  constexpr int kWeightOfStage = 18;
  const auto weight = [&](const Instruction& i) {
    if (i.kind == Kind::create && i.op == op::random_bits) return 20;
    if (i.kind != Kind::compute || !is_floating(i.dtype)) return 1;
    return codegen::has_math(i.op) ? 20 : i.op == op::divide || i.op == op::sqrt ? 6 : 1;
  };
  int total = 0;
  for (std::size_t at = 0; at < kernel_.body.size(); ++at) {
    if (body_.level[at] == Level::element) total += weight(kernel_.body[at]);
  }
  std::vector<Stage> stages(1);
  const int count = total / kWeightOfStage;
  int done = 0;
  for (std::size_t at = 0; at < kernel_.body.size(); ++at) {
    if (body_.level[at] != Level::element) continue;
    // Stores stand together in the end: an output may lie where an input does.
    const bool full = done * count >= total * static_cast<int>(stages.size());
    if (full && static_cast<int>(stages.size()) < count && kernel_.body[at].kind != Kind::store) stages.emplace_back();
    stages.back().push_back(at);
    done += weight(kernel_.body[at]);
  }
  std::size_t bytes = 0;
  for (const Stage& inputs : inputs_of(stages)) {
    for (const std::size_t from : inputs) bytes += kStageElements * size_of(kernel_.body[from].dtype);
  }
  if (bytes > kMostWaiting) stages.clear();
  return stages;
}

std::vector<MapLoops::Stage> MapLoops::inputs_of(const std::vector<Stage>& stages) const {
  std::vector<Stage> inputs(stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (const std::size_t at : stages[s]) {
      const Instruction& i = kernel_.body[at];
      for (unsigned j = 0; j < i.input_count; ++j) {
        const std::size_t from = i.inputs[j];
        const bool known = std::ranges::find(inputs[s], from) != inputs[s].end();
        if (body_.level[from] == Level::element && from < stages[s].front() && !known) inputs[s].push_back(from);
      }
    }
  }
  return inputs;
}

void MapLoops::write_stages(Value* end, bool stream) {
  const std::vector<Stage> inputs = inputs_of(stages_);
  // Of values that wait; what was loaded or counted is so again.
  std::vector<Value*> memory(kernel_.body.size(), nullptr);
  for (const Stage& of_stage : inputs) {
    for (const std::size_t from : of_stage) {
      const Instruction& i = kernel_.body[from];
      const bool again = i.kind == Kind::load || (i.kind == Kind::create && i.op == op::iota);
      if (!again && memory[from] == nullptr) {
        memory[from] = emitter_.local(kStageElements * size_of(i.dtype));
      }
    }
  }
  const auto waiting = [&](std::size_t at, Value* offset) {
    return b_.CreatePtrAdd(memory[at], b_.CreateMul(offset, b_.getInt64(size_of(kernel_.body[at].dtype))));
  };
  body_.loop(b_.getInt64(0), end, b_.getInt64(kStageElements), [&](Value* chunk) {
    Value* rest = b_.CreateSub(end, chunk);
    Value* count =
        b_.CreateSelect(b_.CreateICmpSLT(rest, b_.getInt64(kStageElements)), rest, b_.getInt64(kStageElements));
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      body_.loop(b_.getInt64(0), count, b_.getInt64(emitter_.lanes()), [&](Value* offset) {
        const Point point{.index = b_.CreateAdd(chunk, offset), .stream = stream};
        for (const std::size_t from : inputs[s]) {
          if (memory[from] == nullptr) {
            body_.emit(from, point);
          } else {
            body_.values[from] = emitter_.load(kernel_.body[from].dtype, waiting(from, offset), nullptr);
          }
        }
        for (const std::size_t at : stages_[s]) {
          body_.emit(at, point);
          if (memory[at] != nullptr) {
            emitter_.store(kernel_.body[at].dtype, body_.values[at], waiting(at, offset), nullptr);
          }
        }
      });
    }
  });
}

}  // namespace lento::cpu
