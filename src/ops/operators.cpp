// The operators of Tensor and Subscript: a thin layer over the named ops.
#include <lento/tensor.h>

#include "base/fail.h"
#include "ops/operators.calls.gen.h"
#include "tensor/record.h"

#include <vector>

namespace lento {

Tensor operator+(const Operand& a, const Operand& b) { return add(a, b); }
Tensor operator-(const Operand& a, const Operand& b) { return subtract(a, b); }
Tensor operator*(const Operand& a, const Operand& b) { return multiply(a, b); }
Tensor operator/(const Operand& a, const Operand& b) { return divide(a, b); }
Tensor operator%(const Operand& a, const Operand& b) { return remainder(a, b); }
Tensor operator&(const Operand& a, const Operand& b) { return bitwise_and(a, b); }
Tensor operator|(const Operand& a, const Operand& b) { return bitwise_or(a, b); }
Tensor operator^(const Operand& a, const Operand& b) { return bitwise_xor(a, b); }
Tensor operator<<(const Operand& a, const Operand& b) { return bitwise_left_shift(a, b); }
Tensor operator>>(const Operand& a, const Operand& b) { return bitwise_right_shift(a, b); }
Tensor operator==(const Operand& a, const Operand& b) { return equal(a, b); }
Tensor operator!=(const Operand& a, const Operand& b) { return not_equal(a, b); }
Tensor operator<(const Operand& a, const Operand& b) { return less(a, b); }
Tensor operator<=(const Operand& a, const Operand& b) { return less_equal(a, b); }
Tensor operator>(const Operand& a, const Operand& b) { return greater(a, b); }
Tensor operator>=(const Operand& a, const Operand& b) { return greater_equal(a, b); }
Tensor operator-(const Tensor& x) { return negative(x); }
Tensor operator~(const Tensor& x) { return bitwise_invert(x); }
Tensor operator!(const Tensor& x) { return logical_not(x); }

// --- in place: the handle gets a new value of the same shape and dtype (clause T6) ---

namespace {

Source source_of(const Operand& operand) { return {operand.unit(), operand.position(), 0}; }

/// The line of `x[{...}]`: that of its first index; an empty index has none.
std::source_location line_of(std::span<const Index> index) {
  return index.empty() ? std::source_location() : index[0].site();
}

/// bool < integer < floating < complex: a value fits into a tensor of its own kind or a later one.
int kind_order(DType dtype) { return is_bool(dtype) ? 0 : is_integer(dtype) ? 1 : is_floating(dtype) ? 2 : 3; }

using BinaryOp = Tensor (*)(const Operand&, const Operand&);

Tensor& update(Tensor& target, BinaryOp op, const Operand& other, std::string_view operation) {
  const CallScope scope(operation, source_of(other));
  return target.assign(op(target, other), operation);
}

}  // namespace

Tensor& Tensor::assign(const Operand& value, std::string_view operation) {
  const CallScope scope(operation, source_of(value));
  Tensor replacement = value.is_tensor() ? value.tensor() : full(shape(), value.scalar(), dtype(), device());
  if (replacement.shape() != shape()) {
    fail<ShapeError>("the result has shape {}, which does not fit into the tensor's shape {}", replacement.shape(),
                     shape());
  }
  if (kind_order(replacement.dtype()) > kind_order(dtype())) {
    fail<DTypeError>("the result is {}, which does not fit into the tensor's dtype {}", replacement.dtype(), dtype());
  }
  return *this = cast(replacement, dtype());
}

Tensor& Tensor::operator+=(const Operand& other) { return update(*this, lento::add, other, "add"); }
Tensor& Tensor::operator-=(const Operand& other) { return update(*this, lento::subtract, other, "subtract"); }
Tensor& Tensor::operator*=(const Operand& other) { return update(*this, lento::multiply, other, "multiply"); }
Tensor& Tensor::operator/=(const Operand& other) { return update(*this, lento::divide, other, "divide"); }
Tensor& Tensor::operator%=(const Operand& other) { return update(*this, lento::remainder, other, "remainder"); }
Tensor& Tensor::operator&=(const Operand& other) { return update(*this, lento::bitwise_and, other, "bitwise_and"); }
Tensor& Tensor::operator|=(const Operand& other) { return update(*this, lento::bitwise_or, other, "bitwise_or"); }
Tensor& Tensor::operator^=(const Operand& other) { return update(*this, lento::bitwise_xor, other, "bitwise_xor"); }
Tensor& Tensor::operator<<=(const Operand& other) {
  return update(*this, lento::bitwise_left_shift, other, "bitwise_left_shift");
}
Tensor& Tensor::operator>>=(const Operand& other) {
  return update(*this, lento::bitwise_right_shift, other, "bitwise_right_shift");
}

// --- indexing ---

Tensor& Tensor::set(std::initializer_list<Index> index, const Operand& value) {
  const CallScope scope("setitem", source_of(value));
  return *this = set_item(*this, std::span(index.begin(), index.size()), value);
}

Subscript Tensor::operator[](std::initializer_list<Index> index) { return {*this, std::vector<Index>(index)}; }
Subscript Tensor::operator[](const Index& index) { return {*this, {index}}; }
Tensor Tensor::operator[](std::initializer_list<Index> index) const {
  return get_item(*this, std::span(index.begin(), index.size()), line_of({index.begin(), index.size()}));
}
Tensor Tensor::operator[](const Index& index) const { return get_item(*this, {&index, 1}, index.site()); }

Tensor Tensor::slice(std::int64_t axis, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                     std::int64_t step, std::source_location site) const {
  const CallScope scope("slice", site);
  const std::int64_t axes = rank();
  if (axis < -axes || axis >= axes) fail<IndexError>("axis {} is out of range for shape {}", axis, shape());
  std::vector<Index> index(static_cast<std::size_t>(axis < 0 ? axis + axes : axis), Index(Slice{}));
  index.emplace_back(Slice{start, stop, step});
  return get_item(*this, index, site);
}

Subscript::operator const Tensor&() const { return get(line_of(index_)); }

const Tensor& Subscript::get(std::source_location site) const {
  if (!part_.defined()) part_ = get_item(target_, index_, site);
  return part_;
}

Subscript& Subscript::operator=(const Operand& value) {
  const CallScope scope("setitem", source_of(value));
  target_ = set_item(target_, index_, value);
  part_ = Tensor();
  return *this;
}
Subscript& Subscript::operator=(const Subscript& value) { return *this = Operand(value.get(line_of(index_))); }
Subscript& Subscript::operator+=(const Operand& value) { return *this = Operand(add(get(line_of(index_)), value)); }
Subscript& Subscript::operator-=(const Operand& value) {
  return *this = Operand(subtract(get(line_of(index_)), value));
}
Subscript& Subscript::operator*=(const Operand& value) {
  return *this = Operand(multiply(get(line_of(index_)), value));
}
Subscript& Subscript::operator/=(const Operand& value) { return *this = Operand(divide(get(line_of(index_)), value)); }

}  // namespace lento
