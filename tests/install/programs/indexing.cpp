// Indexing as in NumPy, for reading and for assignment; a part that is kept is a value.
#include "check.h"

#include <lento/lento.h>

#include <array>
#include <string>
#include <vector>

using namespace lento;

int main() {
  using Numbers = std::vector<std::int64_t>;
  Tensor x = arange(12).reshape({3, 4});
  CHECK(x[1].to_vector<std::int64_t>() == Numbers{4, 5, 6, 7});
  CHECK(x[1][2].item<int>() == 6);
  CHECK(x[{1, 2}].item<int>() == 6);
  CHECK(x[{Slice{}, Slice{{}, {}, -2}}].shape() == Shape{3, 2});
  CHECK(x[{ellipsis, newaxis}].shape() == Shape{3, 4, 1});
  CHECK(x[std::vector<int>{2, 0}].shape() == Shape{2, 4});
  CHECK(x[x > 9].to_vector<std::int64_t>() == Numbers{10, 11});
  CHECK(x[{0}].sum().item<int>() == 6);
  CHECK(x.sum(std::array{0, 1}).item<int>() == 66);

  const auto row = x[0];  // a value
  const Tensor before = x;
  x[0] = 7;
  x[{1, Slice{1, 3}}] %= 2;
  x[x > 9] = -1;
  CHECK(row[{0}].item<int>() == 0);
  CHECK(before[{0, 3}].item<int>() == 3);
  CHECK(x.to_vector<std::int64_t>() == Numbers{7, 7, 7, 7, 4, 1, 0, 7, 8, 9, -1, -1});

  std::int64_t total = 0;
  for (const Tensor part : x) total += part.sum().item<std::int64_t>();
  CHECK(total == x.sum().item<std::int64_t>());

  try {
    (void)x[{0, 9}];
    CHECK(false);
  } catch (const IndexError& error) {
    CHECK(std::string(error.what()).find("indexing.cpp:") != std::string::npos);
  }
}
