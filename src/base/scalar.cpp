#include <lento/scalar.h>

#include "base/dispatch.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <ostream>

namespace lento {

void Scalar::write(DType dtype, void* destination) const {
  dispatch(dtype, [&]<class T>() {
    const T value = to<T>();
    std::memcpy(destination, &value, sizeof(T));
  });
}

Scalar Scalar::read(DType dtype, const void* source) {
  return dispatch(dtype, [&]<class T>() {
    T value;
    std::memcpy(&value, source, sizeof(T));
    return Scalar(value);
  });
}

namespace {

/// The shortest text that reads back as the same double, with a ".0" where it would look like an integer.
std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string Scalar::to_string() const {
  switch (kind_) {
    case Kind::bool_:
      return bits_ != 0 ? "True" : "False";
    case Kind::int_:
      return fmt::format("{}", static_cast<std::int64_t>(bits_));
    case Kind::uint_:
      return fmt::format("{}", bits_);
    case Kind::float_:
      return float_text(real());
    case Kind::complex_: {
      const std::string imag = float_text(std::bit_cast<double>(imag_bits_));
      return fmt::format("({}{}{}j)", float_text(real()), imag[0] == '-' ? "" : "+", imag);
    }
  }
  return "";
}

std::ostream& operator<<(std::ostream& out, const Scalar& number) { return out << number.to_string(); }

}  // namespace lento
