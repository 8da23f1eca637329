// show_versions: what a report of a bug should tell.
#include "backends/cpu/processors.h"

#include <lento/about.h>
#include <lento/threads.h>
#include <lento/version.h>

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace lento {
namespace {

TEST(Versions, TheTableNamesWhatMatters) {
  ::setenv("LENTO_SAVE_GRAPHS_OF_NOBODY", "a = b", 1);
  std::ostringstream out;
  show_versions(out);
  ::unsetenv("LENTO_SAVE_GRAPHS_OF_NOBODY");
  std::istringstream lines(out.str());
  std::map<std::string, std::string> rows;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t gap = line.find("  ");
    rows[line.substr(0, gap)] = line.substr(line.find_first_not_of(' ', gap));
  }
  EXPECT_TRUE(rows["lento"].starts_with(version())) << out.str();
  EXPECT_EQ(rows["threads"], std::to_string(get_num_threads()));
  EXPECT_NE(rows["devices"].find("cpu:0"), std::string::npos);
  EXPECT_EQ(rows["LENTO_SAVE_GRAPHS_OF_NOBODY"], "a = b");
  for (const char* library : {"llvm", "onednn", "openblas"}) {
    EXPECT_NE(std::isdigit(rows[library][0]), 0) << library << ": " << rows[library];
  }
  EXPECT_FALSE(rows["system"].empty());
  EXPECT_FALSE(rows["cache on disk"].empty());
}

/// The flags of the first processor, as the system tells them: " fpu vme ... ".
std::string processor_flags() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("flags")) return line + " ";
  }
  return "";
}

/// An emulated processor is not the one that the system tells of: LENTO_TEST_ISA says what it has (scripts/test-isa).
TEST(Versions, TheInstructionSetIsTheProcessors) {
  const char* const emulated = std::getenv("LENTO_TEST_ISA");
  const bool wide = emulated != nullptr ? std::string(emulated) == "x86-64-v4 (AVX-512)"
                                        : processor_flags().find(" avx512vl ") != std::string::npos;
  EXPECT_EQ(about().instruction_set, wide ? "x86-64-v4 (AVX-512)" : "x86-64-v3 (AVX2)");
  EXPECT_EQ(cpu::has_wide_vectors(), wide);
}

TEST(Versions, RowsComeInOneOrderWithoutRepetition) {
  const auto rows = version_rows();
  EXPECT_EQ(rows.front().first, "lento");
  std::map<std::string, int> seen;
  for (const auto& [name, text] : rows) EXPECT_EQ(++seen[name], 1) << name;
}

}  // namespace
}  // namespace lento
