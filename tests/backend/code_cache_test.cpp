// The cache of code with a device whose code is a text: what is compiled, and how often.
#include "backend/code_cache.h"

#include "backend/background.h"
#include "backend/kernel_identity.h"
#include "base/counters.h"
#include "base/fail.h"
#include "compiler/softmax_kernel.h"
#include "failing_allocations.h"
#include "temporary_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace lento::testing {
namespace {

struct Text final : LoadedCode {
  explicit Text(std::string is) : text(std::move(is)) {}
  std::size_t code_bytes() const override { return text.size(); }
  const std::string text;
};

/// Code is the tier and the kernel as text.
class TextMaker final : public CodeMaker {
 public:
  explicit TextMaker(bool with_tiers = true, std::string device = "a device")
      : with_tiers_(with_tiers), device_(std::move(device)) {}

  mutable std::atomic<int> compiled[2] = {0, 0};  // of each tier
  mutable std::atomic<bool> fails = false;
  mutable std::promise<void> careful;  // is kept when the first code of tier one is compiled

  bool has_tiers() const override { return with_tiers_; }
  std::string target(Tier tier) const override { return device_ + std::to_string(static_cast<int>(tier)); }
  std::vector<std::byte> compile(const Kernel& kernel, Tier tier) const override {
    if (fails) fail<BackendError>("a test forbids a compile");
    if (++compiled[static_cast<int>(tier)] == 1 && tier == Tier::one) careful.set_value();
    const std::string text = text_of(kernel, tier);
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return {begin, begin + text.size()};
  }
  LoadedCodeRef load(const Kernel&, std::span<const std::byte> bytes) const override {
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!text.starts_with("tier ")) fail<BackendError>("this is no code");
    return std::make_shared<Text>(std::move(text));
  }

  static std::string text_of(const Kernel& kernel, Tier tier) {
    return "tier " + std::to_string(static_cast<int>(tier)) + " of " + to_string(kernel);
  }

 private:
  const bool with_tiers_;
  const std::string device_;
};

const Kernel kRow = softmax_kernel(LoopForm::row);
const Kernel kColumn = softmax_kernel(LoopForm::column);

CachedKernel& of(const KernelBinaryRef& binary) { return static_cast<CachedKernel&>(*binary); }
std::string text(const KernelBinaryRef& binary) { return static_cast<const Text&>(of(binary).code()).text; }

struct Found {
  std::vector<KernelBinaryRef> kernels;
  std::size_t compiled = 0;
};
Found find(CodeCache& cache, const std::vector<Kernel>& kernels, CodeTier tier = CodeTier::automatic) {
  Found found;
  found.kernels = cache.find(kernels, tier, found.compiled);
  return found;
}

// --- in memory ---

TEST(CodeCache, E2_ProgramsShareTheCodeOfAKernel) {
  const auto maker = std::make_shared<TextMaker>();
  CodeCache cache(maker);
  const std::uint64_t compiles = counter_value("kernel.compile");
  const std::uint64_t hits = counter_value("kernel.hit");
  const Found first = find(cache, {kRow, kColumn});
  const Found second = find(cache, {kColumn, kRow});
  EXPECT_EQ(first.compiled, 2U);
  EXPECT_EQ(second.compiled, 0U);
  EXPECT_EQ(first.kernels[0], second.kernels[1]);
  EXPECT_EQ(first.kernels[1], second.kernels[0]);
  EXPECT_EQ(text(first.kernels[0]), TextMaker::text_of(kRow, Tier::zero));
  EXPECT_EQ(text(first.kernels[1]), TextMaker::text_of(kColumn, Tier::zero));
  EXPECT_EQ(counter_value("kernel.compile"), compiles + 2);
  EXPECT_EQ(counter_value("kernel.hit"), hits + 2);
}

