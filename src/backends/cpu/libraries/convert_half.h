// Rows of 16-bit floats to float32 and back, rounded to nearest even; nan stays nan.
#pragma once

#include <lento/half.h>

#include <cstdint>

namespace lento::cpu {

void to_float(const float16* from, float* to, std::int64_t count);
void to_float(const bfloat16* from, float* to, std::int64_t count);
void from_float(const float* from, float16* to, std::int64_t count);
void from_float(const float* from, bfloat16* to, std::int64_t count);

}  // namespace lento::cpu
