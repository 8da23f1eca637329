// The rules that an entry alone or all entries together must keep, beyond what loading checks.
#pragma once

#include "diagnostics.h"
#include "model.h"

namespace lento::opgen {

void validate(const Catalogue& catalogue, Diagnostics& diagnostics);

/// Checks the layers, against the ops that they call.
void validate_layers(const Catalogue& catalogue, Diagnostics& diagnostics);

/// Checks `samples` of one entry: they name arguments, and tensors are well-formed.
void validate_samples(const Entry& entry, Diagnostics& diagnostics);

}  // namespace lento::opgen