// Found by review: a kernel stood in the order of uses and not among those that are found by their hash, and was
// evicted from there all the same.
TEST(CodeCache, E6_AKernelForWhichThereIsNoMemoryIsNoKernelOfTheCache) {
  CodeCache cache(std::make_shared<TextMaker>(false));
  Kernel kernel = kRow;
  for (int number = 0;; ++number) {
    bool threw = false;
    const bool failed = test::with_failing_allocation(number, [&] {
      try {
        (void)find(cache, {kernel});
      } catch (const std::bad_alloc&) {
        threw = true;
      }
    });
    EXPECT_EQ(threw, failed) << number;
    if (!failed) break;
  }
  const std::uint64_t evicted = counter_value("kernel.evict");
  const auto find_number = [&](std::uint16_t number) {
    kernel.body.back().index = number;
    return find(cache, {kernel}).compiled;
  };
  constexpr std::uint16_t kKernels = 4200;
  for (std::uint16_t i = 0; i < kKernels; ++i) (void)find_number(i);
  EXPECT_GT(counter_value("kernel.evict"), evicted);
  std::size_t missing = 0;
  for (std::uint16_t i = kKernels - 4000; i < kKernels; ++i) missing += find_number(i);
  EXPECT_EQ(missing, 0U) << "those that were used last are there";
}

TEST(CodeCache, E2_ThreadsThatMissOnOneKernelCompileItOnce) {
  constexpr int kThreads = 8;
  const auto maker = std::make_shared<TextMaker>();
  CodeCache cache(maker);
  std::barrier start(kThreads);
  std::vector<Found> found(kThreads);
  {
    std::vector<std::jthread> threads;
    for (Found& mine : found) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        mine = find(cache, {kRow});
      });
    }
  }
  EXPECT_EQ(maker->compiled[0], 1);
  std::size_t compiled = 0;
  for (const Found& mine : found) {
    compiled += mine.compiled;
    EXPECT_EQ(mine.kernels, found[0].kernels);
    EXPECT_EQ(text(mine.kernels[0]), TextMaker::text_of(kRow, Tier::zero));
  }
  EXPECT_EQ(compiled, 1U);
}

TEST(CodeCache, ACompileThatFailsIsTriedAgain) {
  const auto maker = std::make_shared<TextMaker>();
  CodeCache cache(maker);
  maker->fails = true;
  EXPECT_THROW(find(cache, {kRow}), BackendError);
  maker->fails = false;
  EXPECT_EQ(text(find(cache, {kRow}).kernels[0]), TextMaker::text_of(kRow, Tier::zero));
}

// --- tiers ---

TEST(CodeCache, KernelsOfDifferentTiersShareNothing) {
  const auto maker = std::make_shared<TextMaker>();
  CodeCache cache(maker);
  const Found quick = find(cache, {kRow}, CodeTier::zero);
  const Found careful = find(cache, {kRow}, CodeTier::one);
  const Found automatic = find(cache, {kRow}, CodeTier::automatic);
  EXPECT_EQ(text(quick.kernels[0]), TextMaker::text_of(kRow, Tier::zero));
  EXPECT_EQ(text(careful.kernels[0]), TextMaker::text_of(kRow, Tier::one));
  EXPECT_NE(automatic.kernels[0], quick.kernels[0]);
  EXPECT_NE(automatic.kernels[0], careful.kernels[0]);
  // It has the best code there is.
  careful.kernels[0]->improve();
  EXPECT_EQ(maker->compiled[1], 1);
}

TEST(CodeCache, AKernelThatRunsOftenIsCompiledAgainWithCare) {
  const auto maker = std::make_shared<TextMaker>();
  CodeCache cache(maker);
  std::future<void> careful = maker->careful.get_future();
  const Found found = find(cache, {kRow});
  CachedKernel& kernel = of(found.kernels[0]);
  while (kernel.uses() < 32) kernel.note_use();
  EXPECT_EQ(maker->compiled[1], 0);
  kernel.note_use();
  careful.wait();
  const std::size_t first = TextMaker::text_of(kRow, Tier::zero).size();
  found.kernels[0]->improve();  // returns when the other thread has done it
  EXPECT_EQ(maker->compiled[1], 1);
  EXPECT_EQ(text(found.kernels[0]), TextMaker::text_of(kRow, Tier::one));
  EXPECT_EQ(found.kernels[0]->code_bytes(), 2 * first) << "a run may still be in the first code";
}

TEST(CodeCache, ADeviceWithoutTiersCompilesOnce) {
  const auto maker = std::make_shared<TextMaker>(false);
  CodeCache cache(maker);
  const Found found = find(cache, {kRow});
  EXPECT_EQ(text(found.kernels[0]), TextMaker::text_of(kRow, Tier::one));
  EXPECT_EQ(find(cache, {kRow}, CodeTier::zero).kernels, found.kernels);
  of(found.kernels[0]).note_use(1000);
  found.kernels[0]->improve();
  EXPECT_EQ(maker->compiled[0], 0);
  EXPECT_EQ(maker->compiled[1], 1);
}

