// Making random kernels: a body that is correct by construction, strides of every class, values of every sort.
#include "cpu/random_kernel.h"

#include "backends/cpu/code/jit.h"
#include "backends/reference/convert.h"
#include "base/dispatch.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_creation.gen.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_random.gen.h"
#include "ir/op_reduction.gen.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

namespace lento::testing {

bool differs_between_backends(Op op, DType dtype) {
  return is_floating(dtype) && ((op >= op::exp && op <= op::i1e) || op == op::general_pow);
}

namespace {

using Kind = Instruction::Kind;

/// Ops that show the sign of a nan, which is nobody's promise.
bool shows_sign_of_nan(Op op) { return op == op::signbit || op == op::copysign; }

std::vector<Op> ops_for(DType dtype, bool with_functions = false) {
  std::vector<Op> result;
  for (const Op op : all_ops()) {
    if (!info(op).elementwise() || !cpu::supports(op, dtype)) continue;
    if (!with_functions && differs_between_backends(op, dtype)) continue;
    // Which of its branches a complex function takes may hang on the sign of a nan.
    if (is_complex(dtype) && (op >= op::sqrt && op <= op::i1e)) continue;
    result.push_back(op);
  }
  return result;
}

double special_number(Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double numbers[] = {0.0,
                            -0.0,
                            1,
                            -1,
                            2,
                            0.5,
                            -0.5,
                            1.5,
                            2.5,
                            127.5,
                            128,
                            -129,
                            255.9,
                            65504,
                            65520,
                            -32768.7,
                            2147483647,
                            2147483648.0,
                            -2147483649.0,
                            4294967296.0,
                            9.3e18,
                            1.9e19,
                            1e30,
                            -1e300,
                            1e-45,
                            1e-310,
                            kInfinity,
                            -kInfinity,
                            std::numeric_limits<double>::quiet_NaN()};
  return numbers[below(random, std::size(numbers))];
}

/// Halfway between two numbers of a 16-bit format, or off it by as little as a double can say.
double near_tie(Random& random) {
  const auto digits = static_cast<double>(2 * below(random, 4096) + 1);
  const double tie = std::ldexp(digits, static_cast<int>(below(random, 60)) - 40);
  const double directions[] = {0, 1e300, -1e300};
  return std::nextafter(tie, directions[below(random, 3)]) * (below(random, 2) == 0 ? 1 : -1);
}

template <class T>
T random_element(Random& random, Values values) {
  const std::size_t kind = below(random, 8);
  if constexpr (std::same_as<T, bool>) {
    return kind % 2 == 0;
  } else if constexpr (std::integral<T>) {
    if (kind < 2) return static_cast<T>(random());
    if (kind == 2) return std::numeric_limits<T>::min();
    if (kind == 3) return std::numeric_limits<T>::max();
    return static_cast<T>(static_cast<int>(below(random, 40)) - 10);
  } else if constexpr (reference::Complex<T>) {
    if (values == Values::zeros) return T(-0.0, -0.0);
    std::normal_distribution<double> normal;
    return T(static_cast<typename T::value_type>(normal(random)), static_cast<typename T::value_type>(normal(random)));
  } else {
    if (values == Values::zeros) return static_cast<T>(-0.0);
    if (values == Values::signs) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const double numbers[] = {0.0, -0.0, kind < 4 ? -kInfinity : kInfinity};
      return static_cast<T>(numbers[below(random, 200) == 0 ? 2 : kind % 2]);
    }
    if (values == Values::nans && below(random, 100) == 0) {
      return static_cast<T>(std::copysign(std::numeric_limits<double>::quiet_NaN(), kind < 4 ? -1.0 : 1.0));
    }
    if (values != Values::special) return static_cast<T>(std::normal_distribution<double>()(random));
    if (kind == 0) return static_cast<T>(special_number(random));
    if (kind == 2) return static_cast<T>(near_tie(random));
    std::normal_distribution<double> normal(0, kind == 1 ? 1e4 : 2);
    return static_cast<T>(normal(random));
  }
}

constexpr Op kReductions[] = {op::reduce_sum, op::reduce_prod, op::reduce_max, op::reduce_min,
                              op::reduce_any, op::reduce_all,  op::arg_max,    op::arg_min};

bool needs_elements(Op op) {
  return op == op::reduce_max || op == op::reduce_min || op == op::arg_max || op == op::arg_min;
}

DType reduced_dtype(Op op, DType dtype) {
  if (op == op::reduce_any || op == op::reduce_all) return DType::bool_;
  return op == op::arg_max || op == op::arg_min ? DType::int64 : dtype;
}

/// Builds the body step by step; every value that nothing has used yet is stored in the end.
class Builder {
 public:
  Builder(Random& random, const KernelChoice& choice) : random_(random), choice_(choice) {
    kernel_.form = choice.form;
    const bool two = choice.form == LoopForm::column || choice.crossed || choice.many_rows;
    kernel_.dims = static_cast<std::uint8_t>(below(random, 3) + (two ? 2 : 1));
  }

