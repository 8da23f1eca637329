// parallel_for: the one way in which the CPU device uses more than one thread.
//
// The helpers are threads of our own and not an OpenMP team: libgomp keeps a team for every thread that enters one
// (programs run on several workers and on users' threads), and a forked child hangs in its parent's. Libraries are
// called from here on one thread each (library_calls.h), so that nothing ever enters OpenMP, and how work is cut does
// not depend on the number of threads.
//
// A range is handed out in chunks. The caller works too, and waits only for helpers that took a chunk: one that is
// still waking up is not missed. There is one team; a caller that finds it busy, and a call inside a call, run on their
// own thread, since all processors are in use then.
#pragma once

#include <lento/threads.h>

#include "base/function_ref.h"

#include <cstdint>

namespace lento::cpu {

/// Calls body(begin, end) for ranges that together are [0, count), at once on several threads; every `begin` is a
/// multiple of `grain`, the least that is worth handing to another thread (some 5 µs of work). Up to `grain` elements
/// run right here. What a body throws is thrown here, once all threads have left; of several exceptions one, and the
/// ranges after it may be left out.
void parallel_for(std::int64_t count, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body);

/// True inside a body of parallel_for.
bool inside_parallel_for();

}  // namespace lento::cpu
