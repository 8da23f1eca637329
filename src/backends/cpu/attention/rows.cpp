#include "backends/cpu/attention/rows.h"

#include "backends/cpu/native/elements.h"
#include "codegen/math/polynomials.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// Loops for which wider vectors are no gain.
#if defined(__x86_64__)
// The least processor this backend runs on has these.
#define LENTO_VECTORS [[gnu::target("avx2")]]
#else
#define LENTO_VECTORS
#endif

namespace lento::cpu {

namespace {

constexpr std::int64_t kLanes = kScoreLanes;

/// What the exponential needs for an element type: x = n ln(2) + r with n in the lowest bits of a sum with `rounder`.
template <class T>
struct Exponential;

template <>
struct Exponential<float> {
  using Bits = std::int32_t;
  static constexpr float kRounder = 0x1.8p23F;
  static constexpr int kFraction = 23;
  static constexpr Bits kBias = 127;
  static constexpr float kHighest = 89;
  static constexpr float kLowest = -88;
  static constexpr const double (&kLn2)[2] = codegen::kLn2Float;
  static constexpr const double (&kPolynomial)[5] = codegen::kExpFloat;
};

template <>
struct Exponential<double> {
  using Bits = std::int64_t;
  static constexpr double kRounder = 0x1.8p52;
  static constexpr int kFraction = 52;
  static constexpr Bits kBias = 1023;
  static constexpr double kHighest = 710;
  static constexpr double kLowest = -709;
  static constexpr const double (&kLn2)[2] = codegen::kLn2;
  static constexpr const double (&kPolynomial)[11] = codegen::kExp;
};

[[gnu::always_inline]] inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
[[gnu::always_inline]] inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

/// Results are infinite from 2^127.5 on and 0 up to 2^-126.5: then the bits of 2^n are those of infinity and of 0. So
/// nearly all are normal numbers; on others processors are slow.
template <class T>
[[gnu::always_inline]] inline T exponential(T given) {
  using E = Exponential<T>;
  using Bits = std::make_unsigned_t<typename E::Bits>;
  // A nan passes both comparisons.
  const T below = given > E::kHighest ? E::kHighest : given;
  const T x = below < E::kLowest ? E::kLowest : below;
  const T shifted = fused(x, static_cast<T>(codegen::kInverseLn2[0]), E::kRounder);
  const T whole = shifted - E::kRounder;
  const T r = fused(whole, static_cast<T>(-E::kLn2[1]), fused(whole, static_cast<T>(-E::kLn2[0]), x));
  constexpr int kTerms = std::extent_v<std::remove_reference_t<decltype(E::kPolynomial)>>;
  T polynomial = static_cast<T>(E::kPolynomial[kTerms - 1]);
#pragma GCC unroll 16
  for (int i = kTerms - 2; i >= 0; --i) polynomial = fused(polynomial, r, static_cast<T>(E::kPolynomial[i]));
  const T rest = fused(polynomial * r, r, r);
  return (1 + rest) * std::bit_cast<T>((std::bit_cast<Bits>(shifted) + E::kBias) << E::kFraction);
}

/// Of a normal number, or nan: x = 2^k (1 + f), half of the square root of 2 at least.
[[gnu::always_inline]] inline float logarithm(float x) {
  constexpr std::int32_t kRootHalf = 0x3f3504f3;
  const std::int32_t exponent = (std::bit_cast<std::int32_t>(x) - kRootHalf) >> 23;
  const float f = std::bit_cast<float>(std::bit_cast<std::int32_t>(x) - (exponent << 23)) - 1;
  const auto k = static_cast<float>(exponent);
  constexpr int kTerms = std::extent_v<decltype(codegen::kLog1pFloat)>;
  float polynomial = static_cast<float>(codegen::kLog1pFloat[kTerms - 1]);
#pragma GCC unroll 16
  for (int i = kTerms - 2; i >= 0; --i) polynomial = fused(polynomial, f, static_cast<float>(codegen::kLog1pFloat[i]));
  const float rest = f * f * fused(f, polynomial, -0.5F);
  const float fraction = f + fused(k, static_cast<float>(codegen::kLn2Float[1]), rest);
  const float sum = fused(k, static_cast<float>(codegen::kLn2Float[0]), fraction);
  return x < std::numeric_limits<float>::infinity() ? sum : x;
}

/// Lane i with lane i + 8, then + 4, + 2, + 1.
template <class T, class Combine>
[[gnu::always_inline]] inline T combine_lanes(T* lanes, Combine combine) {
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] = combine(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

/// In vectors that every processor has: the compiler does not see a maximum in a loop over lanes.
template <class T, bool masked>
[[gnu::always_inline]] inline T scale_scores_of(T* scores, const T* added, std::int64_t count, T scale) {
  constexpr std::int64_t kWidth = 32 / sizeof(T);
  constexpr std::int64_t kVectors = kLanes / kWidth;
  using Whole = typename Exponential<T>::Bits;
  using Vector [[gnu::vector_size(32)]] = T;
  using Places [[gnu::vector_size(32)]] = Whole;
  const Vector nothing = Vector{} - std::numeric_limits<T>::infinity();
  Vector largest[kVectors];
  Places places[kVectors];
  for (std::int64_t lane = 0; lane < kLanes; ++lane) places[lane / kWidth][lane % kWidth] = static_cast<Whole>(lane);
  for (Vector& lanes : largest) lanes = nothing;
  for (std::int64_t at = 0; at < count; at += kLanes) {
    const bool ends = at + kLanes > count;
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < kVectors; ++i) {
      T* const here = scores + at + i * kWidth;
      Vector part;
      std::memcpy(&part, here, sizeof part);
      part *= scale;
      if constexpr (masked) {
        Vector more;
        std::memcpy(&more, added + at + i * kWidth, sizeof more);
        // What a mask hides has no weight whatever its score is.
        part = more == nothing ? nothing : part + more;
      }
      if (ends) part = places[i] < static_cast<Whole>(count - at) ? part : nothing;
      largest[i] = part > largest[i] ? part : largest[i];
      std::memcpy(here, &part, sizeof part);
    }
  }
  T lanes[kLanes];
  std::memcpy(lanes, largest, sizeof lanes);
  return combine_lanes(lanes, [](T a, T b) { return b > a ? b : a; });
}

template <class T>
[[gnu::always_inline]] inline T exp_differences_of(T* x, std::int64_t count, T shift) {
  T sums[kLanes] = {};
  for (std::int64_t at = 0; at < count; at += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const T power = exponential(x[at + lane] - shift);
      x[at + lane] = power;
      sums[lane] += power;
    }
  }
  return combine_lanes(sums, [](T a, T b) { return a + b; });
}

template <class T>
[[gnu::always_inline]] inline void scale_row_of(T* x, std::int64_t count, T factor) {
  for (std::int64_t j = 0; j < count; ++j) x[j] *= factor;
}

template <class T>
[[gnu::always_inline]] inline void divide_row_of(T* x, std::int64_t count, T divisor) {
  for (std::int64_t j = 0; j < count; ++j) x[j] /= divisor;
}

template <class T>
[[gnu::always_inline]] inline void weigh_grads_of(const T* weights, T* grads, std::int64_t count, T shift, T scale) {
  for (std::int64_t j = 0; j < count; ++j) grads[j] = weights[j] * (grads[j] - shift) * scale;
}

template <class T>
[[gnu::always_inline]] inline void add_row_of(T* sums, const T* x, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) sums[j] += x[j];
}

}  // namespace

