#include "files/files_support.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace lento::test {

std::size_t Folder::count() const {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::remove(path);  // file systems write a file that is shortened to the disk at once
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path.native());
}

}  // namespace lento::test
