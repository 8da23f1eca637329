#include <lento/nn/sequential.h>

#include "base/fail.h"
#include "base/source.h"

namespace lento::nn {

Sequential::Held::~Held() = default;

Tensor Sequential::operator()(const Tensor& x, std::source_location site) {
  Tensor value = x;
  for (const Pointer& step : steps_) value = step.get()->call(value, site);
  return value;
}

Tensor Sequential::operator()(const Tensor& x, std::source_location site) const {
  Tensor value = x;
  for (const Pointer& step : steps_) value = std::as_const(*step.get()).call_constant(value, site);
  return value;
}

void Sequential::fields(tree::Visitor& visitor) {
  for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i].get()->visit(visitor, std::to_string(i));
}

Sequential::Held* Sequential::held(std::size_t number, const std::source_location& site) const {
  if (number < steps_.size()) return steps_[number].get();
  const CallScope scope("Sequential::at()", site);
  fail<IndexError>("there are {} steps, and none with the number {}", steps_.size(), number);
}

void Sequential::refuse_type(std::size_t number, const std::source_location& site) const {
  const CallScope scope("Sequential::at()", site);
  fail<ValueError>("step {} is of another type", number);
}

}  // namespace lento::nn
