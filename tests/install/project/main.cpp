// Uses nothing but what Lento installs.
#include <lento/lento.h>

#include <cstdio>

int main() {
  lento::Tensor x = lento::tensor({0LL, 2LL, 3LL});
  x[{0}] = 1;
  const auto last = (x * x)[{-1}];
  if (last.item<long long>() != 9 || x[{lento::Slice{1, 3}}].sum().item<int>() != 5) return 1;
  std::printf("lento %s, sum of squares: %g\n", lento::version(), lento::sum(x * x).item<double>());
}
