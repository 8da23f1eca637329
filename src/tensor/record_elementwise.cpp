// Elementwise ops: numbers are weak, operands are cast to a common dtype, shapes broadcast (clause T3). The common case
// of equal dtypes on one device goes straight to the tape.
#include "base/called.h"
#include "base/fail.h"
#include "base/usable_devices.h"
#include "ir/attrs_cast.gen.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_cast.gen.h"
#include "ir/shape_limit.h"
#include "tensor/append.h"
#include "tensor/promotion.h"
#include "tensor/record.h"
#include "tensor/tapes.h"
#include "tensor/watch.h"

#include <optional>

namespace lento {

namespace {

Source source_of(const void* unit, std::uint32_t position) {
  // Inside another op, or under a front end's SourceScope, the outer line counts.
  if (current_call.source.known()) {
    return {current_call.source.unit, current_call.source.position, recorded_scope(current_call)};
  }
  return {unit, position, recorded_scope(current_call)};
}

/// True when a tensor can be an operand of this tape's next record as it stands. Needs the lock.
bool usable(const Tape& tape, const TensorState& state) {
  return is_usable(tape.device) && can_be_operand(tape, state);
}

/// True when the op computes in `dtype` without a cast, so that operands of this dtype can be recorded as they are, and
/// nobody wants to be told of it.
bool takes_as_is(const ElementwiseRule& rule, DType dtype) {
  return contains(rule.allowed, dtype) && (!rule.to_float || dtype >= DType::float16) && current_watcher == nullptr;
}

/// The shape of two that broadcast; nothing when they do not. Where one of them is the result, as where a bias is
/// added, nothing has to be interned.
std::optional<ShapeId> broadcast_shape(ShapeId a, ShapeId b) {
  if (shape_of(a).size() < shape_of(b).size()) std::swap(a, b);
  const Shape& longer = shape_of(a);
  const Shape& shorter = shape_of(b);
  const std::size_t leading = longer.size() - shorter.size();
  bool is_longer = true;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const std::int64_t mine = longer[leading + i];
    const std::int64_t other = shorter[i];
    if (mine == other || other == 1) continue;
    if (mine != 1) return std::nullopt;
    is_longer = false;
  }
  if (is_longer) return a;
  Shape result = longer;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    if (shorter[i] != 1) result[leading + i] = shorter[i];
  }
  // One that is too large is refused where the op is named.
  if (!broken_shape_rule(result).empty()) return std::nullopt;
  return intern_shape(result);
}

enum class Second : std::uint8_t { none, tensor, number };

/// The fast path, inlined into its callers. Returns an undefined tensor when an operand is pending elsewhere or
/// has failed.
template <Second second>
[[gnu::always_inline]] inline Tensor append_fast(Op op, const ElementwiseRule& rule, ShapeId shape, TensorState& a,
                                                 TensorState* b, const Scalar* number, bool number_first,
                                                 const Source& source) {
  Tape& tape = tape_for(a.device);
  Tensor result;
  bool long_tape = false;
  {
    const OwnerLock lock(tape);
    // Both are looked at first: a leaf without a record would keep its value's memory.
    if (!usable(tape, a)) return result;
    if constexpr (second == Second::tensor) {
      if (!usable(tape, *b)) return result;
    }
    OperandRef left = tensor_ref(tape, a);
    OperandRef right{};
    if constexpr (second == Second::tensor) right = tensor_ref(tape, *b);
    if constexpr (second == Second::number) {
      right = tape.add_scalar(*number, a.dtype);
      if (number_first) std::swap(left, right);
    }
    Record& record = tape.next();
    record.op = op;
    record.dtype = result_dtype(rule, a.dtype);
    record.operand_count = second == Second::none ? 1 : 2;
    record.shape = shape;
    record.attrs = {};
    record.operands[0] = left;
    record.operands[1] = right;
    record.operands[2] = {};
    record.result_index = 0;
    record.padding = 0;
    result = commit_with_handle(tape, record, source);
    long_tape = is_long(tape);
  }
  count_op(op);
  if (long_tape) [[unlikely]] {
    trim(tape);
  }
  return result;
}

/// Apart from the path of equal shapes, which must stay short.
[[gnu::noinline]] Tensor append_broadcast(Op op, const ElementwiseRule& rule, TensorState& a, TensorState& b,
                                          const Source& source) {
  const std::optional<ShapeId> shape = broadcast_shape(a.shape, b.shape);
  return shape ? append_fast<Second::tensor>(op, rule, *shape, a, &b, nullptr, false, source) : Tensor();
}

std::string describe(std::span<const Operand> operands) {
  std::string text;
  for (const Operand& operand : operands) {
    if (!text.empty()) text += ", ";
    text += operand.is_tensor() ? fmt::format("{}{}", operand.tensor().dtype(), operand.tensor().shape())
                                : operand.scalar().to_string();
  }
  return text;
}

