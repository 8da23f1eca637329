// Memory for code: many kernels in few mappings, and an error instead of an end when there is none.
#include "backends/cpu/code/code_memory.h"

#include "backends/cpu/code/jit.h"
#include "cpu/random_kernel.h"

#include <lento/error.h>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace lento::testing {
namespace {

using cpu::CodeMemory;
using Code = std::shared_ptr<const cpu::KernelCode>;

constexpr std::size_t kPage = 4096;
/// Under TSan the number of mappings says nothing: its runtime maps memory at any time.
#if defined(__SANITIZE_THREAD__)
constexpr bool kMapsByItself = true;
#else
constexpr bool kMapsByItself = false;
#endif

std::vector<std::string> mappings() {
  std::ifstream file("/proc/self/maps");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// A function that returns this number.
std::vector<std::byte> returns(std::uint8_t number) {
  return {std::byte{0xb8}, std::byte{number}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0xc3}};
}
int call(const CodeMemory& memory) {
  return reinterpret_cast<int (*)()>(reinterpret_cast<std::uintptr_t>(memory.data()))();
}

/// Runs in a forked child; what it returns is the child's exit status.
int status_of_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// A kernel and what it is called with, and its object.
struct Example {
  KernelCall call;
  std::vector<std::byte> object;

  explicit Example(std::uint64_t seed) {
    Random random(seed);
    call = random_kernel(random, {.dtypes = {DType::float32}, .steps = 3});
    object = cpu::compile_object(call.kernel, cpu::Tier::zero);
  }
  Code load() const { return cpu::load_object(call.kernel, object); }
  /// The memory of all operands after a run.
  std::vector<std::vector<std::byte>> run(const Code& code) const {
    std::vector<std::vector<std::byte>> memory = call.memory;
    std::vector<void*> addresses;
    code->run(call.arguments(memory, addresses), call.whole());
    return memory;
  }
};

TEST(CodeMemory, ThousandsOfKernelsTakeFewMappings) {
  const Example example(1);
  const Code first = example.load();
  const auto expected = example.run(first);
  const std::size_t before = mappings().size();
  std::vector<Code> all;
  for (int i = 0; i < 5000; ++i) all.push_back(example.load());
  const std::size_t bytes = all.size() * first->code_bytes();
  // The heap grows meanwhile, which may take a mapping or two.
  EXPECT_LE(mappings().size(), before + bytes / (std::size_t{4} << 20) + 8);
  for (std::size_t i = 0; i < all.size(); i += 500) EXPECT_EQ(example.run(all[i]), expected);
  all.clear();
  EXPECT_EQ(cpu::code_slabs(), 1U);
}

TEST(CodeMemory, FreedPagesAreUsedAgain) {
  const CodeMemory stays(kPage);
  std::vector<std::unique_ptr<CodeMemory>> all;
  for (int i = 0; i < 4000; ++i) all.push_back(std::make_unique<CodeMemory>(kPage));
  const std::size_t slabs = cpu::code_slabs();
  for (int round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < all.size(); i += 2) all[i].reset();
    for (std::size_t i = 0; i < all.size(); i += 2) all[i] = std::make_unique<CodeMemory>(kPage);
  }
  EXPECT_EQ(cpu::code_slabs(), slabs);
}

TEST(CodeMemory, CodeLargerThanASlabHasOneOfItsOwn) {
  const std::size_t slabs = cpu::code_slabs();
  {
    CodeMemory large(std::size_t{9} << 20);
    large.write(returns(7));
    EXPECT_EQ(call(large), 7);
    EXPECT_GE(large.bytes(), std::size_t{9} << 20);
  }
  EXPECT_LE(cpu::code_slabs(), std::max<std::size_t>(slabs, 1));
}

