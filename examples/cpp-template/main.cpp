// Finds a line through noisy points. Start here: change the data, the model, the loss.
#include <lento/lento.h>

#include <iostream>

int main() {
  using lento::Tensor;

  // 200 points near y = 3 x - 1. Nothing is computed yet: ops are recorded, and run when a step or a value asks for it.
  const Tensor x = lento::random::uniform({200}, -1, 1);
  const Tensor y = 3 * x - 1 + 0.1 * lento::random::normal({200});

  const auto loss = [&](const Tensor& line) { return lento::mean(lento::square(line[{0}] * x + line[{1}] - y)); };
  const auto gradient = lento::grad(loss);

  Tensor line = lento::zeros({2});  // slope and intercept
  for (int i = 0; i < 100; ++i) {
    line -= 0.3 * gradient(line);
    lento::step();  // starts the work and goes on; every step after the first is recognised, not compiled again
  }

  std::cout << "slope and intercept: " << line << "\n"
            << "loss: " << loss(line).item<double>() << "\n";

  try {
    lento::matmul(lento::zeros({2, 3}), lento::zeros({2, 3}));
  } catch (const lento::ShapeError& error) {  // every error of Lento is a lento::Error
    std::cout << "an error looks like this: " << error.what() << "\n";
  }
}
