// How many threads work on one computation of the CPU device.
#pragma once

#include <lento/export.h>

#include <source_location>

namespace lento {

/// The calling thread included. At first what they are when the library is loaded: OMP_NUM_THREADS if that is a number,
/// else what the process may use, which is its affinity mask, limited by the processor quota of its control group.
/// Results do not depend on it.
LENTO_API int get_num_threads();

/// From the next computation on; throws ValueError for less than 1.
LENTO_API void set_num_threads(int count, std::source_location site = std::source_location::current());

}  // namespace lento