TEST(CodeMemory, NoPageIsWritableAndExecutable) {
  const Example example(2);
  std::vector<Code> all;
  for (int i = 0; i < 50; ++i) all.push_back(example.load());
  for (const std::string& line : mappings()) EXPECT_EQ(line.find("rwx"), std::string::npos) << line;
}

TEST(CodeMemory, ThreadsLoadRunAndFreeSideBySide) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([t, &wrong] {
      for (int i = 0; i < 300; ++i) {
        const auto number = static_cast<std::uint8_t>(t * 60 + static_cast<std::size_t>(i % 60));
        CodeMemory memory(100);
        memory.write(returns(number));
        wrong[t] += call(memory) == number ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(CodeMemory, AChildLoadsAndFreesWithoutTouchingItsParentsCode) {
  const Example example(3);
  const Code kept = example.load();
  Code dropped = example.load();
  const auto expected = example.run(kept);
  EXPECT_EQ(status_of_child([&] {
              dropped.reset();
              const Code other = Example(4).load();
              std::vector<Code> all;
              for (int i = 0; i < 2000; ++i) all.push_back(example.load());
              const bool right = example.run(kept) == expected && example.run(all.back()) == expected;
              const std::size_t lines = mappings().size();
              all.clear();
              return right && (kMapsByItself || mappings().size() <= lines) ? 0 : 1;
            }),
            0);
  EXPECT_EQ(example.run(kept), expected);
  EXPECT_EQ(example.run(dropped), expected);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need address space of their own
TEST(CodeMemory, E6_WithoutAddressSpaceLoadingThrowsAndEverythingGoesOn) {
  const Example example(5);
  const Code first = example.load();
  const auto expected = example.run(first);
  EXPECT_EQ(status_of_child([&] {
              std::vector<Code> all;
              all.reserve(100000);
              {
                const std::vector<std::unique_ptr<char[]>> heap_for_later = [] {
                  std::vector<std::unique_ptr<char[]>> parts(20000);
                  for (auto& part : parts) part = std::make_unique<char[]>(1000);
                  return parts;
                }();
              }
              const rlimit none{.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
              if (::setrlimit(RLIMIT_AS, &none) != 0) return 1;
              std::string message;
              try {
                while (all.size() < all.capacity()) all.push_back(example.load());
              } catch (const MemoryError& error) {
                message = error.what();
              }
              if (!message.starts_with("cpu: no memory for ")) return 2;
              if (example.run(first) != expected || example.run(all.back()) != expected) return 3;
              all.pop_back();
              all.push_back(example.load());  // into what was freed
              if (example.run(all.back()) != expected) return 4;
              const rlimit any{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
              if (::setrlimit(RLIMIT_AS, &any) != 0) return 5;
              all.push_back(example.load());
              return example.run(all.back()) == expected ? 0 : 6;
            }),
            0);
}
#endif

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // which end the process when they can map nothing
TEST(CodeMemory, E6_WithoutMappingsLoadingThrowsAndEverythingGoesOn) {
  const Example example(6);
  const Code first = example.load();
  const auto expected = example.run(first);
  EXPECT_EQ(status_of_child([&] {
              std::size_t limit = 0;
              std::ifstream("/proc/sys/vm/max_map_count") >> limit;
              if (limit == 0 || limit > 200000) return 0;  // it would take too long to use them up
              // Every other page readable: a mapping a page, until there are none left.
              const std::size_t bytes = 2 * limit * kPage;
              auto* pages = static_cast<std::byte*>(
                  ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
              if (pages == MAP_FAILED) return 1;
              std::size_t page = 1;
              while (::mprotect(pages + page * kPage, kPage, PROT_READ) == 0) page += 2;
              try {
                (void)example.load();
                return 2;
              } catch (const MemoryError&) {
              }
              if (example.run(first) != expected) return 3;
              ::munmap(pages, bytes);
              return example.run(example.load()) == expected ? 0 : 4;
            }),
            0);
}
#endif

}  // namespace
}  // namespace lento::testing
