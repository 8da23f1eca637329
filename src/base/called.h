// Which public function the user called when an op was recorded: `take` for the primitive `take_axis`. A record's
// Source has no room of its own for that, so it stands in the upper bits of the scope.
#pragma once

#include "base/source.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace lento {

/// Scopes have ids below this; what stands above is the number of the called function.
inline constexpr ScopeId kScopeLimit = ScopeId{1} << 20;

/// Functions that were looked up lately: the address of a name << 16 | the function's number, at a hash of the address.
extern std::array<std::atomic<std::uint64_t>, 1024> recent_calls;
inline std::atomic<std::uint64_t>& recent_call(std::uintptr_t address) {
  return recent_calls[(address ^ (address >> 10)) % recent_calls.size()];
}
ScopeId look_up_call(std::string_view function);

/// The number of a function in the upper bits of a ScopeId. A name is known by its address, as that of a CallScope is a
/// literal. Names are interned for good; once there are thousands, more have no number.
inline ScopeId call_bits(std::string_view function) {
  const auto address = reinterpret_cast<std::uintptr_t>(function.data());
  const std::uint64_t found = recent_call(address).load(std::memory_order_relaxed);
  if (found >> 16 == address) [[likely]]
    return static_cast<ScopeId>(found & 0xffff) * kScopeLimit;
  return look_up_call(function);
}

/// The scope of a record that the calling thread makes now, with the function the user called. Outside of every call
/// the user called the primitive itself, and nothing is looked up.
inline ScopeId recorded_scope(const CallContext& context) {
  return context.op.empty() ? context.scope : context.scope | call_bits(context.op);
}

/// "take" for a record that it made; "" when the user called the primitive itself.
std::string_view called_function(const Source& source);

/// "take_axis: index 7 is out of range" of a record that `take` made, as "take: index 7 is out of range".
std::string named_as_called(const std::string& message, const Source& source);

}  // namespace lento
