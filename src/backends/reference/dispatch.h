// How the interpreter hands operands to kernels. The switch over the ops is generated (reference/kernels.gen.cpp).
#pragma once

#include "backend/node_call.h"
#include "backend/status_words.h"
#include "backends/reference/array.h"
#include "backends/reference/elementwise.h"
#include "ir/attrs.h"
#include "ir/op_number.h"

#include <optional>
#include <span>
#include <vector>

namespace lento::reference {

/// An operand of a record: an array, or a number with the dtype in which the op takes it.
class Argument {
 public:
  explicit Argument(const Array& array) : array_(array), dtype_(array.dtype()) {}
  Argument(const Scalar& number, DType dtype) : number_(number), dtype_(dtype) {}

  bool is_array() const { return array_.has_value(); }
  const Array& array() const { return *array_; }
  const Scalar& number() const { return number_; }
  DType dtype() const { return dtype_; }

 private:
  std::optional<Array> array_;
  Scalar number_;
  DType dtype_;
};

std::vector<Array> arrays_of(std::span<const Argument> arguments);
std::vector<Scalar> numbers_of(std::span<const Argument> arguments);

/// Computes the results of one record. Throws when the data does not fit, such as an index out of range, and for an op
/// that the catalogue does not have.
void run(Op op, std::span<const Array> outs, std::span<const Argument> arguments, AttrsId attrs);

/// The same for what a node reads and writes; a result without memory is forgotten. With status words, those of the
/// node on a device, it tells there that the data does not fit, and throws nothing for it.
void run_node(const NodeCall& call, StatusWord* words = nullptr);

/// The inner loop of an elementwise op that computes in `compute`, or null when the op does not take that dtype.
ElementwiseLoop find_elementwise(Op op, DType compute);

/// Finds the inner loop for the dtype of the operands and runs it over the broadcast shape.
void run_elementwise_op(Op op, const Array& out, std::span<const Argument> arguments);

}  // namespace lento::reference
