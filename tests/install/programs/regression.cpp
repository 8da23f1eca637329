// A line through points, by gradients of a struct of tensors.
#include "check.h"

#include <lento/lento.h>

#include <cmath>

using lento::Tensor;

struct Line {
  Tensor slope, offset;
  LENTO_FIELDS(slope, offset)
};

int main() {
  lento::random::seed(1);
  const Tensor x = lento::random::uniform({200}, -1.0, 1.0);
  const Tensor y = 3 * x - 2 + 0.01 * lento::random::normal({200});
  Line line{lento::zeros({}), lento::zeros({})};
  const auto loss = [&](const Line& l) { return lento::square(l.slope * x + l.offset - y).mean(); };
  for (int i = 0; i < 200; ++i) {
    const auto [value, grads] = lento::value_and_grad(loss)(line);
    line = lento::tree::map([](const Tensor& p, const Tensor& g) { return p - 0.3 * g; }, line, grads);
    lento::step();
  }
  CHECK(std::abs(line.slope.item<float>() - 3) < 0.01F);
  CHECK(std::abs(line.offset.item<float>() + 2) < 0.01F);
  CHECK(lento::metrics::counter("plan.miss") <= 4);  // compiled once, whatever the numbers are
}
