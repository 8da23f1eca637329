#include "ops/loss_reduction.h"

#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/loss_reduction.calls.gen.h"

namespace lento::composite {

Reduction parse_reduction(std::string_view name) {
  if (name == "mean") return Reduction::mean;
  if (name == "sum") return Reduction::sum;
  if (name == "none") return Reduction::none;
  fail<ValueError>("reduction must be 'none', 'mean' or 'sum', got '{}'", name);
}

Tensor reduce_loss(const Tensor& loss, Reduction reduction, DType dtype) {
  if (reduction == Reduction::none) return converted(loss, dtype);
  const Tensor total = sum_over(loss, all_axes(loss.rank()));
  if (reduction == Reduction::sum) return converted(total, dtype);
  return converted(divide(total, static_cast<double>(loss.size())), dtype);
}

}  // namespace lento::composite
