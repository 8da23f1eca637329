// The one place where error messages are built: `op: what is wrong, at file:line`.
#pragma once

#include <lento/error.h>

#include "base/format.h"

#include <string>
#include <utility>

namespace lento {

/// Completes a message with the outermost op and the user's line of the calling thread, if there are any.
std::string complete_message(std::string text);

/// Throws E with a message that reads like a sentence; the op and the line are added here, not by the caller.
template <class E, class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw E(complete_message(fmt::format(text, std::forward<Args>(args)...)));
}

/// Throws DTypeError for a number that is no dtype: an enum class may hold any.
void require_dtype(DType dtype);

}  // namespace lento
