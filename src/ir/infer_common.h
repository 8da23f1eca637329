// Checks that the inference functions of several families share. Each throws with the rule that was broken; the op and
// the user's line are added by fail().
#pragma once

#include <lento/ints.h>

#include "ir/shape_table.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lento {

/// "float32(2, 3)", as operands appear in messages.
std::string type_text(const Meta& meta);

/// The axis counted from the front. Throws IndexError unless -rank <= axis < rank.
std::int64_t normalized_axis(std::int64_t axis, const Meta& x);
/// All axes counted from the front, in the order given. Throws IndexError when one is out of range and ValueError when
/// one is given twice.
Ints normalized_axes(std::span<const std::int64_t> axes, const Meta& x);

/// Throws DTypeError unless `x` has an integer dtype; `what` names the argument.
void require_integer(const Meta& x, std::string_view what);
/// Throws DTypeError unless both have one dtype; `what_a` and `what_b` name the arguments.
void require_same_dtype(const Meta& a, std::string_view what_a, const Meta& b, std::string_view what_b);

/// The shape that all of these broadcast to. Throws ShapeError naming them all when there is none.
Shape broadcast_all(std::span<const Meta> operands);

}  // namespace lento
