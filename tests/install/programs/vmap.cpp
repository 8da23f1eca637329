// The gradient of every example at once is that of each alone; what cannot be mapped is refused.
#include "check.h"

#include <lento/lento.h>

#include <optional>
#include <string>

namespace nn = lento::nn;
using lento::Tensor;

int main() {
  lento::random::seed(2);
  nn::Linear layer(4, 3);
  const Tensor xs = lento::random::normal({5, 4});
  const Tensor ys = lento::tensor({0, 1, 2, 1, 0});
  const auto loss = [](const nn::Linear& l, const Tensor& x, const Tensor& y) {
    return nn::cross_entropy(l(x)[lento::newaxis], y[lento::newaxis]);
  };
  const nn::Linear all = lento::vmap(lento::grad(loss), {std::nullopt, 0, 0})(layer, xs, ys);
  CHECK(all.weight.shape() == lento::Shape{5, 3, 4});
  for (int i = 0; i < 5; ++i) {
    const nn::Linear one = lento::grad(loss)(layer, xs[i], ys[i]);
    CHECK(lento::allclose(one.weight, all.weight[i], 1e-5, 1e-6).item<bool>());
  }
  try {
    (void)lento::vmap([](const Tensor& x) { return x.sum().item<float>() > 0 ? x : -x; })(xs);
    CHECK(false);
  } catch (const lento::ValueError& error) {
    CHECK(std::string(error.what()).find("vmap.cpp:") != std::string::npos);
  }
}
