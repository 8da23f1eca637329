// What is left of failures: values that poison tensors, and memory.
#include "base/buffer.h"
#include "base/memory.h"
#include "base/source.h"
#include "base/value.h"
#include "failing_allocations.h"

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <utility>

namespace lento {
namespace {

TEST(FailureValues, E7_ALackOfMemoryNeedsNoMemoryToBeTold) {
  std::string message = "a text that is too long to lie in the string itself";
  FailureRef failure;
  const bool failed =
      test::with_failing_allocation(0, [&] { failure = Failure::make(ErrorKind::backend, std::move(message), {}); });
  EXPECT_TRUE(failed);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, ErrorKind::memory);
  EXPECT_THROW(failure->raise(), MemoryError);
}

// Found by failing allocations: the memory was never freed, and stood in the account for ever.
TEST(Buffers, E9_MemoryForWhichThereIsNoBufferIsFreed) {
  const std::size_t before = memory_account(0).live;
  const bool failed =
      test::with_failing_allocation(0, [] { EXPECT_THROW((void)allocate_host(100, 0), std::bad_alloc); });
  EXPECT_TRUE(failed);
  EXPECT_EQ(memory_account(0).live, before);
}

}  // namespace
}  // namespace lento
