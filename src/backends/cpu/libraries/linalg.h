// Factorisations and solvers on the CPU: LAPACK, by the reference backend's kernels, the matrices of a batch on several
// threads; triangular systems by BLAS; Cholesky, LU and the solution of large systems in blocks, on all threads.
//
// Work is cut by shape alone and every piece is computed by one thread, so that the bits do not depend on how many
// there are.
#pragma once

#include "backends/cpu/prepared_call.h"
#include "ir/attrs.h"
#include "ir/op_number.h"
#include "ir/shape_table.h"

#include <memory>
#include <vector>

namespace lento::cpu {

/// An op of the family linalg on operands of these shapes and types.
std::unique_ptr<const PreparedCall> make_linalg_call(Op op, AttrsId attrs, std::vector<Meta> operands);

}  // namespace lento::cpu
