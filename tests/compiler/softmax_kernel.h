// The example of kernel.h: softmax of a matrix as one kernel of three passes.
#pragma once

#include "compiler/kernel.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_reduction.gen.h"

namespace lento::testing {

/// Over rows, or down columns.
inline Kernel softmax_kernel(LoopForm form) {
  using Kind = Instruction::Kind;
  constexpr DType kFloat = DType::float32;
  Kernel kernel;
  kernel.form = form;
  kernel.dims = 2;
  kernel.operands = {{kFloat, InnerStride::one, true, false}, {kFloat, InnerStride::one, true, true}};
  kernel.body = {
      {Kind::load, {}, kFloat, 0, 0, {}},
      {Kind::reduce, op::reduce_max, kFloat, 1, 0, {0}},
      {Kind::compute, op::subtract, kFloat, 2, 0, {0, 1}},
      {Kind::compute, op::exp, kFloat, 1, 0, {2}},
      {Kind::reduce, op::reduce_sum, kFloat, 1, 0, {3}},
      {Kind::compute, op::divide, kFloat, 2, 0, {3, 4}},
      {Kind::store, {}, kFloat, 1, 1, {5}},
  };
  return kernel;
}

}  // namespace lento::testing
