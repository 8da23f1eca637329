#include "ops/generated_support.h"

#include "base/fail.h"

#include <algorithm>
#include <string>

namespace lento {

std::size_t find_choice(std::string_view argument, std::string_view given, std::span<const std::string_view> choices) {
  const auto found = std::find(choices.begin(), choices.end(), given);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  std::string all;
  for (const std::string_view choice : choices) all += fmt::format("{}'{}'", all.empty() ? "" : ", ", choice);
  fail<ValueError>("{} is '{}'; it must be one of {}", argument, given, all);
}

void check_dtype(std::string_view argument, DType dtype, DTypeSet allowed) {
  if (!contains(allowed, dtype)) fail<DTypeError>("{} is {}; it must be {}", argument, dtype, dtype_set_text(allowed));
}

std::vector<Tensor> cast(const std::vector<Tensor>& xs, DType dtype) {
  std::vector<Tensor> result;
  result.reserve(xs.size());
  for (const Tensor& x : xs) result.push_back(cast(x, dtype));
  return result;
}

}  // namespace lento
