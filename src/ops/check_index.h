// The checks of an index that need no computing, for whoever reads or assigns later.
#pragma once

#include <lento/indexing.h>
#include <lento/tensor.h>

#include <source_location>
#include <span>

namespace lento::composite {

/// Throws what get_item and set_item throw at once for this index of `x`; records and evaluates nothing.
void check_index(const Tensor& x, std::span<const Index> index, const std::source_location& site);

}  // namespace lento::composite
