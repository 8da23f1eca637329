// Warnings: what a user should hear of although nothing failed.
#pragma once

#include <lento/eval.h>

#include <string>

namespace lento {

/// Gives the message to the warning handler, which may throw.
void warn(WarningKind kind, const std::string& message);

}  // namespace lento
