// Memory of others: read without a copy, let go of when nobody needs it; and Lento's memory for others.
#include "check.h"

#include <lento/lento.h>

#include <memory>
#include <vector>

using lento::Tensor;

int main() {
  bool gone = false;
  {
    std::shared_ptr<std::vector<float>> mine(new std::vector<float>(1000, 2.0F), [&](std::vector<float>* p) {
      gone = true;
      delete p;
    });
    const float* address = mine->data();
    Tensor x = lento::from_memory(address, lento::DType::float32, {10, 100}, std::move(mine));
    CHECK(x.data<float>() == address);
    const Tensor total = x.sum();
    x = Tensor();  // the sum still needs it
    CHECK(total.item<float>() == 2000);
  }
  lento::wait();
  CHECK(gone);

  Tensor y = lento::arange(4) * 2;
  const Tensor kept = y;
  const auto* elements = static_cast<const std::int64_t*>(lento::export_data(kept));
  y += 100;  // another value: what was given away stays
  lento::eval(y);
  lento::wait();
  CHECK(elements[3] == 6);
}
