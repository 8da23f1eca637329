// How a loss gives its elements: each, their mean or their sum.
#pragma once

#include <lento/tensor.h>

#include <cstdint>
#include <string_view>

namespace lento::composite {

enum class Reduction : std::uint8_t { none, mean, sum };
/// Throws ValueError for an unknown name.
Reduction parse_reduction(std::string_view name);
/// The elements, their mean or their sum, in `dtype`.
Tensor reduce_loss(const Tensor& loss, Reduction reduction, DType dtype);

}  // namespace lento::composite
