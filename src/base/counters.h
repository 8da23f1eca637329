// Counters that are always on: an add is a thread-local increment; reading sums over threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace lento {

/// Dense index of a counter; the same name always has the same one.
using CounterId = std::uint32_t;

inline constexpr CounterId kMaxCounters = 4096;

/// Finds or makes the counter of this name. Throws BackendError past kMaxCounters.
CounterId counter_id(std::string_view name);

/// Makes `count` counters with consecutive ids that have no names yet; returns the first.
CounterId reserve_counters(CounterId count);
/// Names one of them. The name must be new.
void name_counter(CounterId id, std::string_view name);

/// One thread's values. Only its thread writes them; readers add them up, so they are relaxed atomics.
struct CounterBlock {
  std::uint64_t values[kMaxCounters] = {};
};

/// The calling thread's block, or null before its first count.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local CounterBlock* current_counters;
CounterBlock* make_counter_block();

inline void count(CounterId id, std::uint64_t n = 1) {
  CounterBlock* block = current_counters;
  if (block == nullptr) [[unlikely]]
    block = make_counter_block();
  // A single writer: load and store need not be one atomic operation.
  __atomic_store_n(&block->values[id], __atomic_load_n(&block->values[id], __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

/// The sum over all threads since the last reset.
std::uint64_t counter_value(std::string_view name);
/// Every counter that is not zero, by name.
std::map<std::string, std::uint64_t> counter_values();
void reset_counters();

}  // namespace lento
