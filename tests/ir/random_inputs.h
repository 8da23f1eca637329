// Inputs for random graphs: numbers that suit what each input is used for, and now and then a special one.
#pragma once

#include "base/dispatch.h"
#include "ir/random_graph.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace lento::test {

class InputMaker {
 public:
  explicit InputMaker(std::uint64_t seed) : random_(seed) {}

  std::vector<std::byte> make(const GraphInput& input, const InputDomain& domain) {
    const Shape& shape = shape_of(input.shape);
    const auto count = static_cast<std::size_t>(element_count(shape));
    std::vector<std::byte> bytes(count * size_of(input.dtype));
    std::vector<double> numbers(count);
    for (double& number : numbers) number = any_number(domain);
    if (domain.kind == InputDomain::Kind::sorted) std::ranges::sort(numbers);
    if (domain.kind == InputDomain::Kind::positive_definite)
      make_definite(numbers, static_cast<std::size_t>(shape.back()));
    for (std::size_t i = 0; i < count; ++i) {
      const bool bits = domain.kind == InputDomain::Kind::any && is_floating(input.dtype) && chance(0.05);
      const double special[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e30};
      const double value = bits ? special[random_() % std::size(special)] : numbers[i];
      Scalar(value).write(input.dtype, bytes.data() + i * size_of(input.dtype));
    }
    return bytes;
  }

 private:
  bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }

  double any_number(const InputDomain& domain) {
    if (domain.kind == InputDomain::Kind::range) {
      return static_cast<double>(std::uniform_int_distribution(domain.low, domain.high)(random_));
    }
    return std::round(std::normal_distribution(0.0, 3.0)(random_) * 4) / 4;
  }

  /// Symmetric with a heavy diagonal.
  static void make_definite(std::vector<double>& numbers, std::size_t size) {
    for (std::size_t matrix = 0; matrix + size * size <= numbers.size(); matrix += size * size) {
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < i; ++j) numbers[matrix + i * size + j] = numbers[matrix + j * size + i] *= 0.1;
        numbers[matrix + i * size + i] = 20.0 + static_cast<double>(i);
      }
    }
  }

  std::mt19937_64 random_;
};

inline std::vector<std::vector<std::byte>> make_inputs(const RandomGraph& random, std::uint64_t seed) {
  InputMaker maker(seed);
  std::vector<std::vector<std::byte>> inputs;
  for (std::size_t i = 0; i < random.domains.size(); ++i) {
    inputs.push_back(maker.make(random.graph.inputs[i], random.domains[i]));
  }
  return inputs;
}

}  // namespace lento::test