  Kernel build() {
    for (std::size_t j = 0; j < choice_.dtypes.size(); ++j) {
      KernelOperandInfo operand;
      operand.dtype = choice_.dtypes[j];
      operand.inner = static_cast<InnerStride>(below(random_, 3));
      if (choice_.many_rows && below(random_, 8) != 0) operand.inner = static_cast<InnerStride>(below(random_, 2));
      if (j == 0) operand.inner = choice_.crossed || below(random_, 4) == 0 ? InnerStride::any : InnerStride::one;
      if (kernel_.form == LoopForm::row) operand.moves = operand.inner != InnerStride::zero;
      if (kernel_.form == LoopForm::column) operand.moves = j == 0 || below(random_, 4) != 0;
      kernel_.operands.push_back(operand);
      add({Kind::load, {}, operand.dtype, 0, static_cast<std::uint16_t>(j), {}});
    }
    if (choice_.creates) {
      for (std::size_t n = 1 + below(random_, 2); n > 0; --n) add_created();
    }
    if (below(random_, 2) == 0) {
      kernel_.numbers.push_back(choice_.dtypes[below(random_, choice_.dtypes.size())]);
      add({Kind::number, {}, kernel_.numbers.back(), 0, static_cast<std::uint16_t>(kernel_.numbers.size() - 1), {}});
    }
    for (std::size_t n = 0; n < choice_.steps; ++n) {
      if (kernel_.form != LoopForm::map && (n == 0 || below(random_, 5) == 0)) {
        add_reduction();
      } else {
        add_compute();
      }
    }
    store_unused();
    return kernel_;
  }

 private:
  std::uint16_t add(const Instruction& instruction) {
    for (unsigned j = 0; j < instruction.input_count; ++j) used_[instruction.inputs[j]] = 1;
    kernel_.body.push_back(instruction);
    used_.push_back(0);
    return static_cast<std::uint16_t>(kernel_.body.size() - 1);
  }

  /// A random value, new ones more often.
  std::uint16_t any_value() {
    const std::size_t count = kernel_.body.size();
    return static_cast<std::uint16_t>(count - 1 - std::min(below(random_, count), below(random_, count)));
  }

  /// A value of this dtype: one that is there, or a cast of one; a bool when no other cast is allowed.
  std::uint16_t value_of(DType dtype) {
    for (int attempt = 0; attempt < 6; ++attempt) {
      const std::uint16_t at = any_value();
      if (kernel_.body[at].dtype == dtype) return at;
    }
    std::uint16_t from = any_value();
    if (is_complex(kernel_.body[from].dtype) && !is_complex(dtype) && !is_bool(dtype)) {
      from = add({Kind::cast, {}, DType::bool_, 1, 0, {from}});
    }
    if (kernel_.body[from].dtype == dtype) return from;
    return add({Kind::cast, {}, dtype, 1, 0, {from}});
  }

  bool is_loaded(std::uint16_t at) const { return kernel_.body[at].kind == Kind::load; }

