// Zip archives, as far as .npz files need them: written uncompressed, read uncompressed or deflated.
#pragma once

#include "files/byte_source.h"
#include "files/input_file.h"
#include "files/replace_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lento::files {

/// Writes an archive from its begin to its end, as Python's zipfile does: the same bytes.
class ZipWriter {
 public:
  static constexpr std::size_t kLongestName = 65535;

  explicit ZipWriter(const Sink& sink) : sink_(sink) {}

  /// Adds an entry of these parts, one after the other. The name is UTF-8 without a character 0, of at most
  /// kLongestName bytes.
  void add(std::string_view name, std::span<const std::string_view> parts);
  /// Writes the list of the entries. Nothing can be added any more.
  void finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t crc;
    std::uint64_t size;
    std::uint64_t offset;
  };
  void write(std::string_view bytes);

  const Sink& sink_;
  std::vector<Entry> entries_;
  std::uint64_t written_ = 0;
};

/// An entry of an archive that is read.
struct ZipEntry {
  std::string name;
  std::string raw_name;  // the bytes in the file
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t compressed = 0;  // bytes in the file
  std::uint64_t size = 0;        // bytes of the content
  std::uint64_t offset = 0;      // of its own header in the file
};

/// The entries, in the order of the archive's list. No two share bytes. Throws Malformed.
std::vector<ZipEntry> list_zip(const InputFile& file);

/// The content of an entry. ByteSource::expect() takes no less and no more than what is left of it, and when that was
/// read the checksum is right. Throws Malformed.
std::unique_ptr<ByteSource> open_zip_entry(const InputFile& file, const ZipEntry& entry);

}  // namespace lento::files
