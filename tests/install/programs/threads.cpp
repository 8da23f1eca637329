// Threads that record, step and read on their own, and share a tensor. Built with sanitizers against a library that was
// built without: neither may report anything.
#include <lento/lento.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

int main() {
  using lento::Tensor;
  const Tensor shared = lento::arange(1000).astype(lento::DType::float32) / 1000;
  std::vector<double> results(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&shared, &result = results[t], t] {
      Tensor x = shared * static_cast<double>(t + 1);
      for (int i = 0; i < 20; ++i) {
        x = lento::sin(x) + shared;
        x[{0}] = 0;
        lento::step();
      }
      result = lento::sum(x).item<double>();
      try {
        lento::matmul(x, lento::zeros({3, 3}));
      } catch (const lento::Error&) {
        result += 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  // Written by Lento's worker, read here once that is done.
  std::vector<int> seen;
  for (int i = 0; i < 20; ++i) {
    const auto see = [&seen](const std::vector<Tensor>& args) { seen.push_back(args[0].item<int>()); };
    lento::add_step_closure(see, {lento::sum(shared * 0 + i)}, true);
    lento::step();
  }
  lento::wait_closures();
  if (seen.size() != 20 || seen[3] != 3000) throw std::runtime_error("the closures saw something else");

  // Memory of the program that Lento reads while it computes, and lets go of.
  bool released = false;
  {
    std::vector<float> values(5000, 2.0f);
    const std::shared_ptr<const void> owner(values.data(), [&released](const void*) { released = true; });
    const Tensor borrowed = lento::from_memory(values.data(), lento::DType::float32, {5000}, owner);
    if (lento::sum(borrowed * borrowed).item<int>() != 20000) throw std::runtime_error("other values");
    lento::wait();
  }
  if (!released) throw std::runtime_error("the memory is still held");
  lento::wait();
  const auto slope = lento::grad([](const Tensor& x) { return lento::sum(lento::exp(x)); })(lento::zeros({3}));
  std::vector<float> host = slope.to_vector<float>();
  for (const double result : results) {
    if (!(result > 100)) throw std::runtime_error("a thread computed " + std::to_string(result));
  }
  std::printf("%zu threads, slope %g\n", results.size(), static_cast<double>(host.at(2)));
}
