// Warnings: what a user should hear of although nothing failed.
#pragma once

#include <string>

namespace lento {

/// Gives the message to the warning handler, which may throw.
void warn(const std::string& message);

}  // namespace lento
