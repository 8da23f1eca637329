// show_versions: what a report of a bug should tell.
#include <lento/about.h>
#include <lento/threads.h>
#include <lento/version.h>

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
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

TEST(Versions, RowsComeInOneOrderWithoutRepetition) {
  const auto rows = version_rows();
  EXPECT_EQ(rows.front().first, "lento");
  std::map<std::string, int> seen;
  for (const auto& [name, text] : rows) EXPECT_EQ(++seen[name], 1) << name;
}

}  // namespace
}  // namespace lento
