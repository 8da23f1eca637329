#include "backends/cpu/native/recurrence_gates.h"

#include "backends/cpu/launch.h"
#include "ir/op_elementwise.gen.h"

#include <array>
#include <cassert>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>

namespace lento::cpu {

namespace {

constexpr std::size_t kMostMatrices = 20;

/// A map over (rows, columns), written down element by element. The formulas are those of src/ops/recurrent_loops.cpp.
class Formula {
 public:
  using Value = std::uint16_t;

  explicit Formula(DType dtype) : dtype_(dtype) { kernel_.dims = 2; }

  /// The element of the next matrix.
  Value read() { return add({.kind = Instruction::Kind::load, .dtype = dtype_, .index = operand(false)}); }
  template <std::size_t count>
  std::array<Value, count> read_all() {
    std::array<Value, count> values;
    for (Value& value : values) value = read();
    return values;
  }
  void write(Value value) {
    add({.kind = Instruction::Kind::store,
         .dtype = dtype_,
         .input_count = 1,
         .index = operand(true),
         .inputs = {value}});
  }

  Value sum(Value a, Value b) { return compute(op::add, {a, b}); }
  Value difference(Value a, Value b) { return compute(op::subtract, {a, b}); }
  Value product(Value a, Value b) { return compute(op::multiply, {a, b}); }
  Value product(Value a, Value b, Value c) { return product(product(a, b), c); }
  Value sigmoid(Value a) { return compute(op::sigmoid, {a}); }
  Value tanh(Value a) { return compute(op::tanh, {a}); }
  /// 1 - a
  Value rest(Value a) { return difference(one(), a); }
  /// The slope of a sigmoid that is a, and of a tanh that is a.
  Value bend(Value a) { return product(a, rest(a)); }
  Value slope(Value a) { return rest(product(a, a)); }
  /// `value` where a is positive or nan, else 0.
  Value where_positive(Value a, Value value) {
    const Value none = zero();
    return compute(op::where, {compute(op::less_equal, {a, none}, DType::bool_), none, value});
  }

  Kernel take() {
    // Each step has the numbers 0 and 1, whether it needs them or not: they are arguments.
    kernel_.numbers = {dtype_, dtype_};
    return std::move(kernel_);
  }

 private:
  Value zero() { return number(0, zero_); }
  Value one() { return number(1, one_); }
  Value number(std::uint16_t index, std::optional<Value>& known) {
    if (!known) known = add({.kind = Instruction::Kind::number, .dtype = dtype_, .index = index});
    return *known;
  }
  std::uint16_t operand(bool output) {
    kernel_.operands.push_back({.dtype = dtype_, .inner = InnerStride::one, .output = output});
    return static_cast<std::uint16_t>(kernel_.operands.size() - 1);
  }
  Value compute(Op op, std::initializer_list<Value> inputs, std::optional<DType> dtype = std::nullopt) {
    Instruction instruction{.kind = Instruction::Kind::compute, .op = op, .dtype = dtype.value_or(dtype_)};
    for (const Value input : inputs) instruction.inputs[instruction.input_count++] = input;
    return add(instruction);
  }
  Value add(const Instruction& instruction) {
    kernel_.body.push_back(instruction);
    return static_cast<Value>(kernel_.body.size() - 1);
  }