  void add_created() {
    KernelOperandInfo operand{.dtype = DType::uint8, .counted = true};
    operand.inner = static_cast<InnerStride>(below(random_, 3));
    if (kernel_.form == LoopForm::row) operand.moves = operand.inner != InnerStride::zero;
    if (kernel_.form == LoopForm::column) operand.moves = below(random_, 4) != 0;
    kernel_.operands.push_back(operand);
    const auto index = static_cast<std::uint16_t>(kernel_.operands.size() - 1);
    const bool bits = below(random_, 2) == 0;
    const DType dtype = bits ? (below(random_, 2) == 0 ? DType::uint32 : DType::uint64)
                             : static_cast<DType>(1 + below(random_, kDTypeCount - 1));
    Instruction i{.kind = Kind::create, .op = bits ? op::random_bits : op::iota, .dtype = dtype, .input_count = 2};
    i.index = index;
    for (std::uint16_t& input : i.inputs) {
      if (&input == &i.inputs[2]) break;
      kernel_.numbers.push_back(bits ? DType::uint64 : iota_dtype(dtype));
      const auto number = static_cast<std::uint16_t>(kernel_.numbers.size() - 1);
      input = add({Kind::number, {}, kernel_.numbers.back(), 0, number, {}});
    }
    add(i);
  }

  void add_compute() {
    const std::uint16_t first = any_value();
    const DType dtype =
        below(random_, 8) == 0 ? static_cast<DType>(below(random_, kDTypeCount)) : kernel_.body[first].dtype;
    const std::vector<Op> ops = ops_for(dtype, choice_.with_functions);
    const Op op = ops[below(random_, ops.size())];
    Instruction i;
    i.op = op;
    i.dtype = result_dtype(*info(op).rule, dtype);
    i.input_count = static_cast<std::uint8_t>(info(op).args.size());
    for (unsigned j = 0; j < i.input_count; ++j) {
      i.inputs[j] = value_of(j == 0 && info(op).rule->leading_condition ? DType::bool_ : dtype);
      if (shows_sign_of_nan(op) && !is_loaded(i.inputs[j])) return;
    }
    add(i);
  }

  void add_reduction() {
    const std::vector<std::uint8_t> rows = row_values(kernel_);
    std::vector<std::uint16_t> elements;
    for (std::uint16_t at = 0; at < kernel_.body.size(); ++at) {
      if (rows[at] == 0) elements.push_back(at);
    }
    const std::uint16_t from = elements[below(random_, elements.size())];
    const DType dtype = kernel_.body[from].dtype;
    Op op = kReductions[below(random_, std::size(kReductions))];
    if (!cpu::supports(op, dtype)) op = op::reduce_sum;
    // There is no largest of no elements; bools have no sum.
    if (choice_.length == 0 && needs_elements(op)) op = op::reduce_any;
    if (is_bool(dtype) && (op == op::reduce_sum || op == op::reduce_prod)) op = op::reduce_all;
    add({Kind::reduce, op, reduced_dtype(op, dtype), 1, 0, {from}});
  }

  void store_unused() {
    const std::vector<std::uint8_t> rows = row_values(kernel_);
    const std::size_t count = kernel_.body.size();
    for (std::uint16_t at = 0; at < count; ++at) {
      if (used_[at] != 0) continue;
      KernelOperandInfo operand;
      operand.dtype = kernel_.body[at].dtype;
      operand.output = true;
      operand.inner = below(random_, 4) == 0 ? InnerStride::any : InnerStride::one;
      if (kernel_.form != LoopForm::map) operand.moves = rows[at] == 0;
      if (kernel_.form == LoopForm::row && !operand.moves) operand.inner = InnerStride::zero;
      kernel_.operands.push_back(operand);
      const auto index = static_cast<std::uint16_t>(kernel_.operands.size() - 1);
      add({Kind::store, {}, operand.dtype, 1, index, {at}});
    }
  }

