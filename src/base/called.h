// Which public function the user called when an op was recorded: `take` for the primitive `take_axis`. A record's
// Source has no room of its own for that, so it stands in the upper bits of the scope.
#pragma once

#include "base/source.h"

#include <string_view>

namespace lento {

/// Scopes have ids below this; what stands above is the number of the called function.
inline constexpr ScopeId kScopeLimit = ScopeId{1} << 20;

/// The number of a function in the upper bits of a ScopeId. Names are interned for good; once there are thousands, more
/// have no number.
ScopeId call_bits(std::string_view function);

/// The scope of a record that the calling thread makes now, with the function the user called. Outside of every call
/// the user called the primitive itself, and nothing is looked up.
inline ScopeId recorded_scope(const CallContext& context) {
  return context.op.empty() ? context.scope : context.scope | call_bits(context.op);
}

/// "take" for a record that it made; "" when the user called the primitive itself.
std::string_view called_function(const Source& source);

}  // namespace lento