  DType dtype_;
  Kernel kernel_;
  std::optional<Value> zero_;
  std::optional<Value> one_;
};

Kernel forward_kernel(Cell cell, DType dtype) {
  Formula f(dtype);
  switch (cell) {
    case Cell::tanh:
    case Cell::relu: {
      const auto [input, product] = f.read_all<2>();
      const auto total = f.sum(input, product);
      f.write(cell == Cell::tanh ? f.tanh(total) : f.where_positive(total, total));
      break;
    }
    case Cell::gru: {
      const auto inputs = f.read_all<3>();
      const auto products = f.read_all<3>();
      const auto [bias, before] = f.read_all<2>();
      const auto reset = f.sigmoid(f.sum(inputs[0], products[0]));
      const auto update = f.sigmoid(f.sum(inputs[1], products[1]));
      const auto inner = f.sum(products[2], bias);
      const auto fresh = f.tanh(f.sum(inputs[2], f.product(reset, inner)));
      f.write(f.sum(fresh, f.product(update, f.difference(before, fresh))));
      for (const auto gate : {reset, update, fresh, inner}) f.write(gate);
      break;
    }
    case Cell::lstm: {
      const auto inputs = f.read_all<4>();
      const auto products = f.read_all<4>();
      const auto before = f.read();
      const auto enter = f.sigmoid(f.sum(inputs[0], products[0]));
      const auto forget = f.sigmoid(f.sum(inputs[1], products[1]));
      const auto fresh = f.tanh(f.sum(inputs[2], products[2]));
      const auto out = f.sigmoid(f.sum(inputs[3], products[3]));
      const auto next = f.sum(f.product(forget, before), f.product(enter, fresh));
      f.write(f.product(out, f.tanh(next)));
      f.write(next);
      for (const auto gate : {enter, forget, fresh, out}) f.write(gate);
      break;
    }
  }
  return f.take();
}

Kernel backward_kernel(Cell cell, DType dtype) {
  Formula f(dtype);
  const auto [cotangent, product, kept] = f.read_all<3>();
  const auto whole = f.sum(cotangent, f.sum(product, kept));
  switch (cell) {
    case Cell::tanh:
    case Cell::relu: {
      const auto state = f.read();
      f.write(cell == Cell::tanh ? f.product(whole, f.slope(state)) : f.where_positive(state, whole));
      break;
    }
    case Cell::gru: {
      const auto [reset, update, fresh, inner, before] = f.read_all<5>();
      const auto of_fresh = f.product(whole, f.rest(update), f.slope(fresh));
      const auto of_reset = f.product(of_fresh, inner, f.bend(reset));
      const auto of_update = f.product(whole, f.difference(before, fresh), f.bend(update));
      for (const auto part : {of_reset, of_update, of_fresh}) f.write(part);
      for (const auto part : {of_reset, of_update, f.product(of_fresh, reset)}) f.write(part);
      f.write(f.product(whole, update));
      break;
    }
    case Cell::lstm: {
      const auto [cell_cotangent, cell_kept] = f.read_all<2>();
      const auto [enter, forget, fresh, out] = f.read_all<4>();
      const auto [cell_now, cell_before] = f.read_all<2>();
      const auto shown = f.tanh(cell_now);
      const auto of_cell = f.sum(f.sum(cell_cotangent, cell_kept), f.product(whole, out, f.slope(shown)));
      f.write(f.product(of_cell, fresh, f.bend(enter)));
      f.write(f.product(of_cell, cell_before, f.bend(forget)));
      f.write(f.product(of_cell, enter, f.slope(fresh)));
      f.write(f.product(whole, shown, f.bend(out)));
      f.write(f.product(of_cell, forget));
      break;
    }
  }
  return f.take();
}

}  // namespace

GateKernel::GateKernel(const Kernel& kernel) {
  std::size_t compiled = 0;
  code_ = std::static_pointer_cast<CachedKernel>(kernel_cache().find({&kernel, 1}, CodeTier::automatic, compiled)[0]);
}

GateKernel GateKernel::forward(Cell cell, DType dtype) { return GateKernel(forward_kernel(cell, dtype)); }
GateKernel GateKernel::backward(Cell cell, DType dtype) { return GateKernel(backward_kernel(cell, dtype)); }

void GateKernel::run(std::span<const StepMatrix> matrices, const StepPart& part) const {
  const Kernel& kernel = code_->kernel();
  assert(matrices.size() == kernel.operands.size() && matrices.size() <= kMostMatrices);
  const std::int64_t sizes[2] = {part.end_row, part.end_column};
  void* addresses[kMostMatrices];
  std::int64_t strides[2 * kMostMatrices];
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    addresses[i] = matrices[i].data;
    strides[2 * i] = matrices[i].row;
    strides[2 * i + 1] = 1;
  }
  alignas(16) std::byte numbers[2][16] = {};
  Scalar(0.0).write(kernel.numbers[0], numbers[0]);
  Scalar(1.0).write(kernel.numbers[1], numbers[1]);
  const KernelArguments arguments{sizes, addresses, strides, numbers, nullptr};
  code_of(*code_).run(arguments, {part.first_row, part.end_row, part.first_column, part.end_column});
}

void GateKernel::note(double elements) const {
  note_work(*code_, elements * static_cast<double>(code_->kernel().body.size()));
}

double GateKernel::nanoseconds() const {
  return static_cast<double>(code_->kernel().body.size()) * kNanosecondsPerInstruction;
}

}  // namespace lento::cpu