  Random& random_;
  const KernelChoice& choice_;
  Kernel kernel_;
  std::vector<std::uint8_t> used_;
};

std::int64_t rounded_up(std::int64_t start) { return (start + 3) / 4 * 4; }

/// Strides of one operand, innermost first, and the memory they need.
void lay_out(Random& random, KernelCall& call, std::size_t j, Values values, bool crossed) {
  const Kernel& kernel = call.kernel;
  const KernelOperandInfo& operand = kernel.operands[j];
  const std::size_t dims = kernel.dims;
  std::vector<std::int64_t> strides(dims, 0);
  std::int64_t next = 1;
  for (std::size_t d = dims; d-- > 0;) {
    const bool innermost = d == dims - 1;
    const bool reduced = kernel.form == LoopForm::row ? innermost : kernel.form == LoopForm::column && d == dims - 2;
    const bool still = (reduced && !operand.moves) || (innermost && operand.inner == InnerStride::zero);
    if (still || (!innermost && !reduced && !operand.output && below(random, 4) == 0)) continue;
    if (innermost && operand.inner == InnerStride::any) next = 2 + static_cast<std::int64_t>(below(random, 2));
    strides[d] = next;
    next *= std::max<std::int64_t>(call.sizes[d], 1);
    if (!innermost && below(random, 3) == 0) next += 5;
    const bool may_turn = !innermost || operand.inner == InnerStride::any;
    if (may_turn && below(random, 3) == 0) strides[d] = -strides[d];
  }
  if (crossed && !operand.output && operand.inner == InnerStride::any && below(random, 4) != 0) {
    strides.assign(dims, 0);
    strides[dims - 2] = 1;
    strides[dims - 1] = std::max<std::int64_t>(call.sizes[dims - 2], 2) + static_cast<std::int64_t>(below(random, 3));
    if (dims > 2) strides[dims - 3] = strides[dims - 1] * call.sizes[dims - 1];
    if (below(random, 4) == 0) strides[dims - 1] = -strides[dims - 1];
  }
  std::int64_t start = kGuard, extent = 1;
  for (std::size_t d = 0; d < dims; ++d) {
    const std::int64_t reach = std::max<std::int64_t>(call.sizes[d] - 1, 0) * strides[d];
    if (reach < 0) start -= reach;
    extent += std::abs(reach);
  }
  call.strides.insert(call.strides.end(), strides.begin(), strides.end());
  if (operand.counted) {
    // Blocks of random bits begin at multiples of 4.
    call.starts.push_back(below(random, 2) == 0 ? rounded_up(start) : start);
    call.memory.emplace_back();
    return;
  }
  call.starts.push_back(start);
  std::vector<std::byte> memory((static_cast<std::size_t>(extent) + 2 * kGuard) * size_of(operand.dtype));
  dispatch(operand.dtype, [&]<class T>() {
    for (std::size_t at = 0; at < memory.size(); at += sizeof(T)) {
      const T element = random_element<T>(random, values);
      std::memcpy(memory.data() + at, &element, sizeof(T));
    }
  });
  call.memory.push_back(std::move(memory));
}

/// Memory and numbers for a kernel whose sizes are known.
void fill(Random& random, KernelCall& call, Values values, bool crossed = false) {
  for (std::size_t j = 0; j < call.kernel.operands.size(); ++j) lay_out(random, call, j, values, crossed);
  call.numbers.resize(16 * call.kernel.numbers.size());
  for (std::size_t n = 0; n < call.kernel.numbers.size(); ++n) {
    dispatch(call.kernel.numbers[n], [&]<class T>() {
      const T element = random_element<T>(random, values);
      std::memcpy(call.numbers.data() + 16 * n, &element, sizeof(T));
    });
  }
}

/// Loads of `dtypes`, then what `instructions` says, each result stored.
KernelCall straight(Random& random, std::int64_t length, std::span<const DType> dtypes,
                    std::span<const Instruction> instructions) {
  KernelCall call;
  for (const DType dtype : dtypes) {
    const auto index = static_cast<std::uint16_t>(call.kernel.operands.size());
    call.kernel.operands.push_back({dtype, InnerStride::one, true, false});
    call.kernel.body.push_back({Kind::load, {}, dtype, 0, index, {}});
  }
  for (const Instruction& i : instructions) {
    const auto at = static_cast<std::uint16_t>(call.kernel.body.size());
    const auto index = static_cast<std::uint16_t>(call.kernel.operands.size());
    call.kernel.operands.push_back({i.dtype, InnerStride::one, true, true});
    call.kernel.body.push_back(i);
    call.kernel.body.push_back({Kind::store, {}, i.dtype, 1, index, {at}});
  }
  call.sizes = {length};
  fill(random, call, Values::special);
  return call;
}

}  // namespace

std::size_t below(Random& random, std::size_t limit) { return static_cast<std::size_t>(random() % limit); }

KernelArguments KernelCall::arguments(std::vector<std::vector<std::byte>>& on, std::vector<void*>& addresses) const {
  addresses.clear();
  for (std::size_t j = 0; j < on.size(); ++j) {
    if (kernel.operands[j].counted) {
      addresses.push_back(std::bit_cast<void*>(starts[j]));
      continue;
    }
    addresses.push_back(on[j].data() + starts[j] * static_cast<std::int64_t>(size_of(kernel.operands[j].dtype)));
  }
  return {sizes.data(), addresses.data(), strides.data(), numbers.data(), picked.data()};
}

