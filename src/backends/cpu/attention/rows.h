// The loops over single rows of a block of scores, for every instruction set with the same bits: sums and maxima run in
// sixteen lanes, and the exponential is the polynomial of src/codegen/math.
#pragma once

#include <cstdint>

namespace lento::cpu {

/// Rows of scores have room for a multiple of this many.
inline constexpr std::int64_t kScoreLanes = 16;

/// scores[j] * scale + added[j] in place, -inf where that is added whatever the score is (`added` may be null), and the
/// largest of them: -inf of none, any nan aside.
/// What follows up to the next multiple of kScoreLanes becomes -inf; `added` has room for as many.
float scale_scores(float* scores, const float* added, std::int64_t count, float scale);
double scale_scores(double* scores, const double* added, std::int64_t count, double scale);

/// exp(scores[j] - shift) in place, also of what follows up to the next multiple of kScoreLanes, and their sum.
float exp_differences(float* scores, std::int64_t count, float shift);
double exp_differences(double* scores, std::int64_t count, double shift);

/// result[j] = largest[j] + log(totals[j]) for totals that are at least 1, or nan; -inf where they are 0.
void add_logarithms(const float* totals, const float* largest, std::int64_t count, float* result);
void add_logarithms(const double* totals, const double* largest, std::int64_t count, double* result);

/// x[j] * factor in place.
void scale_row(float* x, std::int64_t count, float factor);
void scale_row(double* x, std::int64_t count, double factor);

/// x[j] / divisor in place.
void divide_row(float* x, std::int64_t count, float divisor);
void divide_row(double* x, std::int64_t count, double divisor);

/// grads[j] = weights[j] * (grads[j] - shift) * scale.
void weigh_grads(const float* weights, float* grads, std::int64_t count, float shift, float scale);
void weigh_grads(const double* weights, double* grads, std::int64_t count, double shift, double scale);

/// sums[j] += x[j].
void add_row(float* sums, const float* x, std::int64_t count);
void add_row(double* sums, const double* x, std::int64_t count);

}  // namespace lento::cpu
