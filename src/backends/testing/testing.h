// Backends for tests and benchmarks; see README.md.
#pragma once

#include <lento/device.h>

#include <cstdint>

namespace lento::testing {

/// Adds the devices null:0, gated:0 and faulty:0 once.
void register_testing_backends();

Device null_device();
Device gated_device();
Device faulty_device();

/// The gate of gated:0. Closed at first: runs wait in order of arrival until they are let through.
namespace gate {
/// Lets the next `count` runs through, whether they wait already or come later.
void open(int count);
/// Lets everything through from now on, until close().
void open_forever();
void close();
/// Blocks until `count` runs wait at the gate.
void wait_for_arrivals(int count);
/// Holds compiles for gated:0 up as well, until told otherwise.
void hold_compiles(bool hold);
/// Blocks until `count` compiles are held up.
void wait_for_compiles(int count);
/// Runs that are waiting now.
int waiting();
}  // namespace gate

/// Where faulty:0 can fail.
enum class Fault : std::uint8_t {
  none,
  allocate,  // of any buffer, also in the middle of a run: MemoryError
  compile,
  launch,      // before a run has computed anything
  completion,  // after it has computed everything
};
/// The `after`-th event of this kind from now on (0 is the next one) fails, once.
void inject(Fault fault, int after = 0);
/// True while an injected fault has not happened yet.
bool fault_pending();

}  // namespace lento::testing
