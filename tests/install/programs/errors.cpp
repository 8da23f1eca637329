// Every class of error can be caught, names the line that caused it, and leaves everything as it was.
#include "check.h"

#include <lento/lento.h>

#include <string>

using namespace lento;

template <class E, class F>
void expect(int line, F&& call) {
  try {
    call();
    std::fprintf(stderr, "errors.cpp:%d: nothing was thrown\n", line);
    std::exit(1);
  } catch (const E& error) {
    const std::string place = ", at errors.cpp:" + std::to_string(line);
    if (!std::string(error.what()).ends_with(place)) {
      std::fprintf(stderr, "errors.cpp:%d: the message does not end with its line: %s\n", line, error.what());
      std::exit(1);
    }
  }
}

int main() {
  Tensor x = ones({2, 3});
  expect<ShapeError>(__LINE__, [&] { (void)matmul(x, x); });
  expect<ShapeError>(__LINE__, [&] { (void)(x + ones({2})); });
  expect<DTypeError>(__LINE__, [&] { (void)(x & x); });
  expect<ValueError>(__LINE__, [&] { (void)nn::gelu(x, "no such form"); });
  expect<IndexError>(__LINE__, [&] { (void)x[{0, 7}]; });
  expect<IndexError>(__LINE__, [&] { (void)sum(x, 5); });
  expect<DeviceError>(__LINE__, [&] { (void)Device("gpu"); });
  expect<OverflowError>(__LINE__, [&] { (void)(tensor({1, 2}) + (1LL << 40)); });
  expect<LinAlgError>(__LINE__, [&] { (void)linalg::inv(zeros({2, 2})).to_vector<float>(); });
  expect<FileError>(__LINE__, [&] { (void)load("no such file.npz"); });
  expect<ValueError>(__LINE__, [&] { (void)(Tensor() + 1); });

  // Inside functions that are given to transforms: the line of the op that failed.
  const auto wrong = [](const Tensor& v) { return matmul(v, ones({7, 7})).sum(); };
  const int line = __LINE__ - 1;
  expect<ShapeError>(line, [&] { (void)grad(wrong)(x); });
  expect<ShapeError>(line, [&] { (void)vmap(wrong)(x); });
  expect<ShapeError>(line, [&] { (void)checkpoint(wrong)(x); });
  // What the transform itself refuses: the line of its call.
  expect<ValueError>(__LINE__, [&] { (void)grad([](const Tensor& v) { return v; })(x); });
  expect<ValueError>(__LINE__, [&] { (void)nn::Linear(2, 2).load_state_dict({}); });

  // All of them are one family, and nothing has changed.
  bool caught = false;
  try {
    x += ones({5});
  } catch (const Error& error) {
    caught = error.kind() == ErrorKind::shape;
  }
  CHECK(caught);
  CHECK(x.sum().item<float>() == 6);
}
