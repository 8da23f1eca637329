// A function with a derivative of its own, alone, under vmap, and differentiated twice.
#include "check.h"

#include <lento/lento.h>

#include <vector>

using lento::Tensor;

int main() {
  int calls = 0;
  const auto cube = lento::custom_gradient([](const Tensor& x) { return x * x * x; },
                                           [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                                               const std::vector<Tensor>& cotangents) {
                                             ++calls;
                                             CHECK(inputs.size() == 1 && outputs.size() == 1 && cotangents.size() == 1);
                                             return std::vector{cotangents[0] * 3 * inputs[0] * inputs[0]};
                                           });
  const auto f = [&](const Tensor& x) { return cube(x); };
  const Tensor three = lento::tensor(3.0F);
  CHECK(lento::grad(f)(three).item<float>() == 27);
  CHECK(calls == 1);
  CHECK(lento::grad(lento::grad(f))(three).item<float>() == 18);
  const Tensor each = lento::vmap(lento::grad(f))(lento::tensor({1.0F, 2.0F, 3.0F}));
  CHECK(each.to_vector<float>() == std::vector<float>{3, 12, 27});

  // One that gives a wrong number of cotangents is told so, with this file's name.
  const auto wrong = lento::custom_gradient(
      [](const Tensor& x) { return x; }, [](const auto&, const auto&, const auto&) { return std::vector<Tensor>(); });
  try {
    (void)lento::grad([&](const Tensor& x) { return wrong(x); })(three);
    CHECK(false);
  } catch (const lento::ValueError& error) {
    CHECK(std::string(error.what()).find("gave 0 cotangents for 1 inputs") != std::string::npos);
    CHECK(std::string(error.what()).find("custom_gradient.cpp:") != std::string::npos);
  }
}
