// Derivatives of gathers, scatters and sorts.
#include "autograd/rules.h"
#include "autograd/rules_gather.calls.gen.h"
#include "ops/composite_helpers.h"

#include <functional>

namespace lento::rules {

using composite::converted;

namespace {

/// A way of addressing: what reads at the positions, and what writes there.
struct Access {
  std::function<Tensor(const Tensor& x)> read;
  std::function<Tensor(const Tensor& x, const Tensor& value, std::string_view mode)> write;
};

/// How many of the elements that met in each place equal the result.
Tensor count_of_winners(const Access& at, const Tensor& x, const Tensor& value, const Tensor& result) {
  return at.write(converted(equal(x, result), x.dtype()), converted(equal(value, at.read(result)), x.dtype()), "add");
}

/// What each value was multiplied with. Zeros are left out of the product, which is divided by the value: one zero
/// among the others is their factor, with its derivative; two make a product without any (of the first order).
Tensor partners(const Access& at, const Tensor& x, const Tensor& value) {
  const auto met = [&](const auto& of, std::string_view mode) { return at.read(at.write(of(x), of(value), mode)); };
  const auto nonzero = [](const Tensor& t) { return where(equal(t, 0), 1, t); };
  const auto zero = [](const Tensor& t) { return where(equal(t, 0), t, 0); };
  const auto count = [](const Tensor& t) { return converted(equal(t, 0), DType::int64); };
  const Tensor product = met(nonzero, "multiply") / nonzero(value);
  const Tensor zeros = met(count, "add") - count(value);
  return where(equal(zeros, 0), product, where(equal(zeros, 1), product * (met(zero, "add") - zero(value)), 0));
}

Tensor base(const Access& at, const Tensor& grad, const Tensor& x, const Tensor& value, const Tensor& result,
            std::string_view mode) {
  if (mode == "set") return at.write(grad, zeros_like(value), "set");
  if (mode == "add") return grad;
  if (mode == "multiply") {
    return grad * conjugated(at.write(ones(x.shape(), x.dtype(), x.device()), value, "multiply"));
  }
  return where(equal(x, result), grad / count_of_winners(at, x, value, result), 0);
}

Tensor written(const Access& at, const Tensor& grad, const Tensor& x, const Tensor& value, const Tensor& result,
               std::string_view mode) {
  Tensor here = at.read(grad);
  if (mode == "add") return here;
  if (mode == "set") {
    // The last of several values for one place won: the one whose number is found there.
    const Tensor number = composite::reshaped(composite::counting(value.size(), value.device()), value.shape());
    const Tensor winner = at.read(at.write(zeros(x.shape(), DType::int64, x.device()), number, "set"));
    return where(equal(winner, number), here, 0);
  }
  if (mode == "multiply") return here * conjugated(partners(at, x, value));
  return where(equal(value, at.read(result)), at.read(grad / count_of_winners(at, x, value, result)), 0);
}

Access along_axis(const Tensor& indices, std::int64_t axis) {
  return {[=](const Tensor& x) { return prim::take_along_axis(x, indices, axis); },
          [=](const Tensor& x, const Tensor& value, std::string_view mode) {
            return prim::scatter_axis(x, indices, value, axis, mode);
          }};
}

Access over_first_axes(const std::vector<Tensor>& indices) {
  return {[=](const Tensor& x) { return prim::gather_nd(x, indices); },
          [=](const Tensor& x, const Tensor& value, std::string_view mode) {
            return prim::scatter_nd(x, value, indices, mode);
          }};
}

}  // namespace

Tensor take_axis(const Tensor& grad, const Tensor& x, const Tensor& indices, std::int64_t axis) {
  const std::int64_t at = axis < 0 ? axis + x.rank() : axis;
  if (at == 0) return prim::scatter_nd(zeros_like(x), grad, {indices}, "add");
  // The axes of the indices first, as a scatter over the first axis wants them.
  Tensor moved = grad;
  for (std::int64_t i = 0; i < indices.rank(); ++i) moved = composite::move_axis(moved, at + i, i);
  const Tensor into = zeros_like(composite::move_axis(x, at, 0));
  return composite::move_axis(prim::scatter_nd(into, moved, {indices}, "add"), 0, at);
}

Tensor take_along_axis(const Tensor& grad, const Tensor& x, const Tensor& indices, std::int64_t axis) {
  return prim::scatter_axis(zeros_like(x), indices, grad, axis, "add");
}

Tensor scatter_axis_base(const Tensor& grad, const Tensor& x, const Tensor& indices, const Tensor& value,
                         const Tensor& result, std::int64_t axis, std::string_view mode) {
  return base(along_axis(indices, axis), grad, x, value, result, mode);
}

Tensor scatter_axis_value(const Tensor& grad, const Tensor& x, const Tensor& indices, const Tensor& value,
                          const Tensor& result, std::int64_t axis, std::string_view mode) {
  return written(along_axis(indices, axis), grad, x, value, result, mode);
}

Tensor scatter_nd_base(const Tensor& grad, const Tensor& x, const Tensor& value, const std::vector<Tensor>& indices,
                       const Tensor& result, std::string_view mode) {
  return base(over_first_axes(indices), grad, x, value, result, mode);
}

Tensor scatter_nd_value(const Tensor& grad, const Tensor& x, const Tensor& value, const std::vector<Tensor>& indices,
                        const Tensor& result, std::string_view mode) {
  return written(over_first_axes(indices), grad, x, value, result, mode);
}

Tensor sort_values(const Tensor& grad, const Tensor& x, std::int64_t axis, bool descending) {
  return prim::scatter_axis(zeros_like(x), prim::sort_indices(x, axis, descending), grad, axis, "set");
}

}  // namespace lento::rules
