// The dtype and shape rule of elementwise ops, as data: which dtypes the operands may have once they are promoted
// together, and which dtype the result has. Shapes always broadcast.
#pragma once

#include <lento/dtype.h>

#include "ir/shape_table.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lento {

struct ElementwiseRule {
  enum class Result : std::uint8_t {
    same,     // the dtype the operands were promoted to
    real,     // its real type
    fixed,    // always `fixed`: bool for comparisons
    complex,  // the complex type whose parts have it
  };

  DTypeSet allowed = kAny;  // for the common dtype of the operands
  Result result = Result::same;
  bool to_float = false;  // integers and bools are taken as the default float first
  DType fixed = DType::bool_;
  bool leading_condition = false;  // operand 0 is a bool of its own and takes no part in promotion (where)
};

/// The dtype operands are cast to before the op runs, from the promotion of all of them; nothing if the op does not
/// take it.
inline std::optional<DType> compute_dtype(const ElementwiseRule& rule, DType promoted) {
  if (rule.to_float && !is_floating(promoted) && !is_complex(promoted)) promoted = kDefaultFloat;
  if (!contains(rule.allowed, promoted)) return std::nullopt;
  return promoted;
}

inline DType result_dtype(const ElementwiseRule& rule, DType compute) {
  switch (rule.result) {
    case ElementwiseRule::Result::same:
      return compute;
    case ElementwiseRule::Result::real:
      return real_type(compute);
    case ElementwiseRule::Result::fixed:
      return rule.fixed;
    case ElementwiseRule::Result::complex:
      return complex_type(compute);
  }
  return compute;
}

/// The shape all of these broadcast to; throws ShapeError naming the axis that does not fit.
Shape broadcast_shapes(std::span<const Shape* const> shapes);

/// The result of an elementwise op whose operands already have their common dtype; numbers are left out. `scalar_dtype`
/// is that dtype when every operand is a number. Throws when dtypes differ or are not allowed.
Meta infer_elementwise(const ElementwiseRule& rule, std::span<const Meta> operands,
                       std::optional<DType> scalar_dtype = {});

}  // namespace lento
