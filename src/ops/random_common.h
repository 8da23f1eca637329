// Random bits as numbers: what the distributions of ops/random.yaml are made of.
#pragma once

#include "ops/random_common.calls.gen.h"

#include <initializer_list>
#include <optional>
#include <string_view>

namespace lento::composite::random_detail {

/// Where and with what dtype a random tensor is made, resolved from the arguments of a call.
struct Target {
  Shape shape;
  DType dtype;
  std::optional<Device> device;
  Generator* generator;  // null: the default one
};

/// Without a shape, that of the tensors among the parameters, broadcast; else they must broadcast to it. Without a
/// dtype, that of those tensors, else the default float. Throws DTypeError unless the dtype is in `allowed`.
Target resolve(const Shape& shape, std::optional<DType> dtype, std::optional<Device> device, Generator* generator,
               std::initializer_list<const Operand*> parameters, DTypeSet allowed);

/// Throws ValueError for a negative number; what tensors hold is not looked at.
void check_not_negative(std::string_view name, const Operand& parameter);

/// The next bits of the generator: uint32 or uint64.
Tensor bits(const Target& target, DType dtype);

/// k / 2^n, in [0, 1), with as many bits n as the dtype has; half types as float32 values they can represent.
Tensor unit(const Target& target);
/// (2 k + 1) / 2^n, in (0, 1): never 0, never 1. float32 for half types.
Tensor open_unit(const Target& target);
/// (2 k + 1) / 2^n - 1, in (-1, 1) and symmetric: never 0, never an end. float32 for half types.
Tensor open_symmetric(const Target& target);

/// (2 k + 1) / 2^33 of 32 bits, in (0, 1), as float64: for draws that are integers.
Tensor fine_unit(const Target& target);
/// Mean 0, variance 1. float32 for half types.
Tensor standard_normal(const Target& target);

/// A parameter as a tensor of the type that is computed in, broadcast to the target's shape.
Tensor parameter(const Operand& value, const Target& target);
/// The shape of two that are broadcast together. Throws ShapeError.
Shape broadcast(const Shape& a, const Shape& b);

/// `x * scale + loc` in the type of x, then in the target's.
Tensor affine(const Tensor& x, const Operand& scale, const Operand& loc, const Target& target);

}  // namespace lento::composite::random_detail
