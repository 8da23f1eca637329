// Counters with one value per op, such as op.exp and fallback.exp.
#pragma once

#include "base/counters.h"
#include "ir/op_number.h"

#include <string_view>

namespace lento {

/// Makes the counters prefix + name for every op, also for those that are added later; returns the id that the number
/// of an op is added to. The same prefix gives the same counters. For constants that are made while the library is
/// loaded, before anybody adds an op.
CounterId make_op_counters(std::string_view prefix);

/// Names the counters of an op that was added.
void name_op_counters(Op op, std::string_view name);

}  // namespace lento
