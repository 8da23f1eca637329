#include "printing/float_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace lento {

namespace {

/// "d.ddde±xx" or "de±xx" to digits and exponent, trailing zeros removed.
Decimal split(std::string_view text) {
  const std::size_t e = text.find('e');
  Decimal decimal{std::string(text.substr(0, 1)), std::atoi(text.data() + e + 1)};
  if (e > 2) decimal.digits += text.substr(2, e - 2);
  while (decimal.digits.size() > 1 && decimal.digits.back() == '0') decimal.digits.pop_back();
  return decimal;
}

template <class T>
Decimal shortest_of(T value) {
  char text[64];
  const auto [end, error] =
      std::to_chars(text, text + sizeof(text) - 1, std::fabs(value), std::chars_format::scientific);
  *end = '\0';
  return split({text, static_cast<std::size_t>(end - text)});
}

/// The standard library has no shortest digits for the 16-bit types: tries one digit after the other.
template <class T>
Decimal shortest_of_half(double value) {
  const std::uint16_t bits = T(value).bits;
  for (int digits = 1;; ++digits) {
    const std::string text = fmt::format("{:.{}e}", value, digits - 1);
    if (T(std::strtod(text.c_str(), nullptr)).bits == bits) return split(text);
    // Below a power of two the next number is only half as far away as above it, so that the next larger decimal may
    // still be this number when the nearest one is not.
    const double unit = std::pow(10.0, split(text).exponent - (digits - 1));
    const std::string above = fmt::format("{:.{}e}", std::strtod(text.c_str(), nullptr) + unit, digits - 1);
    if (T(std::strtod(above.c_str(), nullptr)).bits == bits) return split(above);
  }
}

}  // namespace

Decimal shortest_decimal(double value, DType dtype) {
  value = std::fabs(value);
  if (value == 0) return {"0", 0};
  switch (dtype) {
    case DType::float16:
      return shortest_of_half<float16>(value);
    case DType::bfloat16:
      return shortest_of_half<bfloat16>(value);
    case DType::float32:
      return shortest_of(static_cast<float>(value));
    default:
      return shortest_of(value);
  }
}

std::string fixed_text(double value, DType dtype, int precision) {
  const Decimal decimal = shortest_decimal(value, dtype);
  const int fraction_digits = static_cast<int>(decimal.digits.size()) - 1 - decimal.exponent;
  if (fraction_digits > precision) {
    std::string text = fmt::format("{:.{}f}", std::fabs(value), precision);
    if (precision == 0) return text + ".";
    text.erase(text.find_last_not_of('0') + 1);
    return text;
  }
  std::string text = decimal.digits;
  if (decimal.exponent < 0) {
    text.insert(0, static_cast<std::size_t>(-decimal.exponent), '0');
    text.insert(1, 1, '.');
    return text;
  }
  const auto integer_digits = static_cast<std::size_t>(decimal.exponent) + 1;
  if (text.size() < integer_digits) text.append(integer_digits - text.size(), '0');
  text.insert(integer_digits, 1, '.');
  return text;
}

ScientificText scientific_text(double value, DType dtype, int precision) {
  Decimal decimal = shortest_decimal(value, dtype);
  if (static_cast<int>(decimal.digits.size()) - 1 > precision) {
    decimal = split(fmt::format("{:.{}e}", std::fabs(value), precision));
  }
  return {decimal.digits.substr(0, 1), decimal.digits.substr(1), decimal.exponent};
}

ScientificText full_scientific_text(double value, DType dtype, int precision) {
  Decimal decimal = shortest_decimal(value, dtype);
  const auto wanted = static_cast<std::size_t>(precision) + 1;
  if (decimal.digits.size() != wanted) decimal = split(fmt::format("{:.{}e}", std::fabs(value), precision));
  decimal.digits.resize(wanted, '0');
  return {decimal.digits.substr(0, 1), decimal.digits.substr(1), decimal.exponent};
}

std::string number_text(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) return sign + "inf";
  const Decimal decimal = shortest_decimal(value, dtype);
  const double magnitude = std::fabs(value);
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < scientific_from(dtype, 1e16))) {
    std::string text = fixed_text(value, dtype, 400);
    if (text.back() == '.') text += '0';
    return sign + text;
  }
  const std::string fraction = decimal.digits.size() > 1 ? "." + decimal.digits.substr(1) : "";
  return fmt::format("{}{}{}e{}{:02}", sign, decimal.digits[0], fraction, decimal.exponent < 0 ? '-' : '+',
                     std::abs(decimal.exponent));
}

}  // namespace lento