// --- on disk ---

class CodeCacheOnDisk : public ::testing::Test {
 protected:
  /// What a new process finds, with the makers it has.
  static Found in_new_process(DiskCache& disk, const std::shared_ptr<TextMaker>& maker,
                              CodeTier tier = CodeTier::automatic) {
    CodeCache cache(maker, &disk);
    Found found = find(cache, {kRow}, tier);
    wait_for_urgent_tasks();  // what it keeps is written
    return found;
  }

  std::vector<std::byte> identity(Tier tier) const { return kernel_identity(kRow, TextMaker().target(tier)); }

  const TemporaryFolder folder_;
  DiskCache disk_{(folder_.path() / "lento").string(), 1 << 20};
};

TEST_F(CodeCacheOnDisk, E11_TheNextProcessCompilesNothing) {
  in_new_process(disk_, std::make_shared<TextMaker>());
  const auto maker = std::make_shared<TextMaker>();
  const std::uint64_t compiles = counter_value("kernel.compile");
  const std::uint64_t found_on_disk = counter_value("kernel.disk_hit");
  const Found found = in_new_process(disk_, maker);
  EXPECT_EQ(text(found.kernels[0]), TextMaker::text_of(kRow, Tier::zero));
  EXPECT_EQ(maker->compiled[0], 0);
  EXPECT_EQ(counter_value("kernel.compile"), compiles);
  EXPECT_EQ(counter_value("kernel.disk_hit"), found_on_disk + 1);
}

TEST_F(CodeCacheOnDisk, E11_BetterCodeIsTakenWhereAnotherProcessKeptIt) {
  in_new_process(disk_, std::make_shared<TextMaker>(), CodeTier::one);
  const auto maker = std::make_shared<TextMaker>();
  const Found found = in_new_process(disk_, maker);
  EXPECT_EQ(text(found.kernels[0]), TextMaker::text_of(kRow, Tier::one));
  found.kernels[0]->improve();
  EXPECT_EQ(maker->compiled[0] + maker->compiled[1], 0);
}

TEST_F(CodeCacheOnDisk, E11_CodeOfAnotherTargetIsNotTaken) {
  in_new_process(disk_, std::make_shared<TextMaker>());
  const auto other = std::make_shared<TextMaker>(true, "another device");
  in_new_process(disk_, other);
  EXPECT_EQ(other->compiled[0], 1);
}

TEST_F(CodeCacheOnDisk, E11_WhatDoesNotLoadIsCompiledAndReplaced) {
  const std::vector<std::byte> garbage(100);
  disk_.store(identity(Tier::zero), garbage);
  const auto maker = std::make_shared<TextMaker>();
  const Found found = in_new_process(disk_, maker);
  EXPECT_EQ(text(found.kernels[0]), TextMaker::text_of(kRow, Tier::zero));
  EXPECT_EQ(maker->compiled[0], 1);
  const auto next = std::make_shared<TextMaker>();
  in_new_process(disk_, next);
  EXPECT_EQ(next->compiled[0], 0);
}

TEST_F(CodeCacheOnDisk, E11_ADamagedFileIsCompiledAndReplaced) {
  in_new_process(disk_, std::make_shared<TextMaker>());
  const std::filesystem::path file = folder_.path() / "lento" / DiskCache::file_name(identity(Tier::zero));
  ASSERT_TRUE(std::filesystem::exists(file));
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(60).put('!');
  const auto maker = std::make_shared<TextMaker>();
  const std::uint64_t rejected = counter_value("kernel.disk_reject");
  const Found found = in_new_process(disk_, maker);
  EXPECT_GT(counter_value("kernel.disk_reject"), rejected);
  EXPECT_EQ(text(found.kernels[0]), TextMaker::text_of(kRow, Tier::zero));
  EXPECT_EQ(maker->compiled[0], 1);
  const auto next = std::make_shared<TextMaker>();
  in_new_process(disk_, next);
  EXPECT_EQ(next->compiled[0], 0);
}

}  // namespace
}  // namespace lento::testing
