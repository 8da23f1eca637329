// Uses much of what Lento offers, the way a user writes it; compiled with every warning by every compiler there is.
#include <lento/lento.h>
#include <lento/print.h>

#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace {

using lento::Slice;
using lento::Tensor;

void check(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

void making() {
  const std::vector<float> values{1, 2, 3, 4};
  const Tensor a = lento::tensor(values, {2, 2});
  const Tensor b = lento::tensor({{1, 2}, {3, 4}});
  const Tensor c = lento::tensor(std::span<const float>(values), lento::Shape{4});
  const Tensor d = lento::arange(4).astype(lento::DType::float32) + 1;
  check(lento::all((a == b) & (d == c).reshape({2, 2})).item<bool>(), "the same values");
  check(lento::eye(3).sum().item<int>() == 3 && lento::ones({2, 3}).size() == 6, "eye and ones");
  const auto owner = std::make_shared<std::vector<float>>(values);
  const Tensor shared = lento::from_memory(owner->data(), lento::DType::float32, {4}, owner);
  check(shared.sum().item<int>() == 10, "memory of the user");
}

void operators() {
  Tensor x = lento::tensor({1.0f, 2.0f, 3.0f});
  const Tensor y = 2 * x + x / 3 - 1.5f + -x;
  x += 1;
  x *= y;
  const std::int32_t small = 3;
  const std::uint64_t large = 4;
  const Tensor mixed = (x > small) | (x <= large) | ~(x != 0);
  const Tensor shifted = (lento::arange(4) << 2) % 3 ^ 1;
  check(mixed.dtype() == lento::DType::bool_ && shifted.rank() == 1, "operators");
}

void indexing() {
  Tensor x = lento::arange(24).reshape({2, 3, 4});
  x[{0}] = 3;
  x[{0, Slice{1, 3}}] += 1;
  x[{lento::ellipsis, -1}] = lento::arange(3);
  x[{x > 20}] = 0;
  const Tensor row = x[{1, lento::newaxis, Slice{{}, {}, -1}}];
  const auto part = x[{0, 0}];
  check(row.shape() == lento::Shape{1, 3, 4} && part.size() == 4, "indexing");
  for (const std::int64_t extent : x.shape()) check(extent > 0, "a shape is a range");
}

void functions() {
  const Tensor x = lento::random::normal({8, 8});
  const Tensor y = lento::nn::softmax(x) + lento::nn::relu(x) + lento::exp(-lento::square(x));
  const Tensor spd = lento::matmul(x, x.matrix_transpose()) + lento::eye(8);
  check(lento::linalg::cholesky(spd).shape()[0] == 8, "linalg");
  check(lento::where(x > 0, x, 0).min().item<float>() >= 0, "where");
  check(lento::concat({x, y}).shape()[0] == 16, "concat");
  check(lento::fft::rfft(x).dtype() == lento::DType::complex64, "fft");
  check(lento::sum(x, lento::Ints{1}).rank() == 1 && lento::mean(x).rank() == 0, "reductions");
}

void derivatives() {
  const auto f = [](const Tensor& x) { return lento::sum(x * x * x); };
  const Tensor x = lento::tensor({1.0, 2.0});
  check(lento::grad(f)(x)[{1}].item<double>() == 12, "grad");
  const auto slope = [&](const Tensor& at) { return lento::sum(lento::grad(f)(at)); };
  check(lento::grad(slope)(x)[{1}].item<double>() == 12, "grad of grad");
}

void running() {
  Tensor w = lento::zeros({4});
  int seen = 0;
  for (int i = 0; i < 3; ++i) {
    const lento::Scope scope("loop");
    w = w + 1;
    lento::add_step_closure([&seen](const std::vector<Tensor>& args) { seen += args[0][{0}].item<int>(); }, {w});
    lento::step();
  }
  lento::wait();
  lento::eval(w);
  check(seen == 6 && !w.is_pending(), "steps and closures");
  lento::Options options = lento::options();
  options.max_inflight_steps = 4;
  lento::set_options(options);
  lento::metrics::add("mine", 2);
  check(lento::metrics::counter("mine") == 2 && !lento::explain().empty(), "metrics");
  check(lento::cache::info().entries > 0 && lento::memory().live > 0 && lento::get_num_threads() > 0, "numbers");
}

void errors() {
  std::string text;
  try {
    lento::matmul(lento::zeros({2, 3}), lento::zeros({2, 3}));
  } catch (const lento::ShapeError& error) {
    text = error.what();
  }
  check(text.find("much.cpp") != std::string::npos, "an error names the line");
  try {
    lento::Device("no such device");
  } catch (const lento::Error& error) {
    check(error.kind() == lento::ErrorKind::device, "the kind of an error");
  }
}

}  // namespace

int main() {
  try {
    making();
    operators();
    indexing();
    functions();
    derivatives();
    running();
    errors();
    std::cout << lento::tensor({1.5f, 2.5f}) << " " << lento::version() << "\n";
  } catch (const std::exception& error) {
    std::cout << "failed: " << error.what() << "\n";
    return 1;
  }
}
