// A new file that takes the place of an old one when it is complete.
#pragma once

#include "files/input_file.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

namespace lento::files {

/// Takes the next bytes of a file that is written.
using Sink = std::function<void(const void* data, std::size_t bytes)>;

/// Written beside the old file and with its permissions. Of a symbolic link, the file it points to is replaced. Until
/// commit() nobody sees the new file, and without it nothing of it stays. Everything throws FileError.
class ReplacedFile {
 public:
  explicit ReplacedFile(const std::filesystem::path& path);
  ~ReplacedFile();
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;

  void write(const void* data, std::size_t bytes);
  /// The new file is on the disk, and then in the place of the old one.
  void commit();

 private:
  void write_through(const char* data, std::size_t bytes);

  const std::filesystem::path& path_;  // as the user named it, for messages
  std::filesystem::path target_;       // what is replaced
  std::filesystem::path temporary_;    // empty once it has replaced the target
  Descriptor file_;
  Interruptions interruptions_;
  std::string waiting_;  // small pieces that are written together
};

}  // namespace lento::files
