// Programs that once behaved differently, from reductions of the fuzzer, each with what was wrong.
#include "fuzz/program.h"

#include <gtest/gtest.h>

namespace lento::fuzz {
namespace {

// An elementwise op of a good and a poisoned operand left the good one in the trace, and with it its memory.
TEST(FoundPrograms, Seed144) {
  EXPECT_EQ(difference(parse(R"(
threads 1
phase
thread 0
  load r2 i0
  set_outside r2 p0 0
  as_float64 r5 r2
  eval r2
  load r2 i0
  maximum r0 r2 r5
)")),
            "");
}

// An op that was recorded and dropped while another thread compiled this thread's trace kept its operands' memory.
TEST(FoundPrograms, Seed11299) {
  EXPECT_EQ(difference(parse(R"(
threads 2
phase
thread 1
  load r2 i0
  load r1 i0
  abs r2 r2
phase
thread 0
  step_all_threads
thread 1
  abs r0 r1
  load r0 i0
)")),
            "");
}

// A plan was made for one line and failed at another: the error named the first.
// Not as printed: the two lines that share a plan are put into one program.
TEST(FoundPrograms, Seed13) {
  EXPECT_EQ(difference(parse(R"(
threads 1
phase
thread 0
  load_async r1 i0
  tanh r3 r1
  set_gathered r3 p0 0
  step_every_device
  load_async r1 i0
  tanh r3 r1
  set_outside r3 p0 0
)")),
            "");
}

// On a device with queues an op that read a poisoned value told of a failure of its own.
TEST(FoundPrograms, Seed870) {
  EXPECT_EQ(difference(parse(R"(
threads 1
toy all 0
phase
thread 0
  load r0 i0
  gather_outside r2 r0 p0
  set_outside r2 p0 0
)")),
            "");
}

}  // namespace
}  // namespace lento::fuzz
