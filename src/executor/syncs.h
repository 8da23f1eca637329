// Reads that force evaluation (clause E8): where they are, and whether they are allowed.
#pragma once

#include <lento/eval.h>

#include "base/source.h"

#include <string>

namespace lento {

/// A read at this line is about to evaluate something. Warns or throws when the options say so.
void note_sync(const Source& source);

/// A sentence for each line that forced an evaluation since the last call.
std::string describe_syncs();

SyncMode sync_mode();
void set_sync_mode(SyncMode mode);

}  // namespace lento
