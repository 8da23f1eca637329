// Which casts lose nothing, so that a cast behind them may read their operand.
#pragma once

#include <lento/dtype.h>

namespace lento {

/// Every value of `from` is one of `to`.
bool holds_every(DType to, DType from);

/// astype(astype(x, middle), to) is astype(x, to) for every x of dtype `from`.
bool middle_cast_is_exact(DType from, DType middle, DType to);

}  // namespace lento
