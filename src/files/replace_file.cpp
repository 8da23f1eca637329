#include "files/replace_file.h"

#include "base/interrupt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <random>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lento::files {
namespace {

constexpr std::size_t kSmall = std::size_t{1} << 16;

/// The file that links lead to, which need not be there.
std::filesystem::path behind_links(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;  // as Linux has it
  std::error_code error;
  std::filesystem::path target = std::filesystem::absolute(path, error);
  if (error) fail_with(path, error.value());
  for (int links = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(target, error)); ++links) {
    if (links == kMostLinks) fail_with(path, ELOOP);
    const std::filesystem::path to = std::filesystem::read_symlink(target, error);
    if (error) fail_with(path, error.value());
    target = target.parent_path() / to;
  }
  return target;
}

bool is_there(const std::filesystem::path& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0;
}

/// A name of its own: one made of the target's could be too long.
std::string temporary_beside(const std::filesystem::path& target) {
  const std::string name = fmt::format(".lento-{}-{:08x}.tmp", ::getpid(), std::random_device{}());
  return (target.parent_path() / name).native();
}

}  // namespace

ReplacedFile::ReplacedFile(const std::filesystem::path& path)
    : path_(path),
      target_(behind_links(path)),
      temporary_(temporary_beside(target_)),
      // Nobody else may read what is to replace a private file, not even before it has its permissions.
      file_(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_there(target_) ? 0600 : 0666)) {
  if (file_.get() < 0) {
    const int error = errno;
    temporary_.clear();
    fail_with(path, error);
  }
  // There may be no old one, or a file system without permissions.
  struct stat old{};
  if (::stat(target_.c_str(), &old) == 0) (void)!::fchmod(file_.get(), old.st_mode & 07777);
}

ReplacedFile::~ReplacedFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void ReplacedFile::write(const void* data, std::size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  if (waiting_.size() + bytes <= kSmall) {
    waiting_.append(from, bytes);
    return;
  }
  write_through(waiting_.data(), waiting_.size());
  waiting_.clear();
  if (bytes <= kSmall) {
    waiting_.append(from, bytes);
  } else {
    write_through(from, bytes);
  }
}

void ReplacedFile::write_through(const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t count = ::write(file_.get(), data, std::min(bytes, Interruptions::kBetween));
    if (count < 0 && errno == EINTR) {
      check_interrupt();
      continue;
    }
    if (count < 0) fail_with(path_, errno);
    interruptions_.look_after(static_cast<std::size_t>(count));
    data += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

void ReplacedFile::commit() {
  write_through(waiting_.data(), waiting_.size());
  waiting_.clear();
  if (::fsync(file_.get()) != 0) fail_with(path_, errno);
  if (!file_.close()) fail_with(path_, errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with(path_, errno);
  temporary_.clear();
  // So that the new name is there after a crash of the machine too; not every file system can.
  const Descriptor folder(::open(target_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) (void)!::fsync(folder.get());
}

}  // namespace lento::files
