// A memory limit: what would exceed it is refused before anything is changed, and everything goes on.
#include "check.h"

#include <lento/lento.h>

#include <string>

using lento::Tensor;

int main() {
  Tensor x = lento::ones({1 << 18});
  lento::eval(x);
  lento::wait();
  lento::set_memory_limit(4 << 20);
  bool caught = false;
  try {
    Tensor huge = lento::ones({1 << 24}) + 1;
    lento::eval(huge);
    lento::wait();
  } catch (const lento::MemoryError& error) {
    caught = true;
    CHECK(std::string(error.what()).find("memory_limit.cpp:") != std::string::npos);
  }
  CHECK(caught);
  CHECK((x + 1).sum().item<float>() == 2 << 18);
  lento::set_memory_limit(0);
  CHECK((lento::ones({1 << 22}) + 1).sum().item<float>() == 2 << 22);
  CHECK(lento::memory().limit == 0);
}