KernelRange KernelCall::whole() const {
  const std::size_t outer = kernel.dims - (kernel.form == LoopForm::column ? 2U : 1U);
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < outer; ++d) rows *= sizes[d];
  return {0, rows, 0, kernel.form == LoopForm::row ? 0 : sizes.back()};
}

namespace {

/// Sizes and memory.
KernelCall call_of(Random& random, Kernel kernel, const KernelChoice& choice) {
  KernelCall call;
  call.kernel = std::move(kernel);
  const std::size_t dims = call.kernel.dims;
  for (std::size_t d = 0; d < dims; ++d) {
    call.sizes.push_back(1 + static_cast<std::int64_t>(below(random, choice.length > 1000 ? 2 : 5)));
  }
  if (choice.many_rows) call.sizes[dims - 2] = 1 + static_cast<std::int64_t>(below(random, 70));
  call.sizes[dims - (choice.form == LoopForm::column ? 2 : 1)] = choice.length;
  if (choice.form == LoopForm::column) {
    call.sizes[dims - 1] = choice.length > 1000 ? 3 : 1 + static_cast<std::int64_t>(below(random, 40));
  }
  if (choice.crossed) {
    for (std::size_t d = dims - 2; d < dims; ++d) call.sizes[d] = 1 + static_cast<std::int64_t>(below(random, 70));
  }
  fill(random, call, choice.values, choice.crossed);
  return call;
}

}  // namespace

KernelCall random_kernel(Random& random, const KernelChoice& choice) {
  return call_of(random, Builder(random, choice).build(), choice);
}

KernelCall every_reduction(Random& random, const KernelChoice& choice) {
  const DType dtype = choice.dtypes[0];
  Kernel kernel;
  kernel.form = choice.form;
  kernel.dims = choice.form == LoopForm::column ? 3 : 2;
  kernel.operands.push_back({dtype, InnerStride::one, true, false});
  kernel.body.push_back({Kind::load, {}, dtype, 0, 0, {}});
  for (const Op op : kReductions) {
    const bool takes_bool = op >= op::reduce_any && op <= op::arg_min;
    if (!cpu::supports(op, dtype) || (is_bool(dtype) && !takes_bool) || (choice.length == 0 && needs_elements(op))) {
      continue;
    }
    const auto at = static_cast<std::uint16_t>(kernel.body.size());
    const auto index = static_cast<std::uint16_t>(kernel.operands.size());
    const DType result = reduced_dtype(op, dtype);
    const InnerStride inner = choice.form == LoopForm::row ? InnerStride::zero : InnerStride::one;
    kernel.operands.push_back({result, inner, false, true});
    kernel.body.push_back({Kind::reduce, op, result, 1, 0, {0}});
    kernel.body.push_back({Kind::store, {}, result, 1, index, {at}});
  }
  return call_of(random, std::move(kernel), choice);
}

KernelCall every_op(Random& random, DType dtype, std::int64_t length) {
  std::vector<Instruction> instructions;
  for (const Op op : ops_for(dtype)) {
    Instruction i;
    i.op = op;
    i.dtype = result_dtype(*info(op).rule, dtype);
    i.input_count = static_cast<std::uint8_t>(info(op).args.size());
    // Inputs: two of the dtype, and a bool for the op that takes one first.
    for (unsigned j = 0; j < i.input_count; ++j) i.inputs[j] = static_cast<std::uint16_t>(j);
    if (info(op).rule->leading_condition) {
      i.inputs[0] = 2;
      i.inputs[1] = 0;
      i.inputs[2] = 1;
    }
    instructions.push_back(i);
  }
  const DType dtypes[] = {dtype, dtype, DType::bool_};
  return straight(random, length, dtypes, instructions);
}

KernelCall every_cast(Random& random, DType from, std::int64_t length) {
  std::vector<Instruction> instructions;
  for (int n = 0; n < kDTypeCount; ++n) {
    const DType to = static_cast<DType>(n);
    if (is_complex(from) && !is_complex(to) && !is_bool(to)) continue;
    instructions.push_back({Kind::cast, {}, to, 1, 0, {0}});
  }
  return straight(random, length, {&from, 1}, instructions);
}

}  // namespace lento::testing
