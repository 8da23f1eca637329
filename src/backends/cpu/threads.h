// parallel_for: the one way in which the CPU device uses more than one thread.
//
// The helpers are threads of our own and not an OpenMP team: libgomp keeps a team for every thread that enters one
// (programs run on several workers and on users' threads), and a forked child hangs in its parent's. Libraries are
// called from here on one thread each (library_calls.h), so that nothing ever enters OpenMP, and how work is cut does
// not depend on the number of threads.
//
// Each thread has a part of the range from the start, always the same one, so that what it wrote is in its cache when
// the next loop reads it, and threads need not meet. Who is done takes over some of what others have left. The caller
// works too, and waits only for helpers that began: what belongs to one that is still waking up is done by others.
// There is one team; a caller that finds it busy, and a call inside a call, run on their own thread, since all
// processors are in use then.
#pragma once

#include <lento/threads.h>

#include "base/function_ref.h"

#include <cstdint>

namespace lento::cpu {

/// How a range is cut.
struct LoopCut {
  std::int64_t grain;  // the least that is worth handing to another thread: some 5 µs of work
  std::int64_t step;   // ranges begin at multiples of it; at most the grain
};

/// Calls body(begin, end) for ranges that together are [0, count), at once on several threads. Up to a grain of
/// elements runs right here. What a body throws is thrown here, once all threads have left; of several exceptions one,
/// and the ranges after it may be left out.
void parallel_for(std::int64_t count, LoopCut cut, FunctionRef<void(std::int64_t, std::int64_t)> body);

/// The same with steps as long as the grain.
inline void parallel_for(std::int64_t count, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  parallel_for(count, {.grain = grain, .step = grain}, body);
}

/// True inside a body of parallel_for.
bool inside_parallel_for();

}  // namespace lento::cpu
