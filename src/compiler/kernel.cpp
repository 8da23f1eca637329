// Kernels: which values are row values, in which pass they are known, the rules they keep, their text and hash.
#include "compiler/kernel.h"

#include "base/fail.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_creation.gen.h"
#include "ir/op_random.gen.h"
#include "ir/op_reduction.gen.h"

#include <algorithm>
#include <span>

namespace lento {

namespace {

using Kind = Instruction::Kind;

std::span<const std::uint16_t> inputs_of(const Instruction& instruction) {
  return {instruction.inputs, instruction.input_count};
}

bool is_value(const Instruction& instruction) { return instruction.kind != Kind::store; }

std::string line_text(const Kernel& kernel, std::size_t at) {
  const Instruction& i = kernel.body[at];
  std::string inputs;
  for (const std::uint16_t input : inputs_of(i)) inputs += fmt::format("{}%{}", inputs.empty() ? "" : ", ", input);
  switch (i.kind) {
    case Kind::load:
      return fmt::format("%{} = load ${} : {}", at, i.index, i.dtype);
    case Kind::number:
      return fmt::format("%{} = number #{} : {}", at, i.index, i.dtype);
    case Kind::compute:
    case Kind::reduce:
      return fmt::format("%{} = {}({}) : {}", at, info(i.op).name, inputs, i.dtype);
    case Kind::cast:
      return fmt::format("%{} = cast({}) : {}", at, inputs, i.dtype);
    case Kind::create:
      return fmt::format("%{} = {}({}) at ${} : {}", at, info(i.op).name, inputs, i.index, i.dtype);
    case Kind::store:
      return fmt::format("store ${}, {}", i.index, inputs);
  }
  return {};
}

/// The rules of one kernel. Each check throws with the instruction it is about.
class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  void run() {
    const std::size_t needed = kernel_.form == LoopForm::column ? 2 : 1;
    if (kernel_.dims < needed || kernel_.dims > kMaxKernelDims) {
      fail<BackendError>("kernel: {} dimensions, but this form takes {} to {}", kernel_.dims, needed, kMaxKernelDims);
    }
    if (kernel_.body.size() > kMaxKernelBody) {
      fail<BackendError>("kernel: {} instructions, more than {}", kernel_.body.size(), kMaxKernelBody);
    }
    for (std::size_t j = 0; j < kernel_.operands.size(); ++j) {
      check_picked(j);
      check_counted(j);
    }
    for (at_ = 0; at_ < kernel_.body.size(); ++at_) check_inputs();
    rows_ = row_values(kernel_);
    std::vector<std::uint8_t> used(kernel_.body.size(), 0);
    for (at_ = 0; at_ < kernel_.body.size(); ++at_) {
      check_instruction();
      for (const std::uint16_t input : inputs_of(current())) used[input] = 1;
    }
    for (at_ = 0; at_ < kernel_.body.size(); ++at_) {
      check(!is_value(current()) || used[at_] != 0, "its value is not used");
    }
  }

 private:
  const Instruction& current() const { return kernel_.body[at_]; }
  DType dtype_of_input(std::size_t j) const { return kernel_.body[current().inputs[j]].dtype; }

  void check(bool holds, std::string_view rule) const {
    if (!holds) fail<BackendError>("kernel: `{}`: {}", line_text(kernel_, at_), rule);
  }

  void check_picked(std::size_t operand) const {
    const KernelOperandInfo& info = kernel_.operands[operand];
    if (info.picked_by == kNotPicked) return;
    const auto refuse = [&](bool holds, std::string_view rule) {
      if (!holds) fail<BackendError>("kernel: operand ${}: {}", operand, rule);
    };
    refuse(info.picked_by < kernel_.operands.size(), "its rows are picked by an operand that does not exist");
    const KernelOperandInfo& positions = kernel_.operands[info.picked_by];
    refuse(!info.output && !positions.output, "rows are picked for an output, or by one");
    refuse(positions.dtype == DType::int32 || positions.dtype == DType::int64, "positions are not int32 or int64");
    refuse(positions.inner == InnerStride::zero && positions.picked_by == kNotPicked &&
               (kernel_.form == LoopForm::map || !positions.moves),
           "positions must be the same all along a row");
  }

  void check_counted(std::size_t operand) const {
    const KernelOperandInfo& info = kernel_.operands[operand];
    if (info.counted && (info.output || info.picked_by != kNotPicked || info.dtype != DType::uint8)) {
      fail<BackendError>("kernel: operand ${}: what is counted is uint8, and neither written nor picked", operand);
    }
  }

