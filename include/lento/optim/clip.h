// Clipping of gradients.
#pragma once

#include <lento/export.h>
#include <lento/tensor.h>
#include <lento/tree.h>

#include <source_location>
#include <utility>
#include <vector>

namespace lento::optim {

/// The common norm of all tensors, as of one vector, computed in float32 at least: the root of the sum of squares, the
/// largest element for a `norm_type` of infinity, or that of another power. What is not floating does not count. Throws
/// ValueError when there are none, and unless norm_type is greater than 0.
LENTO_API Tensor global_norm(const std::vector<Tensor>& tensors, double norm_type = 2.0,
                             std::source_location site = std::source_location::current());
/// The same for any tree.
template <tree::Tree T>
Tensor global_norm(const T& tensors, double norm_type = 2.0,
                   std::source_location site = std::source_location::current()) {
  return global_norm(tree::leaves(tensors), norm_type, site);
}

/// The gradients, scaled down where their common norm exceeds `max_norm`; and that norm. What is not floating stays as
/// it is. Throws ValueError as global_norm does, and for a max_norm below 0.
LENTO_API std::pair<std::vector<Tensor>, Tensor> clip_grad_norm(
    const std::vector<Tensor>& gradients, double max_norm, double norm_type = 2.0,
    std::source_location site = std::source_location::current());
/// The same for any tree.
template <tree::Tree T>
std::pair<T, Tensor> clip_grad_norm(const T& gradients, double max_norm, double norm_type = 2.0,
                                    std::source_location site = std::source_location::current()) {
  auto [clipped, norm] = clip_grad_norm(tree::leaves(gradients), max_norm, norm_type, site);
  return {tree::unflatten(gradients, clipped, site), std::move(norm)};
}

/// The gradients with every element between `-limit` and `limit`. Throws ValueError for a limit below 0.
LENTO_API std::vector<Tensor> clip_grad_value(const std::vector<Tensor>& gradients, double limit,
                                              std::source_location site = std::source_location::current());
/// The same for any tree.
template <tree::Tree T>
T clip_grad_value(const T& gradients, double limit, std::source_location site = std::source_location::current()) {
  return tree::unflatten(gradients, clip_grad_value(tree::leaves(gradients), limit, site), site);
}

}  // namespace lento::optim
