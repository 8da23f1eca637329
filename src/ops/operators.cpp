// The operators of Tensor and Subscript: a thin layer over the named ops.
#include <lento/tensor.h>

#include "base/fail.h"
#include "ops/check_index.h"
#include "ops/operators.calls.gen.h"
#include "tensor/record.h"

#include <exception>
#include <utility>
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
Tensor operator+(const LocatedTensor& x) { return positive(x.tensor, x.site); }
Tensor operator-(const LocatedTensor& x) { return negative(x.tensor, x.site); }
Tensor operator~(const LocatedTensor& x) { return bitwise_invert(x.tensor, x.site); }
Tensor operator!(const LocatedTensor& x) { return logical_not(x.tensor, x.site); }

// --- in place: the handle gets a new value of the same shape and dtype (clause T6) ---

namespace {

Source source_of(const Operand& operand) { return {operand.unit(), operand.position(), 0}; }

/// bool < integer < floating < complex: a value fits into a tensor of its own kind or a later one.
int kind_order(DType dtype) { return is_bool(dtype) ? 0 : is_integer(dtype) ? 1 : is_floating(dtype) ? 2 : 3; }

using BinaryOp = Tensor (*)(const Operand&, const Operand&);

Tensor& update(Tensor& target, BinaryOp op, const Operand& other, std::string_view operation) {
  Tensor result = op(Operand(target, other.unit(), other.position()), other);
  const TensorState& now = state_of(result);
  const TensorState& before = state_of(target);
  // Mostly it fits as it is; what assign() does besides costs more than recording the op.
  if (now.dtype == before.dtype && now.shape == before.shape) return target = std::move(result);
  return target.assign(Operand(result, other.unit(), other.position()), operation);
}

}  // namespace

