// Step closures: values arrive without waiting; what a closure throws arrives where the next step is made.
#include "check.h"

#include <lento/lento.h>

#include <stdexcept>
#include <string>
#include <vector>

using lento::Tensor;

int main() {
  Tensor x = lento::zeros({});
  std::vector<float> seen;
  for (int i = 0; i < 10; ++i) {
    x += 1;
    lento::add_step_closure([&](const std::vector<Tensor>& values) { seen.push_back(values[0].item<float>()); }, {x},
                            true);
    lento::step();
  }
  lento::wait_closures();
  CHECK(seen == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(lento::metrics::counter("sync.implicit") == 0);

  // A synchronous closure throws out of step() itself; the step was made.
  lento::add_step_closure([](const std::vector<Tensor>&) { throw std::out_of_range("mine"); });
  x += 1;
  try {
    lento::step();
    CHECK(false);
  } catch (const std::out_of_range& error) {
    CHECK(std::string(error.what()) == "mine");
  }
  CHECK(x.item<float>() == 11);

  // An asynchronous one is reported by the next step that hands over closures; the original is inside.
  lento::add_step_closure([](const std::vector<Tensor>&) { throw std::domain_error("later"); }, {}, true);
  lento::step();
  lento::wait_closures();
  bool thrown = false;
  try {
    lento::add_step_closure([](const std::vector<Tensor>&) {}, {}, true);
    lento::step();
  } catch (const lento::ClosureError& error) {
    thrown = true;
    CHECK(std::string(error.what()).find("later") != std::string::npos);
    try {
      std::rethrow_exception(error.cause());
    } catch (const std::domain_error&) {
    }
  }
  CHECK(thrown);
  lento::wait_closures();
}
