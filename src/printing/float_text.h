// Decimal digits of floating-point numbers of every width: the shortest that say which number it is, or a given number
// of them, correctly rounded.
#pragma once

#include <lento/dtype.h>

#include <string>

namespace lento {

/// The digits d₀d₁d₂… of |value| = d₀.d₁d₂… · 10^exponent, without trailing zeros; "0" for zero.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

/// The fewest digits that round to `value` (finite) in the real type `dtype`; of those the nearest to it.
Decimal shortest_decimal(double value, DType dtype);

/// |value| with at most `precision` digits after the point, fewer when fewer are enough: "0.1", "2.", "123.45".
std::string fixed_text(double value, DType dtype, int precision);

struct ScientificText {
  std::string integer;   // one digit
  std::string fraction;  // digits after the point
  int exponent = 0;
};
/// |value| in scientific notation with at most `precision` digits after the point, fewer when fewer are enough.
ScientificText scientific_text(double value, DType dtype, int precision);
/// |value| in scientific notation with exactly `precision` digits after the point. A shorter number is continued by its
/// exact digits, not by zeros.
ScientificText full_scientific_text(double value, DType dtype, int precision);

/// From here on numbers of this real type are shown in scientific notation: where its digits end, as in NumPy.
constexpr double scientific_from(DType dtype, double widest) {
  return is_half(dtype) ? 1e3 : dtype == DType::float32 ? 1e6 : widest;
}

/// One number alone, as Python shows a float: "0.1", "1e-05", "-0.0", "nan".
std::string number_text(double value, DType dtype);

}  // namespace lento
