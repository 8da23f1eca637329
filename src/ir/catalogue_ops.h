// The generated table of the catalogue's ops (ir/op_table.gen.cpp), as ir/op.cpp reads it.
#pragma once

#include "ir/op.h"

namespace lento {

/// The descriptor, or null where the catalogue has no op of this number. `op` must be below kFirstAddedOp.
const OpInfo* catalogue_op(Op op);

}  // namespace lento
