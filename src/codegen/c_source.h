// The vector math as C, for devices whose compilers take source: made of what emit_math emits for scalars, so that
// there is one definition of each function, and one result.
#pragma once

#include <lento/dtype.h>

#include "ir/op_number.h"

#include <span>
#include <string>
#include <vector>

namespace lento::codegen {

struct CFunction {
  Op op;
  DType dtype;  // float32 or float64

  /// As it is called in C: lento_exp_f32.
  std::string name() const;
};

/// All functions of the vector math, in both dtypes.
std::vector<CFunction> c_functions();

/// C99 that defines these functions, `static inline`, and needs nothing else. Compiled without contraction, with
/// rounding to nearest and subnormals, they give the bits that generated code gives; nans may have other bits. The text
/// says at its top what a compiler of another language, such as OpenCL C, has to define.
std::string c_source(std::span<const CFunction> functions);

}  // namespace lento::codegen
