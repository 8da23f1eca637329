// Uses nothing but what Lento installs.
#include <lento/lento.h>

#include <cstdio>

int main() {
  const lento::Tensor x = lento::tensor({1.0f, 2.0f, 3.0f});
  std::printf("lento %s, sum of squares: %g\n", lento::version(), static_cast<double>(lento::sum(x * x).item<float>()));
}
