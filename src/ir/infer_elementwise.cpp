#include "ir/infer_elementwise.h"

#include "base/fail.h"

namespace lento {

Shape broadcast_shapes(std::span<const Shape* const> shapes) {
  std::size_t rank = 0;
  for (const Shape* shape : shapes) rank = std::max(rank, shape->size());
  Shape result(rank, 1);
  for (const Shape* shape : shapes) {
    const std::size_t offset = rank - shape->size();
    for (std::size_t axis = 0; axis < shape->size(); ++axis) {
      const std::int64_t extent = (*shape)[axis];
      std::int64_t& common = result[offset + axis];
      if (extent == 1 || extent == common) continue;
      if (common != 1) {
        std::string all;
        for (const Shape* each : shapes) all += (all.empty() ? "" : " and ") + shape_text(*each);
        fail<ShapeError>("shapes {} do not broadcast: {} and {} differ along axis {} and neither is 1", all, common,
                         extent, static_cast<std::int64_t>(axis) - static_cast<std::int64_t>(shape->size()));
      }
      common = extent;
    }
  }
  return result;
}

Meta infer_elementwise(const ElementwiseRule& rule, std::span<const Meta> operands, std::optional<DType> scalar_dtype) {
  std::optional<DType> compute = scalar_dtype;
  std::vector<const Shape*> shapes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    shapes.push_back(&operands[i].shape);
    if (i == 0 && rule.leading_condition) {
      if (operands[0].dtype != DType::bool_) fail<DTypeError>("the condition is {}, not bool", operands[0].dtype);
      continue;
    }
    if (compute && *compute != operands[i].dtype) {
      fail<DTypeError>("operands have the dtypes {} and {}; they must be cast to one first", *compute,
                       operands[i].dtype);
    }
    compute = operands[i].dtype;
  }
  if (!compute) compute = DType::float32;
  if (!compute_dtype(rule, *compute) || compute_dtype(rule, *compute) != compute) {
    fail<DTypeError>("is not defined for {}, only for {}", *compute, dtype_set_text(rule.allowed));
  }
  return {result_dtype(rule, *compute), broadcast_shapes(shapes)};
}

}  // namespace lento
