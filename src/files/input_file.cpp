#include "files/input_file.h"

#include "base/fail.h"
#include "base/interrupt.h"
#include "files/text.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lento::files {

Descriptor::~Descriptor() { (void)close(); }

bool Descriptor::close() {
  const int number = std::exchange(number_, -1);
  return number < 0 || ::close(number) == 0 || errno == EINTR;
}

void fail_with(const std::filesystem::path& path, int error) {
  fail<FileError>("{}: {}", shown(path), std::generic_category().message(error));
}

void Interruptions::look_after(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ < kBetween) return;
  bytes_ = 0;
  check_interrupt();
}

InputFile::InputFile(const std::filesystem::path& path)
    // Without blocking: a pipe that nobody writes to would never be opened.
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat about{};
  if (file_.get() < 0 || ::fstat(file_.get(), &about) != 0) fail_with(path, errno);
  if (S_ISDIR(about.st_mode)) fail_with(path, EISDIR);
  if (!S_ISREG(about.st_mode)) fail<FileError>("{}: is no regular file", shown(path));
  size_ = static_cast<std::uint64_t>(about.st_size);
}

bool InputFile::read(std::uint64_t offset, void* data, std::size_t bytes) const {
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    const std::size_t at_once = std::min(bytes, Interruptions::kBetween);
    const ssize_t count = ::pread(file_.get(), to, at_once, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) {
      check_interrupt();
      continue;
    }
    if (count < 0) fail_with(path_, errno);
    if (count == 0) return false;
    interruptions_.look_after(static_cast<std::size_t>(count));
    to += count;
    offset += static_cast<std::uint64_t>(count);
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace lento::files
