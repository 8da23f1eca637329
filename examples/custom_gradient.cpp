// A derivative of one's own: rounding learns as if it were the identity ("straight through"), so that a network with
// weights of a few values can be trained; and a loss that is differentiated by hand, checked against the other way.
//
//     build/release/examples/custom_gradient
#include <lento/lento.h>

#include <exception>
#include <iostream>
#include <vector>

using namespace lento;

namespace {

/// round(x), whose derivative is taken to be 1.
const auto rounded = custom_gradient([](const Tensor& x) { return round(x); },
                                     [](const std::vector<Tensor>& /*inputs*/, const std::vector<Tensor>& /*outputs*/,
                                        const std::vector<Tensor>& cotangents) { return cotangents; });

/// log(1 + exp(x)), stable for large x, with the derivative that one knows: sigmoid(x).
const auto softplus = custom_gradient(
    [](const Tensor& x) { return maximum(x, 0) + log1p(exp(-abs(x))); },
    [](const std::vector<Tensor>& inputs, const std::vector<Tensor>& /*outputs*/,
       const std::vector<Tensor>& cotangents) { return std::vector{cotangents[0] * sigmoid(inputs[0])}; });

void run() {
  const Tensor x = tensor({-50.0f, 0.0f, 50.0f});
  std::cout << "softplus " << softplus(x) << ", its slope "
            << grad([](const Tensor& v) { return softplus(v).sum(); })(x) << "\n";

  // Weights that are whole numbers in use, and real numbers while they learn.
  random::seed(0);
  const Tensor inputs = random::normal({256, 3});
  const Tensor wanted = matmul(inputs, tensor({3.0f, -2.0f, 1.0f}));
  Tensor weights = zeros({3});
  for (int i = 0; i < 200; ++i) {
    const auto loss = [&](const Tensor& w) { return square(matmul(inputs, rounded(w)) - wanted).mean(); };
    weights -= 0.05 * grad(loss)(weights);
    step();
  }
  std::cout << "whole weights " << round(weights) << "\n";
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::cerr << "custom_gradient: " << error.what() << "\n";
    return 1;
  }
}
