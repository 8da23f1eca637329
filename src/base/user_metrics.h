// Counters and timings under names of the user's own. They are kept beside Lento's, in counters.cpp and timings.cpp,
// are read with them and forgotten by a reset. Every function here throws ValueError for a name that is empty, too long
// or one of Lento's own, and when there are too many.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace lento {

/// Throws when no counter or timing may have this name: it is empty or too long.
void check_user_name(std::string_view name);

/// At most 1000.
void add_to_user_counter(std::string_view name, std::uint64_t n);

/// At most 100.
void record_user_timing(std::string_view name, std::chrono::nanoseconds duration);
/// Throws what record_user_timing would.
void check_user_timing(std::string_view name);

}  // namespace lento
