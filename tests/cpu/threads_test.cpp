// The team of threads: every element once, on any number of threads, from any thread, also in a forked child.
#include "backends/cpu/threads.h"
#include "backends/cpu/processors.h"

#include <lento/error.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace lento::cpu {
namespace {

/// Sets the number of threads for a test.
class Threads {
 public:
  explicit Threads(int count) : before_(get_num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

/// How often each element of a range is visited.
std::vector<int> visits(std::int64_t count, std::int64_t grain) {
  std::vector<int> seen(static_cast<std::size_t>(count));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  return seen;
}

TEST(ParallelFor, VisitsEveryElementOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    const Threads set(threads);
    for (const std::int64_t count : {0, 1, 2, 7, 64, 1000, 4097}) {
      for (const std::int64_t grain : {1, 3, 64, 5000}) {
        EXPECT_EQ(visits(count, grain), std::vector<int>(static_cast<std::size_t>(count), 1))
            << count << " elements by " << grain << " on " << threads;
      }
    }
  }
}

TEST(ParallelFor, RangesBeginAtMultiplesOfTheGrain) {
  const Threads set(3);
  std::atomic<int> wrong{0};
  parallel_for(1003, 17, [&](std::int64_t begin, std::int64_t end) {
    if (begin % 17 != 0 || (end % 17 != 0 && end != 1003)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ParallelFor, RangesBeginAtMultiplesOfTheStep) {
  const Threads set(4);
  std::atomic<int> wrong{0};
  std::atomic<std::int64_t> sum{0};
  parallel_for(5000, {.grain = 120, .step = 8}, [&](std::int64_t begin, std::int64_t end) {
    if (begin % 8 != 0 || (end % 8 != 0 && end != 5000)) ++wrong;
    sum += end - begin;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(sum, 5000);
}

TEST(ParallelFor, UpToAGrainIsOneRangeHoweverShortTheSteps) {
  const Threads set(4);
  int ranges = 0;
  parallel_for(100, {.grain = 100, .step = 1}, [&](std::int64_t, std::int64_t) { ++ranges; });
  EXPECT_EQ(ranges, 1);
}

TEST(ParallelFor, SharesOfThreadsThatDoNotComeAreDoneByTheCaller) {
  // Many more threads than processors: most of them are not there when the work is over.
  const Threads set(64);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t count = 64 + round;
    EXPECT_EQ(visits(count, 1), std::vector<int>(static_cast<std::size_t>(count), 1));
  }
}

TEST(ParallelFor, AThreadTakesOverWhatASlowOneHasLeft) {
  const Threads set(2);
  // The first range ends only when all others are done, which are partly of the same share.
  constexpr std::int64_t kCount = 256;
  std::atomic<std::int64_t> done{0};
  parallel_for(kCount, 1, [&](std::int64_t begin, std::int64_t end) {
    if (begin == 0) {
      while (done != kCount - end) std::this_thread::yield();
    } else {
      done += end - begin;
    }
  });
  EXPECT_GT(done, kCount / 2);
}

TEST(ParallelFor, HandsWorkToOtherThreads) {
  const Threads set(2);
  // Each half waits for the other: this ends only when two threads are at it.
  std::atomic<int> arrived{0};
  std::vector<std::thread::id> ids(2);
  parallel_for(2, 1, [&](std::int64_t begin, std::int64_t) {
    ids[static_cast<std::size_t>(begin)] = std::this_thread::get_id();
    ++arrived;
    while (arrived != 2) std::this_thread::yield();
  });
  EXPECT_NE(ids[0], ids[1]);
}

TEST(ParallelFor, RunsOnTheCallerWhenThereIsOneThread) {
  const Threads set(1);
  const std::thread::id caller = std::this_thread::get_id();
  parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(end - begin, 100);
  });
}

TEST(ParallelFor, InsideItselfRunsInline) {
  const Threads set(4);
  std::atomic<int> wrong{0};
  std::atomic<std::int64_t> sum{0};
  parallel_for(16, 1, [&](std::int64_t begin, std::int64_t end) {
    const std::thread::id outer = std::this_thread::get_id();
    if (!inside_parallel_for()) ++wrong;
    parallel_for(1000, 1, [&](std::int64_t from, std::int64_t to) {
      if (std::this_thread::get_id() != outer) ++wrong;
      sum += (end - begin) * (to - from);
    });
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(sum, 16000);
  EXPECT_FALSE(inside_parallel_for());
}

TEST(ParallelFor, ManyCallersAtOnceGetTheirOwnResults) {
  const Threads set(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t) {
    callers.emplace_back([&wrong, t] {
      for (int round = 0; round < 300; ++round) {
        std::atomic<std::int64_t> sum{0};
        const std::int64_t count = 100 + t * 10 + round % 7;
        parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
        if (sum != count) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ParallelFor, ThrowsWhatABodyThrowsAndWorksAfterwards) {
  const Threads set(3);
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(parallel_for(100, 1,
                              [&](std::int64_t begin, std::int64_t end) {
                                if (begin <= round && round < end) throw std::runtime_error("here");
                              }),
                 std::runtime_error);
    EXPECT_FALSE(inside_parallel_for());
    EXPECT_EQ(visits(100, 1), std::vector<int>(100, 1));
  }
}

TEST(ParallelFor, TheNumberOfThreadsCanChangeWhileOthersWork) {
  const Threads set(2);
  std::atomic<bool> stop{false};
  std::thread changer([&] {
    for (int i = 0; !stop; ++i) {
      set_num_threads(1 + i % 5);
      std::this_thread::yield();
    }
  });
  for (int round = 0; round < 500; ++round) EXPECT_EQ(visits(97, 2), std::vector<int>(97, 1));
  stop = true;
  changer.join();
}

TEST(ParallelFor, E5_WorksInAForkedChild) {
  const Threads set(3);
  ASSERT_EQ(visits(1000, 1), std::vector<int>(1000, 1));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool right = true;
    for (int round = 0; round < 20; ++round) right = right && visits(1000, 1) == std::vector<int>(1000, 1);
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(visits(1000, 1), std::vector<int>(1000, 1));
}

TEST(ThreadCount, LessThanOneIsRefused) {
  EXPECT_THROW(set_num_threads(0), ValueError);
  EXPECT_THROW(set_num_threads(-3), ValueError);
}

// A fork while files are read for it would leave the child with locks that nobody gives back.
TEST(ThreadCountDeathTest, E5_IsKnownBeforeAProgramCanFork) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, in which nobody has asked yet
  EXPECT_EXIT(
      {
        ::setenv("OMP_NUM_THREADS", "12345", 1);
        std::_Exit(get_num_threads() == 12345 ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(ThreadCount, OmpNumThreadsIsReadAsANumberOrNotAtAll) {
  EXPECT_EQ(parse_thread_count("4"), 4);
  EXPECT_EQ(parse_thread_count(" 4"), 4);
  EXPECT_EQ(parse_thread_count("4,2"), 4);
  for (const char* text : {"", "0", "-2", "x", "4x", "1.5", "99999999999999"})
    EXPECT_EQ(parse_thread_count(text), 0) << text;
}

class ProcessorQuota : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("lento_quota_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }

  std::filesystem::path root_;
};

TEST_F(ProcessorQuota, OfVersion2IsTheSmallestOnTheWayUp) {
  write("a/b/cpu.max", "max 100000");
  EXPECT_EQ(processor_quota(root_, "0::/a/b\n"), 0);
  write("a/cpu.max", "350000 100000");
  EXPECT_EQ(processor_quota(root_, "0::/a/b\n"), 4);
  write("cpu.max", "50000 100000");
  EXPECT_EQ(processor_quota(root_, "0::/a/b\n"), 1);
  EXPECT_EQ(processor_quota(root_, "0::/\n"), 1);
}

TEST_F(ProcessorQuota, OfVersion1IsThatOfTheProcessorController) {
  write("cpu/job/cpu.cfs_period_us", "100000");
  write("cpu/job/cpu.cfs_quota_us", "-1");
  const char* groups = "3:memory:/job\n2:cpu,cpuacct:/job\n1:cpuset:/job\n";
  EXPECT_EQ(processor_quota(root_, groups), 0);
  write("cpu/job/cpu.cfs_quota_us", "200000");
  EXPECT_EQ(processor_quota(root_, groups), 2);
  EXPECT_EQ(processor_quota(root_, "3:memory:/job\n"), 0);
}

TEST_F(ProcessorQuota, ThatCannotBeReadIsNone) {
  EXPECT_EQ(processor_quota(root_, "0::/nowhere\nnonsense\n"), 0);
  EXPECT_EQ(processor_quota(root_, ""), 0);
}

}  // namespace
}  // namespace lento::cpu
