// Threads that share tensors and plans: each records for itself, all see the same weights.
#include "check.h"

#include <lento/lento.h>

#include <atomic>
#include <thread>
#include <vector>

using lento::Tensor;

int main() {
  constexpr int kThreads = 4;
  constexpr int kRequests = 50;
  lento::nn::Linear layer(8, 8);
  const Tensor shared = lento::ones({8, 8}) * 2;  // pending when the threads begin
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < kThreads; ++t) {
      workers.emplace_back([&, t, mine = layer] {
        for (int i = 0; i < kRequests; ++i) {
          const Tensor request = lento::full({1, 8}, t + i, lento::DType::float32);
          const Tensor answer = lento::matmul(request, shared) + 0 * mine(request);
          if (answer.to_vector<float>() == std::vector<float>(8, static_cast<float>(16 * (t + i)))) ++right;
          lento::step();
        }
      });
    }
  }
  CHECK(right == kThreads * kRequests);
  lento::wait();
}
