#include "backends/cpu/libraries/convert_half.h"

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
// The least processor this backend runs on has these.
#define LENTO_VECTORS [[gnu::target("avx2,f16c")]]
#else
#define LENTO_VECTORS
#endif

namespace lento::cpu {

LENTO_VECTORS void to_float(const float16* from, float* to, std::int64_t count) {
  std::int64_t i = 0;
#if defined(__x86_64__)
  for (; i + 8 <= count; i += 8) {
    const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(eight));
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

LENTO_VECTORS void from_float(const float* from, float16* to, std::int64_t count) {
  std::int64_t i = 0;
#if defined(__x86_64__)
  for (; i + 8 <= count; i += 8) {
    const __m128i eight = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), eight);
  }
#endif
  for (; i < count; ++i) to[i] = float16(from[i]);
}

LENTO_VECTORS void to_float(const bfloat16* from, float* to, std::int64_t count) {
  std::int64_t i = 0;
#if defined(__x86_64__)
  for (; i + 8 <= count; i += 8) {
    const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(eight), 16);
    _mm256_storeu_ps(to + i, _mm256_castsi256_ps(bits));
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

LENTO_VECTORS void from_float(const float* from, bfloat16* to, std::int64_t count) {
  // The same format with fewer fraction bits: half of what is cut off is added, a little less when the last bit kept is
  // even, and the carry does the rest. Adding to a nan could make it infinite.
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const std::uint32_t quiet = (bits >> 16) | 0x40;
    const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    to[i] = bfloat16::from_bits(static_cast<std::uint16_t>(is_nan ? quiet : rounded));
  }
}

#undef LENTO_VECTORS

}  // namespace lento::cpu
