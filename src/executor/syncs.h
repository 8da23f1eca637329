// Where the program waits: reads that force evaluation (clause E8), reads that wait for work that was started, and
// steps that wait because too many are under way. Also: whether reads that force evaluation are allowed.
#pragma once

#include <lento/eval.h>

#include "base/source.h"

#include <chrono>
#include <string>

namespace lento {

/// A read at this line is about to evaluate something. Warns or throws when the options say so.
void note_sync(const Source& source);

/// What a line waited for although it started nothing itself.
enum class WaitKind : std::uint8_t {
  value,  // a read of a value that is being computed
  room,   // a step or eval while as many as allowed are under way
};
/// A read at this line is about to wait for work that was started. Warns when the options say so.
void warn_of_wait(const Source& source);
void note_wait(WaitKind kind, const Source& source, std::chrono::nanoseconds duration);

/// A sentence for each line that waited since the last call: the longest waits for started work first, then the reads
/// that forced an evaluation.
std::string describe_syncs();

SyncMode sync_mode();
bool warns_of_waits();
void set_sync_mode(SyncMode mode, bool waits_too);

}  // namespace lento