/// The dtype the op computes in: tensors promoted together, then the numbers taken weakly.
DType common_dtype(const ElementwiseRule& rule, std::span<const Operand> operands) {
  DTypeJoin join;
  for (const Operand& operand : operands) join.add(operand);
  const DType promoted = join.result();
  const std::optional<DType> compute = compute_dtype(rule, promoted);
  if (!compute) {
    fail<DTypeError>("is not defined for {} (operands {}); it takes {} operands", promoted, describe(operands),
                     dtype_set_text(rule.allowed));
  }
  for (const Operand& operand : operands) {
    if (!operand.is_tensor() && !fits(operand.scalar(), *compute))
      fail<OverflowError>("the integer {} does not fit into {}", operand.scalar(), *compute);
  }
  return *compute;
}

Shape common_shape(std::span<const Operand> operands) {
  std::array<const Shape*, 8> shapes{};
  std::size_t count = 0;
  for (const Operand& operand : operands) {
    if (operand.is_tensor()) shapes.at(count++) = &operand.tensor().shape();
  }
  try {
    return broadcast_shapes(std::span(shapes.data(), count));
  } catch (const ShapeError&) {
    // Said again with the operands' dtypes (clause T2).
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : " and ") + shape_text(*shapes[i]);
    fail<ShapeError>("shapes {} do not broadcast (operands {})", text, describe(operands));
  }
}

}  // namespace

Tensor record_unary(Op op, const ElementwiseRule& rule, const Tensor& x, const std::source_location& site) {
  if (TensorState* state = x.state(); state != nullptr && takes_as_is(rule, state->dtype)) {
    Tensor result = append_fast<Second::none>(op, rule, state->shape, *state, nullptr, nullptr, false,
                                              source_of(site.file_name(), site.line()));
    if (result.defined()) return result;
  }
  return record_elementwise(op, rule, {Operand(x, site)});
}

Tensor record_binary(Op op, const ElementwiseRule& rule, const Operand& a, const Operand& b) {
  // What does not fit here, empty handles included, takes the general path, which also raises the errors.
  TensorState* x = a.is_tensor() ? a.tensor().state() : nullptr;
  TensorState* y = b.is_tensor() ? b.tensor().state() : nullptr;
  if (x != nullptr && y != nullptr) {
    if (x->dtype == y->dtype && x->device == y->device && takes_as_is(rule, x->dtype)) {
      const Source source = source_of(a.unit(), a.position());
      Tensor result = x->shape == y->shape
                          ? append_fast<Second::tensor>(op, rule, x->shape, *x, y, nullptr, false, source)
                          : append_broadcast(op, rule, *x, *y, source);
      if (result.defined()) return result;
    }
  } else if (TensorState* tensor = x != nullptr ? x : y; tensor != nullptr && a.is_tensor() != b.is_tensor()) {
    const bool number_first = x == nullptr;
    const Scalar& number = number_first ? a.scalar() : b.scalar();
    if (takes_as_is(rule, tensor->dtype) && weak_promote(tensor->dtype, number) == tensor->dtype &&
        fits(number, tensor->dtype)) {
      Tensor result = append_fast<Second::number>(op, rule, tensor->shape, *tensor, nullptr, &number, number_first,
                                                  source_of(a.unit(), a.position()));
      if (result.defined()) return result;
    }
  }
  return record_elementwise(op, rule, {a, b});
}

Tensor record_elementwise(Op op, const ElementwiseRule& rule, std::span<const Operand> operands) {
  const CallScope scope(info(op).name, Source{operands[0].unit(), operands[0].position(), 0});
  const std::size_t first = rule.leading_condition ? 1 : 0;
  const DType compute = common_dtype(rule, operands.subspan(first));
  const Meta meta{result_dtype(rule, compute), common_shape(operands)};
  std::vector<Tensor> casts;
  casts.reserve(operands.size());
  std::vector<RecordOperand> converted;
  converted.reserve(operands.size());
  std::optional<Device> device;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const DType wanted = i < first ? DType::bool_ : compute;
    if (!operands[i].is_tensor()) {
      converted.push_back(RecordOperand::number(operands[i].scalar(), wanted));
      continue;
    }
    casts.push_back(cast(operands[i].tensor(), wanted));
    converted.emplace_back(casts.back());
    device = operands[i].tensor().device();
  }
  return device ? record(op, meta, converted) : record_on(Device{}, op, meta, converted);
}

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (is_complex(x.dtype()) && !is_complex(dtype) && dtype != DType::bool_) {
    fail<DTypeError>("{} cannot be cast to {}: take its real part", x.dtype(), dtype);
  }
  AstypeAttrs attrs{};
  attrs.dtype = dtype;
  return record(op::astype, {dtype, x.shape()}, {x}, intern(attrs));
}

}  // namespace lento
