#include "nn/layer_parts.h"

#include <lento/nn/init.h>

#include "base/fail.h"
#include "ir/shape_limit.h"

#include <algorithm>
#include <cmath>

namespace lento::nn {

void check_at_least(std::int64_t least, std::string_view name, std::int64_t value) {
  if (value < least) fail<ValueError>("{} is {}, which is less than {}", name, value, least);
  // So that a layer may multiply it by a few before a shape is made of it, which is checked too.
  if (value > kMostElements) fail<ValueError>("{} is {}, which is more than a tensor may have", name, value);
}

void check_at_least(std::int64_t least, std::string_view name, const Ints& values) {
  if (!values.empty()) check_at_least(least, name, *std::min_element(values.begin(), values.end()));
}

void check_even(std::int64_t count, std::int64_t parts, std::string_view what, std::string_view kind) {
  if (parts < 1 || count % parts != 0)
    fail<ValueError>("{} {} in {} {} do not come out even", count, what, parts, kind);
}

void check_probability(std::string_view name, double value) {
  if (!(value >= 0 && value <= 1)) fail<ValueError>("{} is a probability, not {}", name, Scalar(value));
}

void check_choice(std::string_view name, std::string_view given, std::initializer_list<std::string_view> choices) {
  if (std::find(choices.begin(), choices.end(), given) != choices.end()) return;
  fail<ValueError>("{} is one of '{}', not '{}'", name, fmt::join(choices, "', '"), given);
}

Ints numbers_of(std::string_view name, const Sizes& sizes, std::size_t count) {
  const Ints& numbers = sizes.numbers();
  if (count == 0) return numbers;
  if (sizes.is_single()) return Ints(count, numbers[0]);
  if (numbers.size() != count) fail<ValueError>("{} {} has {} numbers, not {}", name, numbers, numbers.size(), count);
  return numbers;
}

OptionalInts numbers_in(const std::optional<Sizes>& sizes) {
  return sizes ? OptionalInts(sizes->numbers()) : OptionalInts(std::nullopt);
}

std::optional<std::int64_t> row_of(std::string_view name, std::optional<std::int64_t> row, std::int64_t rows) {
  if (!row) return std::nullopt;
  if (*row < -rows || *row >= rows) fail<ValueError>("{} {} is no row of {}", name, *row, rows);
  return *row < 0 ? *row + rows : *row;
}

namespace initial {

Tensor zeros(const Shape& shape, std::optional<DType> dtype) { return init::zeros(shape, dtype); }

Tensor ones(const Shape& shape, std::optional<DType> dtype) { return init::ones(shape, dtype); }

Tensor full(const Shape& shape, double value, std::optional<DType> dtype) {
  return init::constant(shape, value, dtype);
}

Tensor normal(const Shape& shape, std::optional<DType> dtype) { return init::normal(shape, 0.0, 1.0, dtype); }

Tensor normal_rows(const Shape& shape, std::optional<std::int64_t> zeros, std::optional<DType> dtype) {
  Tensor rows = normal(shape, dtype);
  if (zeros) rows[{*zeros}] = 0.0;
  return rows;
}

Tensor uniform(const Shape& shape, double bound, std::optional<DType> dtype) {
  return init::uniform(shape, -bound, bound, dtype);
}

Tensor fan_in(const Shape& shape, std::int64_t inputs, std::optional<DType> dtype) {
  return uniform(shape, inputs == 0 ? 0.0 : 1 / std::sqrt(static_cast<double>(inputs)), dtype);
}

}  // namespace initial

std::string Looks::shown(double value) { return Scalar(value).to_string(); }

std::string Looks::shown(const Ints& values) { return fmt::format("{}", values); }

std::string Looks::shown(const Sizes& sizes) {
  return sizes.is_single() ? std::to_string(sizes.numbers()[0]) : shown(sizes.numbers());
}

std::string Looks::shown(const std::vector<Scalar>& numbers) {
  std::string text;
  for (const Scalar& number : numbers) text += (text.empty() ? "" : ", ") + number.to_string();
  return "(" + text + (numbers.size() == 1 ? ",)" : ")");
}

std::string Looks::shown(const Padding& padding) {
  return padding.word() == "none" ? shown(static_cast<const Sizes&>(padding)) : padding.word();
}

Looks& Looks::add(const std::string& part) {
  if (!text_.empty()) text_ += ", ";
  text_ += part;
  return *this;
}

}  // namespace lento::nn
