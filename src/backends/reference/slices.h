// Slices whose starts are numbers of the plan.
#pragma once

#include <lento/ints.h>
#include <lento/scalar.h>

#include <span>

namespace lento::reference {

/// Throws IndexError when a slice of shape `part` reaches outside a tensor of shape `whole`: what strided_slice and
/// strided_update check before they touch an element.
void require_slice_inside(const Shape& whole, const Shape& part, std::span<const Scalar> starts, const Ints& axes,
                          const Ints& steps);

}  // namespace lento::reference
