// The toy device, as tests see it.
#pragma once

#include <cstdint>

namespace lento::toy {

/// Registers toy:0 and toy:1, once.
void register_toy();

/// What the devices have code for. Programs that were compiled before stay as they are.
enum class Support : std::uint8_t {
  all,      // every op
  kernels,  // whatever can be in a kernel; calls fall back
  few,      // ten elementwise ops
};
void set_support(Support support);

/// Whether the devices copy from one another without the host, as they do unless a test says otherwise.
void set_direct_copies(bool directly);

/// Called in the middle of the first use of a device.
void at_first_use(void (*function)());

/// From now on queues pause at random, by this seed, before some of their work. 0: they do not.
void set_delays(std::uint64_t seed);

/// Holds back everything that the queues of both devices have not begun, until they are let go on. For whoever waits,
/// they hang.
void hold(bool held);

/// What can be made to fail. A submission is two events, its begin and its end; a loss comes before some work of a
/// queue of the device.
enum class Fault : std::uint8_t { none, allocate, compile, fence, launch, submission, loss };
/// The `after`-th event of this kind from now on (0 is the next one) fails, once.
void fail_at(Fault fault, int after = 0);
/// Whether that event has not come yet.
bool failure_is_ahead();

/// Stops toy:0 or toy:1 in the middle of whatever it does.
void lose(int device);
/// Puts a working one in the place of a lost device. Nothing that was on the lost one may be in use any more.
void replace(int device);

}  // namespace lento::toy
