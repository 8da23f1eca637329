// Inference for whoever walks records without knowing the ops. The functions of single ops are declared in the
// generated headers, one per family (ir/infer_reduction.gen.h), and written by hand in ir/infer_<family>.cpp.
#pragma once

#include "ir/attrs.h"
#include "ir/op_number.h"
#include "ir/shape_table.h"

#include <span>

namespace lento {

/// Infers the results of a record from its tensor operands (numbers are left out), for the verifier. `results` has one
/// element for each result and comes in as recorded: an elementwise op without any tensor keeps its dtype from there.
/// Returns the attributes as they are recorded: axes counted from the front, no lengths left to be computed.
AttrsId infer_node(Op op, std::span<const Meta> operands, AttrsId id, std::span<Meta> results);

}  // namespace lento
