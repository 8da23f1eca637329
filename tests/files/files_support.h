// Files that tests write and look at.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lento::test {

/// An empty folder, removed with what is in it when the test ends.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  std::size_t count() const;

 private:
  std::filesystem::path path_;
};

std::string content_of(const std::filesystem::path& path);
void write(const std::filesystem::path& path, std::string_view content);

}  // namespace lento::test
