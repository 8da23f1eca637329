// Calls the op of new_op.yaml as a function and as a method.
#include <lento/lento.h>

#include <cstdio>
#include <vector>

int main() {
  const lento::Tensor x = lento::tensor({-1.0f, 0.0f, 3.0f});
  const std::vector<float> expected = {0.5f, 0.0f, 2.25f};
  if (lento::soft_square(x).to_vector<float>() != expected || x.soft_square().to_vector<float>() != expected) {
    std::puts("soft_square is wrong");
    return 1;
  }
}
