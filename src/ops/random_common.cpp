// Random bits as numbers; see random_common.h.
#include "ops/random_common.h"

#include "base/fail.h"
#include "ir/shape_limit.h"
#include "ops/composite_helpers.h"

#include <numbers>

namespace lento::composite::random_detail {

namespace {

/// 2^-n as a number.
double fraction(int n) { return 1.0 / static_cast<double>(std::uint64_t{1} << n); }

}  // namespace

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const std::size_t offset = result.size() - shorter.size();
  for (std::size_t axis = 0; axis < shorter.size(); ++axis) {
    std::int64_t& extent = result[axis + offset];
    if (extent == 1) extent = shorter[axis];
    if (shorter[axis] != 1 && shorter[axis] != extent) fail<ShapeError>("shapes {} and {} cannot be broadcast", a, b);
  }
  return result;
}

Target resolve(const Shape& shape, std::optional<DType> dtype, std::optional<Device> device, Generator* generator,
               std::initializer_list<const Operand*> parameters, DTypeSet allowed) {
  Target target{shape, dtype.value_or(kDefaultFloat), device, generator};
  for (const std::int64_t extent : shape) {
    if (extent < 0) fail<ShapeError>("the shape {} has a negative length", shape);
  }
  bool first = true;
  for (const Operand* parameter : parameters) {
    if (!parameter->is_tensor()) continue;
    const Tensor& tensor = parameter->tensor();
    const Shape joined = broadcast(target.shape, tensor.shape());
    if (!shape.empty() && joined != shape) {
      fail<ShapeError>("a parameter of shape {} cannot be broadcast to shape {}", tensor.shape(), shape);
    }
    target.shape = joined;
    if (!target.device) target.device = tensor.device();
    if (!dtype && is_floating(tensor.dtype())) {
      target.dtype = first ? tensor.dtype() : promote(target.dtype, tensor.dtype());
      first = false;
    }
  }
  if (!contains(allowed, target.dtype)) {
    fail<DTypeError>("dtype {} is not supported, expected {}", target.dtype, dtype_set_text(allowed));
  }
  return target;
}

void check_not_negative(std::string_view name, const Operand& parameter) {
  if (parameter.is_tensor() || parameter.scalar().is_complex()) return;
  if (parameter.scalar().to<double>() < 0)
    fail<ValueError>("{} must not be negative, got {}", name, parameter.scalar());
}

Tensor bits(const Target& target, DType dtype) {
  Generator& generator = target.generator != nullptr ? *target.generator : default_generator();
  const auto per_block = static_cast<std::uint64_t>(16 / size_of(dtype));
  const auto count = static_cast<std::uint64_t>(counted(target.shape));
  const Generator::State state = generator.reserve((count + per_block - 1) / per_block);
  return prim::random_bits(target.shape, state.seed, state.counter, dtype, target.device);
}

Tensor unit(const Target& target) {
  if (target.dtype == DType::float64) {
    return multiply(prim::astype(bitwise_right_shift(bits(target, DType::uint64), 11), DType::float64), fraction(53));
  }
  const int kept = target.dtype == DType::float16 ? 11 : target.dtype == DType::bfloat16 ? 8 : 24;
  const Tensor top = bitwise_right_shift(bits(target, DType::uint32), 32 - kept);
  return multiply(prim::astype(top, DType::float32), fraction(kept));
}

// One bit less than the type has, so that 2 k + 1 is exact.
Tensor open_unit(const Target& target) {
  const bool wide = target.dtype == DType::float64;
  const Tensor top =
      wide ? bitwise_right_shift(bits(target, DType::uint64), 12) : bitwise_right_shift(bits(target, DType::uint32), 9);
  const Tensor odd = add(multiply(top, 2), 1);
  return multiply(prim::astype(odd, wide ? DType::float64 : DType::float32), fraction(wide ? 53 : 24));
}

// The sign takes the bit that the odd numbers below 2^n do not need.
Tensor open_symmetric(const Target& target) {
  const bool wide = target.dtype == DType::float64;
  const int n = wide ? 53 : 24;
  const Tensor top = wide ? prim::astype(bitwise_right_shift(bits(target, DType::uint64), 11), DType::int64)
                          : prim::astype(bitwise_right_shift(bits(target, DType::uint32), 8), DType::int32);
  const Tensor odd = add(multiply(top, 2), 1 - (std::int64_t{1} << n));
  return multiply(prim::astype(odd, wide ? DType::float64 : DType::float32), fraction(n));
}

Tensor fine_unit(const Target& target) {
  return multiply(add(prim::astype(bits(target, DType::uint32), DType::float64), 0.5), fraction(32));
}

Tensor standard_normal(const Target& target) { return multiply(erfinv(open_symmetric(target)), std::numbers::sqrt2); }

Tensor parameter(const Operand& value, const Target& target) {
  const DType dtype = wide_type(target.dtype);
  if (!value.is_tensor()) return prim::full(target.shape, value.scalar(), dtype, target.device);
  return prim::broadcast_to(converted(value.tensor(), dtype), target.shape);
}

Tensor affine(const Tensor& x, const Operand& scale, const Operand& loc, const Target& target) {
  return converted(add(multiply(x, scale), loc), target.dtype);
}

}  // namespace lento::composite::random_detail