LENTO_VECTORS float scale_scores(float* scores, const float* added, std::int64_t count, float scale) {
  if (added == nullptr) return scale_scores_of<float, false>(scores, added, count, scale);
  return scale_scores_of<float, true>(scores, added, count, scale);
}
LENTO_VECTORS double scale_scores(double* scores, const double* added, std::int64_t count, double scale) {
  if (added == nullptr) return scale_scores_of<double, false>(scores, added, count, scale);
  return scale_scores_of<double, true>(scores, added, count, scale);
}

namespace {

// The compiler exports a function that has clones whatever its visibility, unless it is local to its file.
namespace for_every_processor {

LENTO_FOR_EVERY_PROCESSOR float exp_differences(float* x, std::int64_t count, float shift) {
  return exp_differences_of(x, count, shift);
}
LENTO_FOR_EVERY_PROCESSOR double exp_differences(double* x, std::int64_t count, double shift) {
  return exp_differences_of(x, count, shift);
}

LENTO_FOR_EVERY_PROCESSOR void add_logarithms(const float* totals, const float* largest, std::int64_t count,
                                              float* result) {
  for (std::int64_t j = 0; j < count; ++j) {
    const float sum = largest[j] + logarithm(totals[j]);
    result[j] = totals[j] == 0 ? -std::numeric_limits<float>::infinity() : sum;
  }
}

LENTO_FOR_EVERY_PROCESSOR void scale_row(float* x, std::int64_t count, float factor) { scale_row_of(x, count, factor); }
LENTO_FOR_EVERY_PROCESSOR void scale_row(double* x, std::int64_t count, double factor) {
  scale_row_of(x, count, factor);
}

LENTO_FOR_EVERY_PROCESSOR void divide_row(float* x, std::int64_t count, float divisor) {
  divide_row_of(x, count, divisor);
}
LENTO_FOR_EVERY_PROCESSOR void divide_row(double* x, std::int64_t count, double divisor) {
  divide_row_of(x, count, divisor);
}

LENTO_FOR_EVERY_PROCESSOR void weigh_grads(const float* weights, float* grads, std::int64_t count, float shift,
                                           float scale) {
  weigh_grads_of(weights, grads, count, shift, scale);
}
LENTO_FOR_EVERY_PROCESSOR void weigh_grads(const double* weights, double* grads, std::int64_t count, double shift,
                                           double scale) {
  weigh_grads_of(weights, grads, count, shift, scale);
}

LENTO_FOR_EVERY_PROCESSOR void add_row(float* sums, const float* x, std::int64_t count) { add_row_of(sums, x, count); }
LENTO_FOR_EVERY_PROCESSOR void add_row(double* sums, const double* x, std::int64_t count) {
  add_row_of(sums, x, count);
}

}  // namespace for_every_processor
}  // namespace

