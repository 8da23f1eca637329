// Scalar: one number of any kind, as given by the user: an operand such as the 0.1 in `x * 0.1`.
#pragma once

#include <lento/dtype.h>
#include <lento/export.h>

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string>

namespace lento {

class Scalar {
 public:
  enum class Kind : std::uint8_t { bool_, int_, uint_, float_, complex_ };

  Scalar() = default;
  template <IntegerType T>
  Scalar(T value) : bits_(static_cast<std::uint64_t>(value)) {
    // Unsigned values that fit are ordinary integers, so that equal numbers have one form.
    if constexpr (std::same_as<T, bool>) kind_ = Kind::bool_;
    if constexpr (std::unsigned_integral<T> && sizeof(T) == 8) {
      if (value > static_cast<T>(INT64_MAX)) kind_ = Kind::uint_;
    }
  }
  template <std::floating_point T>
  Scalar(T value) : kind_(Kind::float_), bits_(std::bit_cast<std::uint64_t>(static_cast<double>(value))) {}
  template <std::floating_point T>
  Scalar(std::complex<T> value) : Scalar(static_cast<double>(value.real())) {
    kind_ = Kind::complex_;
    imag_bits_ = std::bit_cast<std::uint64_t>(static_cast<double>(value.imag()));
  }
  Scalar(float16 value) : Scalar(static_cast<float>(value)) {}
  Scalar(bfloat16 value) : Scalar(static_cast<float>(value)) {}

  Kind kind() const { return kind_; }
  bool is_bool() const { return kind_ == Kind::bool_; }
  bool is_integer() const { return kind_ == Kind::int_ || kind_ == Kind::uint_; }
  bool is_floating() const { return kind_ == Kind::float_; }
  bool is_complex() const { return kind_ == Kind::complex_; }

  /// The number as T, by C++ conversion rules made total: integers wrap, a float outside an integer type's range
  /// saturates and nan gives 0, a complex number gives its real part.
  template <class T>
  T to() const;

  /// Writes the number as one element of `dtype`, converted as by to<T>().
  LENTO_API void write(DType dtype, void* destination) const;
  /// Reads one element of `dtype`.
  LENTO_API static Scalar read(DType dtype, const void* source);
  /// As Python prints it: True, 3, 0.1, (1+2j).
  LENTO_API std::string to_string() const;

  /// Same kind and same bits: nan equals nan, 0.0 differs from -0.0, 1 differs from 1.0.
  friend bool operator==(const Scalar& a, const Scalar& b) = default;
  /// As to_string().
  LENTO_API friend std::ostream& operator<<(std::ostream& out, const Scalar& number);

 private:
  double real() const { return std::bit_cast<double>(bits_); }

  Kind kind_ = Kind::int_;
  std::uint64_t bits_ = 0;       // bool_ and integers: the value; float_ and complex_: the real part's bits
  std::uint64_t imag_bits_ = 0;  // complex_: the imaginary part's bits
};

/// The defined conversion of a float to an integer type (clause T3): truncation; nan gives 0; what does not fit
/// saturates.
template <std::integral T, std::floating_point F>
constexpr T saturating_cast(F value) {
  if (!(value == value)) return 0;
  // Both bounds are powers of two (or zero), so they are exact in any floating type.
  constexpr T kHalfway = std::numeric_limits<T>::max() / 2 + 1;
  constexpr F kUpper = static_cast<F>(kHalfway) * 2;
  if (value >= kUpper) return std::numeric_limits<T>::max();
  if (value <= static_cast<F>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

template <class T>
T Scalar::to() const {
  if constexpr (std::same_as<T, bool>) {
    if (kind_ == Kind::float_) return real() != 0;
    if (kind_ == Kind::complex_) return real() != 0 || std::bit_cast<double>(imag_bits_) != 0;
    return bits_ != 0;
  } else if constexpr (std::integral<T>) {
    if (kind_ == Kind::float_ || kind_ == Kind::complex_) return saturating_cast<T>(real());
    return static_cast<T>(bits_);
  } else if constexpr (std::floating_point<T> || std::same_as<T, float16> || std::same_as<T, bfloat16>) {
    if (kind_ == Kind::float_ || kind_ == Kind::complex_) return static_cast<T>(real());
    if (kind_ == Kind::uint_) return static_cast<T>(static_cast<double>(bits_));
    return static_cast<T>(static_cast<double>(static_cast<std::int64_t>(bits_)));
  } else {
    using Part = typename T::value_type;
    return T(to<Part>(), kind_ == Kind::complex_ ? static_cast<Part>(std::bit_cast<double>(imag_bits_)) : Part{0});
  }
}

}  // namespace lento