  void check_inputs() const {
    const Instruction& i = current();
    // The text of an instruction is only safe to print once its op is one.
    if (i.kind == Kind::compute || i.kind == Kind::create || i.kind == Kind::reduce) {
      if (!is_op(i.op)) fail<BackendError>("kernel: instruction {} has no such op", at_);
    }
    if (i.input_count > std::size(i.inputs)) {
      fail<BackendError>("kernel: instruction {} has {} inputs", at_, static_cast<int>(i.input_count));
    }
    for (const std::uint16_t input : inputs_of(i)) {
      check(input < at_ && is_value(kernel_.body[input]), "an input is not a value of an instruction before it");
    }
    const bool has_operand = i.kind == Kind::load || i.kind == Kind::create || i.kind == Kind::store;
    check(!has_operand || i.index < kernel_.operands.size(), "there is no such operand");
    check(!has_operand || kernel_.operands[i.index].counted == (i.kind == Kind::create),
          "elements are made where positions are counted, and nowhere else");
    check(i.kind != Kind::number || i.index < kernel_.numbers.size(), "there is no such number");
  }

  void check_instruction() const {
    const Instruction& i = current();
    switch (i.kind) {
      case Kind::load:
        check(i.input_count == 0, "a load has no inputs");
        check(i.dtype == kernel_.operands[i.index].dtype, "its dtype is not the operand's");
        break;
      case Kind::number:
        check(i.input_count == 0, "a number has no inputs");
        check(i.dtype == kernel_.numbers[i.index], "its dtype is not the number's");
        break;
      case Kind::compute:
        check_compute();
        break;
      case Kind::cast:
        check(i.input_count == 1, "a cast has one input");
        check(!is_complex(dtype_of_input(0)) || is_complex(i.dtype) || is_bool(i.dtype),
              "a complex number has no cast to a real one");
        break;
      case Kind::create:
        check_create();
        break;
      case Kind::reduce:
        check_reduce();
        break;
      case Kind::store:
        check_store();
        break;
    }
  }

  void check_compute() const {
    const Instruction& i = current();
    const OpInfo& op = info(i.op);
    check(op.elementwise(), "the op is not elementwise");
    check(i.input_count == op.args.size(), "the op takes another number of inputs");
    const ElementwiseRule& rule = *op.rule;
    const std::size_t first = rule.leading_condition ? 1 : 0;
    check(first == 0 || dtype_of_input(0) == DType::bool_, "the condition is not bool");
    for (std::size_t j = first; j < i.input_count; ++j) {
      check(dtype_of_input(j) == dtype_of_input(first), "inputs have different dtypes");
    }
    const DType compute = dtype_of_input(first);
    check(contains(rule.allowed, compute), "the op does not compute in this dtype");
    check(i.dtype == result_dtype(rule, compute), "the op's result has another dtype");
  }

  void check_create() const {
    const Instruction& i = current();
    check(i.input_count == 2, "it takes two numbers");
    for (const std::uint16_t input : inputs_of(i)) {
      check(kernel_.body[input].kind == Kind::number, "an input is not a number");
      check(kernel_.body[input].dtype == (i.op == op::iota ? iota_dtype(i.dtype) : DType::uint64),
            "a number has another dtype than the one computed in");
    }
    if (i.op == op::iota) {
      check(!is_bool(i.dtype), "bools count nothing");
    } else {
      check(i.op == op::random_bits, "the op makes no elements of positions");
      check(i.dtype == DType::uint32 || i.dtype == DType::uint64, "random bits are uint32 or uint64");
    }
  }

  void check_reduce() const {
    const Instruction& i = current();
    check(kernel_.form != LoopForm::map, "a map reduces nothing");
    check(i.input_count == 1, "a reduction has one input");
    check(rows_[i.inputs[0]] == 0, "the input is a row value");
    switch (i.op) {
      case op::reduce_sum:
      case op::reduce_prod:
      case op::reduce_max:
      case op::reduce_min:
        check(i.dtype == dtype_of_input(0), "the result has another dtype");
        break;
      case op::reduce_any:
      case op::reduce_all:
        check(i.dtype == DType::bool_, "the result is bool");
        break;
      case op::arg_max:
      case op::arg_min:
        check(i.dtype == DType::int64, "the result is int64");
        break;
      default:
        check(false, "the op is not a reduction");
    }
  }

  void check_store() const {
    const Instruction& i = current();
    const KernelOperandInfo& operand = kernel_.operands[i.index];
    check(i.input_count == 1, "a store has one input");
    check(operand.output, "the operand is not an output");
    check(i.dtype == operand.dtype && dtype_of_input(0) == operand.dtype, "its dtype is not the operand's");
    if (kernel_.form == LoopForm::map) return;
    check(operand.moves == (rows_[i.inputs[0]] == 0),
          operand.moves ? "a row value is stored into an operand that moves"
                        : "an element value is stored into an operand that does not move");
  }

