// Where the default generator is, to be saved beside a model; and lento.random's own names for what is in random.h.
#pragma once

#include <lento/export.h>
#include <lento/random.h>
#include <lento/tensor_dict.h>

#include <source_location>

namespace lento::random {

using lento::default_generator;
using lento::Generator;

/// Where the default generator is: {"state": seed and next block, uint64(2)}, as Python's.
LENTO_API TensorDict state_dict();

/// Lets the default generator go on from what state_dict() gave. Throws ValueError, and leaves the generator alone,
/// when there is no "state", or when it is not two whole numbers.
LENTO_API void load_state_dict(const TensorDict& state, std::source_location site = std::source_location::current());

}  // namespace lento::random
