// The compile options that hold for the process: what set_options() chose, or else what the environment says. A plan is
// made under those that hold when it is asked for, and never used under others.
#pragma once

#include "compiler/compile_options.h"

#include <string>

namespace lento {

/// What holds now. Equal options have one address, for good. Throws ValueError when LENTO_FUSION, LENTO_TIER or
/// LENTO_FORCE_FALLBACK makes no sense.
const CompileOptions* compile_options();
/// The same, but null instead of a look at the environment when nobody has asked before.
const CompileOptions* known_compile_options() noexcept;

/// The compile options that these options name, and where they name none what the environment says. Throws ValueError.
const CompileOptions* find_compile_options(const Options& options);
void set_compile_options(const CompileOptions* chosen);

/// "exp,reduce_sum"
std::string fallback_text(const CompileOptions& options);

}  // namespace lento