  const Kernel& kernel_;
  std::vector<std::uint8_t> rows_;
  std::size_t at_ = 0;
};

std::string_view form_name(LoopForm form) {
  switch (form) {
    case LoopForm::map:
      return "map";
    case LoopForm::row:
      return "row";
    case LoopForm::column:
      return "column";
  }
  return "?";
}

std::string_view stride_name(InnerStride inner) {
  switch (inner) {
    case InnerStride::zero:
      return "zero";
    case InnerStride::one:
      return "one";
    case InnerStride::any:
      return "any";
  }
  return "?";
}

}  // namespace

std::vector<std::uint8_t> row_values(const Kernel& kernel) {
  std::vector<std::uint8_t> rows(kernel.body.size(), 0);
  if (kernel.form == LoopForm::map) return rows;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const Instruction& i = kernel.body[at];
    switch (i.kind) {
      case Kind::load:
      case Kind::create:
        rows[at] = kernel.operands[i.index].moves ? 0 : 1;
        break;
      case Kind::number:
      case Kind::reduce:
        rows[at] = 1;
        break;
      case Kind::compute:
      case Kind::cast:
      case Kind::store: {
        const auto inputs = inputs_of(i);
        rows[at] = std::all_of(inputs.begin(), inputs.end(), [&](std::uint16_t input) { return rows[input] != 0; });
        break;
      }
    }
  }
  return rows;
}

std::vector<std::uint16_t> passes(const Kernel& kernel) {
  std::vector<std::uint16_t> result(kernel.body.size(), 0);
  for (std::size_t at = 0; at < result.size(); ++at) {
    for (const std::uint16_t input : inputs_of(kernel.body[at])) {
      const int ran = kernel.body[input].kind == Kind::reduce ? 1 : 0;
      result[at] = std::max<std::uint16_t>(result[at], static_cast<std::uint16_t>(result[input] + ran));
    }
  }
  return result;
}

DType iota_dtype(DType dtype) {
  if (is_integer(dtype)) return DType::uint64;
  return is_complex(dtype) ? DType::complex128 : DType::float64;
}

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

std::string to_string(const Kernel& kernel) {
  std::string operands;
  for (std::size_t j = 0; j < kernel.operands.size(); ++j) {
    const KernelOperandInfo& operand = kernel.operands[j];
    operands += fmt::format("{}${}: {}{} {}{}", j == 0 ? "" : ", ", j, operand.output ? "out " : "",
                            operand.counted ? std::string_view("counted") : name(operand.dtype),
                            stride_name(operand.inner), operand.moves ? "" : " still");
    if (operand.picked_by != kNotPicked) operands += fmt::format(" at ${}", operand.picked_by);
  }
  for (std::size_t j = 0; j < kernel.numbers.size(); ++j) {
    operands += fmt::format("{}#{}: {}", operands.empty() ? "" : ", ", j, kernel.numbers[j]);
  }
  std::string text = fmt::format("kernel {} dims={} ({}) {{\n", form_name(kernel.form), kernel.dims, operands);
  for (std::size_t at = 0; at < kernel.body.size(); ++at) text += fmt::format("  {}\n", line_text(kernel, at));
  return text + "}\n";
}

std::uint64_t hash(const Kernel& kernel) {
#ifdef LENTO_CONSTANT_HASH
  (void)kernel;
  return 0;
#else
  std::uint64_t state = 0x9e3779b97f4a7c15;
  const auto mix = [&](std::uint64_t word) {
    state ^= word;
    state *= 0xff51afd7ed558ccd;
    state ^= state >> 32;
  };
  mix(static_cast<std::uint64_t>(kernel.form) | static_cast<std::uint64_t>(kernel.dims) << 8);
  mix(kernel.operands.size() | kernel.numbers.size() << 20 | kernel.body.size() << 40);
  for (const KernelOperandInfo& operand : kernel.operands) {
    mix(static_cast<std::uint64_t>(operand.dtype) | static_cast<std::uint64_t>(operand.inner) << 8 |
        static_cast<std::uint64_t>(operand.moves) << 16 | static_cast<std::uint64_t>(operand.output) << 24 |
        static_cast<std::uint64_t>(operand.picked_by) << 32 | static_cast<std::uint64_t>(operand.counted) << 48);
  }
  for (const DType dtype : kernel.numbers) mix(static_cast<std::uint64_t>(dtype));
  for (const Instruction& i : kernel.body) {
    mix(static_cast<std::uint64_t>(i.kind) | static_cast<std::uint64_t>(i.op) << 8 |
        static_cast<std::uint64_t>(i.dtype) << 24 | static_cast<std::uint64_t>(i.input_count) << 32 |
        static_cast<std::uint64_t>(i.index) << 40);
    mix(i.inputs[0] | static_cast<std::uint64_t>(i.inputs[1]) << 16 | static_cast<std::uint64_t>(i.inputs[2]) << 32);
  }
  return state ^ state >> 29;
#endif
}

}  // namespace lento
