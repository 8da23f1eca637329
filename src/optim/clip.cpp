#include <lento/optim/clip.h>

#include "base/fail.h"
#include "base/source.h"
#include "optim/checks.h"
#include "optim/clip.calls.gen.h"
#include "optim/update_parts.h"

#include <cmath>

namespace lento::optim {
namespace {

using composite::converted;

bool is_gradient(const Tensor& x) { return x.defined() && is_inexact(x.dtype()); }

}  // namespace

Tensor global_norm(const std::vector<Tensor>& tensors, double norm_type, std::source_location site) {
  const CallScope scope("global_norm", site);
  if (!(norm_type > 0)) fail<ValueError>("norm_type is {}, which is not greater than 0", Scalar(norm_type));
  const bool is_largest = std::isinf(norm_type);
  Tensor total;
  for (const Tensor& g : tensors) {
    if (!is_gradient(g) || (is_largest && g.size() == 0)) continue;
    const Tensor sizes = abs(widened(g));
    const Tensor part = is_largest       ? max(sizes)
                        : norm_type == 2 ? sum(square(sizes))
                        : norm_type == 1 ? sum(sizes)
                                         : sum(pow(sizes, norm_type));
    if (!total.defined()) {
      total = part;
    } else {
      total = is_largest ? maximum(total, part) : add(total, part);
    }
  }
  if (!total.defined()) fail<ValueError>("there are no gradients");
  if (is_largest || norm_type == 1) return total;
  return norm_type == 2 ? sqrt(total) : pow(total, 1 / norm_type);
}

std::pair<std::vector<Tensor>, Tensor> clip_grad_norm(const std::vector<Tensor>& gradients, double max_norm,
                                                      double norm_type, std::source_location site) {
  const CallScope scope("clip_grad_norm", site);
  check_not_negative("max_norm", max_norm);
  const Tensor norm = global_norm(gradients, norm_type, site);
  const Tensor scale = minimum(divide(max_norm, add(norm, 1e-6)), 1.0);
  std::vector<Tensor> clipped = gradients;
  for (Tensor& g : clipped) {
    if (is_gradient(g)) g = converted(multiply(widened(g), scale), g.dtype());
  }
  return {std::move(clipped), norm};
}

std::vector<Tensor> clip_grad_value(const std::vector<Tensor>& gradients, double limit, std::source_location site) {
  const CallScope scope("clip_grad_value", site);
  check_not_negative("limit", limit);
  std::vector<Tensor> clipped = gradients;
  for (Tensor& g : clipped) {
    if (is_gradient(g)) g = clip(g, -limit, limit);
  }
  return clipped;
}

}  // namespace lento::optim
