// What the declarations of the op functions are made of (lento/ops/*.gen.h, one header per op).
#pragma once

#include <lento/export.h>
#include <lento/operand.h>
#include <lento/random.h>
#include <lento/tensor.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <source_location>
#include <string_view>
#include <vector>
