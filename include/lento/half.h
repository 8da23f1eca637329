// The two 16-bit floating types, as storage: arithmetic converts to float and rounds back to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace lento {

namespace half_detail {

/// Rounds a double to a binary format of 1 sign, `exponent_bits` and `fraction_bits` in one step (nearest, ties to
/// even), so that float64 → float16 never rounds twice.
template <int exponent_bits, int fraction_bits>
constexpr std::uint16_t encode(double value) {
  constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  constexpr std::uint16_t kInfinity = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits);
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 63) << 15);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const std::uint64_t fraction = bits & 0xfffffffffffffULL;
  if (exponent == 0x7ff) {
    if (fraction == 0) return sign | kInfinity;
    const auto payload = static_cast<std::uint16_t>(fraction >> (52 - fraction_bits));
    return static_cast<std::uint16_t>(sign | kInfinity | payload | (1 << (fraction_bits - 1)));
  }
  const int target = exponent - 1023 + kBias;  // the exponent field in the target format
  if (target < -fraction_bits) return sign;    // below half of the smallest subnormal: zero
  std::uint64_t mantissa = (exponent == 0 ? 0 : (std::uint64_t{1} << 52)) | fraction;
  int shift = 52 - fraction_bits;
  if (target <= 0) shift += 1 - target;
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = mantissa & ((half << 1) - 1);
  std::uint64_t rounded = mantissa >> shift;
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  // A carry out of the fraction moves into the exponent field by plain addition, up to infinity.
  const std::uint64_t field = target <= 0 ? 0 : static_cast<std::uint64_t>(target - 1) << fraction_bits;
  const std::uint64_t result = field + rounded;
  return static_cast<std::uint16_t>(sign | (result >= kInfinity ? kInfinity : result));
}

}  // namespace half_detail

/// IEEE binary16: 5 exponent bits, 10 fraction bits.
struct float16 {
  std::uint16_t bits = 0;

  float16() = default;
  constexpr explicit float16(double value) : bits(half_detail::encode<5, 10>(value)) {}
  static constexpr float16 from_bits(std::uint16_t b) {
    float16 h;
    h.bits = b;
    return h;
  }
  constexpr explicit operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1f;
    const std::uint32_t fraction = bits & 0x3ff;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | (fraction << 13));
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
};

/// bfloat16: the upper half of a float32.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  constexpr explicit bfloat16(double value) : bits(half_detail::encode<8, 7>(value)) {}
  static constexpr bfloat16 from_bits(std::uint16_t b) {
    bfloat16 h;
    h.bits = b;
    return h;
  }
  constexpr explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace lento
