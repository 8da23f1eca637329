// Files that tests write and look at.
#pragma once

#include "temporary_folder.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace lento::test {

/// An empty folder, removed with what is in it when the test ends.
class Folder {
 public:
  std::filesystem::path operator/(std::string_view name) const { return folder_.path() / name; }
  std::size_t count() const;

 private:
  testing::TemporaryFolder folder_;
};

std::string content_of(const std::filesystem::path& path);
void write(const std::filesystem::path& path, std::string_view content);

}  // namespace lento::test
