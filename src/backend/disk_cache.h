// Compiled code that outlives the process: files in the user's cache folder, shared by any number of processes (clause
// E11). A backend keeps code under an identity, which is everything that decides the code: the kernel, the processor,
// the build of Lento. A file holds the identity it was kept under, and it is compared.
//
// Files may be gone, damaged, old or written by somebody else at any time; then there is no code, and never wrong code.
// What makes a file worth running is its owner: folder and files must belong to the user, and nobody else may write
// them. The checksum finds damage, no malice.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lento {

class DiskCache {
 public:
  using Bytes = std::span<const std::byte>;

  /// Keeps files in `folder`, which is made when it is needed; none when it is empty.
  DiskCache(std::string folder, std::size_t limit, bool enabled = true);
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  /// What was kept under this identity. Counts kernel.disk_hit, or kernel.disk_reject when there is a file that cannot
  /// be used.
  std::optional<std::vector<std::byte>> load(Bytes identity);
  /// Keeps the code, in place of whatever has its file name, and evicts what is over the limit. Does nothing when the
  /// folder cannot be used or written to; the user is told once. Counts kernel.disk_store.
  void store(Bytes identity, Bytes code);

  /// Removes every file of the cache, and none that is not its own.
  void clear();
  /// Where files are kept; empty while nothing can be.
  std::string folder() const;
  /// Of all files, those of other processes included.
  std::size_t bytes();

  /// While it is off nothing is read or written.
  bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
  /// What LENTO_DISK_CACHE says.
  bool enabled_at_start() const { return enabled_at_start_; }
  void set_enabled(bool on) { enabled_.store(on, std::memory_order_relaxed); }
  std::size_t limit() const { return limit_.load(std::memory_order_relaxed); }
  /// Evicts at once what is over it.
  void set_limit(std::size_t bytes);

  /// The name of the file that code with this identity is kept in.
  static std::string file_name(Bytes identity);

 private:
  struct Folder;  // an open folder
  using FolderRef = std::shared_ptr<const Folder>;

  /// The folder, opened and found safe; null when there is none. Made where it is missing if `make`.
  FolderRef open_folder(bool make);
  /// Reads the file and returns its code, or says why not.
  enum class Outcome : std::uint8_t { found, none, rejected };
  Outcome read(const Folder& folder, Bytes identity, std::vector<std::byte>& code);
  /// Writes a file under another name and renames it. Zero or an errno.
  static int write(const Folder& folder, const std::string& name, Bytes file);
  /// Removes leftovers, and what was used longest ago as long as all are over the limit.
  void tidy(const Folder& folder);
  /// Clears one of the flags below; tells the user why, the first time.
  void give_up(bool& flag, const std::string& reason);

  const std::string path_;
  const bool enabled_at_start_;
  std::atomic<bool> enabled_;
  std::atomic<std::size_t> limit_;

  // What follows needs the lock of disk_cache.cpp, which is never held while files are read or written.
  FolderRef open_;
  bool usable_ = true;
  bool writable_ = true;   // false after the first file that could not be written: a disk that is full, or read-only
  bool told_ = false;      // that one of them is false
  bool counted_ = false;   // whether `known_` means anything
  std::size_t known_ = 0;  // bytes of all files when they were last counted
  std::size_t own_bytes_ = 0;  // that this process stored since then
};

/// The process's cache, set up by LENTO_CACHE_DIR, LENTO_CACHE_LIMIT and LENTO_DISK_CACHE. Throws ValueError when one
/// of them makes no sense.
DiskCache& disk_cache();

}  // namespace lento