Tensor& Tensor::assign(const Operand& value, std::string_view operation) & {
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

Tensor& Tensor::operator+=(const Operand& other) & { return update(*this, lento::add, other, "add"); }
Tensor& Tensor::operator-=(const Operand& other) & { return update(*this, lento::subtract, other, "subtract"); }
Tensor& Tensor::operator*=(const Operand& other) & { return update(*this, lento::multiply, other, "multiply"); }
Tensor& Tensor::operator/=(const Operand& other) & { return update(*this, lento::divide, other, "divide"); }
Tensor& Tensor::operator%=(const Operand& other) & { return update(*this, lento::remainder, other, "remainder"); }
Tensor& Tensor::operator&=(const Operand& other) & { return update(*this, lento::bitwise_and, other, "bitwise_and"); }
Tensor& Tensor::operator|=(const Operand& other) & { return update(*this, lento::bitwise_or, other, "bitwise_or"); }
Tensor& Tensor::operator^=(const Operand& other) & { return update(*this, lento::bitwise_xor, other, "bitwise_xor"); }
Tensor& Tensor::operator<<=(const Operand& other) & {
  return update(*this, lento::bitwise_left_shift, other, "bitwise_left_shift");
}
Tensor& Tensor::operator>>=(const Operand& other) & {
  return update(*this, lento::bitwise_right_shift, other, "bitwise_right_shift");
}

// --- indexing ---

Tensor& Tensor::set(std::initializer_list<Index> index, const Operand& value) & {
  const CallScope scope("setitem", source_of(value));
  return *this = set_item(*this, std::span(index.begin(), index.size()), value);
}

Tensor& Tensor::fill(const Operand& value) & { return set({Index(ellipsis)}, value); }

Subscript Tensor::operator[](IndexList index) & { return {*this, index}; }
Tensor Tensor::operator[](IndexList index) const& { return get_item(*this, index.items(), index.site()); }

Tensor Tensor::slice(std::int64_t axis, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                     std::int64_t step, std::source_location site) const {
  const CallScope scope("slice", site);
  const std::int64_t axes = rank();
  if (axis < -axes || axis >= axes) fail<IndexError>("axis {} is out of range for shape {}", axis, shape());
  std::vector<Index> index(static_cast<std::size_t>(axis < 0 ? axis + axes : axis), Index(Slice{}));
  index.emplace_back(Slice{start, stop, step});
  return get_item(*this, index, site);
}

// --- Subscript ---

std::span<const Index> IndexList::items() const { return {first_, count_}; }

IndexList::~IndexList() {
  if (subscript_ != nullptr) subscript_->keep_value();
}

Subscript::Subscript(Tensor* target, Subscript* outer, IndexList& index, Tensor whole)
    : target_(target), outer_(outer), index_(&index), whole_(std::move(whole)) {
  if (index.subscript_ != nullptr) index.subscript_->keep_value();
  index.subscript_ = this;
}

Subscript::Subscript(Tensor& target, IndexList& index) : Subscript(&target, nullptr, index, target) {
  composite::check_index(whole_, index.items(), index.site());
}

Subscript::Subscript(Subscript& outer, IndexList& index) : Subscript(nullptr, &outer, index, outer.part()) {
  composite::check_index(whole_, index.items(), index.site());
}

Subscript::Subscript(const Subscript& other)
    : target_(nullptr),
      outer_(nullptr),
      index_(nullptr),
      part_(other.index_ != nullptr ? other.part() : other.part_),
      failure_(other.failure_) {}

Subscript::~Subscript() {
  if (index_ != nullptr) index_->subscript_ = nullptr;
}

Subscript Subscript::operator[](IndexList index) && { return {*this, index}; }
Tensor Subscript::operator[](IndexList index) const& { return get_item(part(), index.items(), index.site()); }

const Tensor& Subscript::part(const std::source_location& site) const {
  if (part_.defined()) return part_;
  if (failure_) std::rethrow_exception(failure_);
  if (index_ == nullptr) fail<ValueError>("the subscript is empty: something was assigned through it");
  part_ = get_item(whole_, index_->items(), site);
  return part_;
}

const Tensor& Subscript::part() const { return part(index_ != nullptr ? index_->site() : std::source_location()); }

void Subscript::keep_value() noexcept {
  try {
    (void)part();
  } catch (...) {
    failure_ = std::current_exception();
  }
  index_->subscript_ = nullptr;
  index_ = nullptr;
  target_ = nullptr;
  outer_ = nullptr;
  whole_ = Tensor();
}

Tensor Subscript::current_whole() const {
  if (index_ == nullptr) {
    fail<ValueError>(
        "a subscript is a value once the expression is over in which it was made; assign to x[{{...}}] itself");
  }
  if (target_ != nullptr) return *target_;
  const Tensor around = outer_->current_whole();
  const bool unchanged = around.state() == outer_->whole_.state();
  return unchanged ? outer_->part() : get_item(around, outer_->index_->items(), outer_->index_->site());
}

void Subscript::put(const Operand& value) {
  const Tensor before = current_whole();
  whole_ = set_item(before, index_->items(), value);
  part_ = Tensor();
  if (target_ != nullptr) {
    *target_ = whole_;
  } else {
    outer_->put(Operand(whole_, value.unit(), value.position()));
  }
}

Subscript Subscript::operator=(const Operand& value) && {
  const CallScope scope("setitem", source_of(value));
  put(value);
  // The one that is returned takes over: the part that it gives is the new one.
  IndexList& index = *std::exchange(index_, nullptr);
  index.subscript_ = nullptr;
  return {std::exchange(target_, nullptr), std::exchange(outer_, nullptr), index, std::move(whole_)};
}

// NOLINTNEXTLINE(bugprone-unhandled-self-assignment): the value is read before anything is assigned
Subscript Subscript::operator=(const Subscript& value) && {
  const std::source_location site = index_ != nullptr ? index_->site() : std::source_location();
  return std::move(*this) = Operand(value.part(site), site);
}

Subscript Subscript::update(BinaryOp op, const Operand& value, std::string_view operation) {
  const CallScope scope(operation, source_of(value));
  const Tensor result = op(Operand(part(), value.unit(), value.position()), value);
  return std::move(*this) = Operand(result, value.unit(), value.position());
}

Subscript Subscript::operator+=(const Operand& value) && { return update(lento::add, value, "add"); }
Subscript Subscript::operator-=(const Operand& value) && { return update(lento::subtract, value, "subtract"); }
Subscript Subscript::operator*=(const Operand& value) && { return update(lento::multiply, value, "multiply"); }
Subscript Subscript::operator/=(const Operand& value) && { return update(lento::divide, value, "divide"); }
Subscript Subscript::operator%=(const Operand& value) && { return update(lento::remainder, value, "remainder"); }
Subscript Subscript::operator&=(const Operand& value) && { return update(lento::bitwise_and, value, "bitwise_and"); }
Subscript Subscript::operator|=(const Operand& value) && { return update(lento::bitwise_or, value, "bitwise_or"); }
Subscript Subscript::operator^=(const Operand& value) && { return update(lento::bitwise_xor, value, "bitwise_xor"); }
Subscript Subscript::operator<<=(const Operand& value) && {
  return update(lento::bitwise_left_shift, value, "bitwise_left_shift");
}
Subscript Subscript::operator>>=(const Operand& value) && {
  return update(lento::bitwise_right_shift, value, "bitwise_right_shift");
}

}  // namespace lento
