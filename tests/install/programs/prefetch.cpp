// A data pipeline: batches are made by a thread of their own while steps run; an error arrives where it is looked for.
#include "check.h"

#include <lento/lento.h>
#include <lento/prefetch.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using lento::Tensor;

// std::pair{x[0], y[0]} has parts of tensors in it, which prefetch refuses with an explanation.
static_assert(lento::detail::kHoldsParts<std::pair<lento::Subscript, int>>);
static_assert(lento::detail::kHoldsParts<std::vector<std::pair<int, lento::Subscript>>>);
static_assert(!lento::detail::kHoldsParts<std::pair<Tensor, Tensor>>);

int main() {
  int made = 0;
  const auto loader = [&made]() -> std::optional<std::pair<Tensor, int>> {
    if (made == 20) return std::nullopt;
    const int number = made++;
    return std::pair(lento::full({8}, number, lento::DType::float32), number);
  };
  Tensor total = lento::zeros({});
  int expected = 0;
  for (auto& [batch, number] : lento::prefetch(loader, 3)) {
    CHECK(number == expected++);
    total += batch.sum();
    lento::step();
  }
  CHECK(expected == 20);
  CHECK(total.item<float>() == 8 * 190);

  int count = 0;
  try {
    for (const Tensor& x : lento::prefetch([&]() -> std::optional<Tensor> {
           if (count == 2) throw std::runtime_error("the disk is full");
           return lento::full({1}, count++);
         })) {
      (void)x;
    }
    CHECK(false);
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()) == "the disk is full");
  }
}
