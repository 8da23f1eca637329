// A file that is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>

namespace lento::files {

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int get() const { return number_; }
  /// False with errno set when the system could not close it properly.
  bool close();

 private:
  int number_;
};

/// Looks now and then whether the user wants to stop. Not for every piece: looking may wait for other threads of
/// Python.
class Interruptions {
 public:
  static constexpr std::size_t kBetween = std::size_t{1} << 26;  // bytes
  /// Throws what base/interrupt.h says.
  void look_after(std::size_t bytes);

 private:
  std::size_t bytes_ = 0;
};

/// Throws FileError: the path, and what the system says of it.
[[noreturn]] void fail_with(const std::filesystem::path& path, int error);

/// Not mapped into memory: who shortens a mapped file ends this process.
class InputFile {
 public:
  /// Throws FileError when there is no such file or it cannot be opened.
  explicit InputFile(const std::filesystem::path& path);

  /// When it was opened.
  std::uint64_t size() const { return size_; }
  /// Reads all bytes asked for; false when the file ends before. Throws FileError.
  [[nodiscard]] bool read(std::uint64_t offset, void* data, std::size_t bytes) const;

 private:
  const std::filesystem::path& path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
  mutable Interruptions interruptions_;
};

}  // namespace lento::files