float exp_differences(float* x, std::int64_t count, float shift) {
  return for_every_processor::exp_differences(x, count, shift);
}
double exp_differences(double* x, std::int64_t count, double shift) {
  return for_every_processor::exp_differences(x, count, shift);
}
void add_logarithms(const float* totals, const float* largest, std::int64_t count, float* result) {
  for_every_processor::add_logarithms(totals, largest, count, result);
}
void add_logarithms(const double* totals, const double* largest, std::int64_t count, double* result) {
  for (std::int64_t j = 0; j < count; ++j) {
    result[j] = totals[j] == 0 ? -std::numeric_limits<double>::infinity() : largest[j] + std::log(totals[j]);
  }
}
void scale_row(float* x, std::int64_t count, float factor) { for_every_processor::scale_row(x, count, factor); }
void scale_row(double* x, std::int64_t count, double factor) { for_every_processor::scale_row(x, count, factor); }
void divide_row(float* x, std::int64_t count, float divisor) { for_every_processor::divide_row(x, count, divisor); }
void divide_row(double* x, std::int64_t count, double divisor) { for_every_processor::divide_row(x, count, divisor); }
void weigh_grads(const float* weights, float* grads, std::int64_t count, float shift, float scale) {
  for_every_processor::weigh_grads(weights, grads, count, shift, scale);
}
void weigh_grads(const double* weights, double* grads, std::int64_t count, double shift, double scale) {
  for_every_processor::weigh_grads(weights, grads, count, shift, scale);
}
void add_row(float* sums, const float* x, std::int64_t count) { for_every_processor::add_row(sums, x, count); }
void add_row(double* sums, const double* x, std::int64_t count) { for_every_processor::add_row(sums, x, count); }

#undef LENTO_VECTORS

}  // namespace lento::cpu
