#include "files/zip.h"
#include "files/zip_format.h"

#include <zlib.h>

#include <algorithm>

namespace lento::files {
namespace {

// As Python's zipfile has them.
constexpr std::uint64_t kLimit = 0x7fffffff;  // from here on sizes and places are written with 64 bits
constexpr std::uint64_t kMostEntries = 0xffff;
constexpr std::uint16_t kVersion = 45;  // the first that knows 64 bits
constexpr std::uint16_t kUnix = 3 << 8;
constexpr std::uint16_t kFirstDay = 33;  // 1980-01-01: no archive depends on when it was written
constexpr std::uint32_t kPermissions = 0600U << 16;

/// Puts numbers together, little-endian.
class Bytes {
 public:
  template <class T>
  Bytes& add(T value) {
    for (std::size_t i = 0; i < sizeof value; ++i) text_ += static_cast<char>(std::uint64_t{value} >> 8 * i & 0xff);
    return *this;
  }
  Bytes& add(std::string_view text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::uint32_t in_32_bits(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, kIn64));
}

std::uint16_t flags_of(std::string_view name) {
  const bool ascii = std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return ascii ? 0 : kUtf8Flag;
}

}  // namespace

void ZipWriter::write(std::string_view bytes) {
  if (bytes.empty()) return;
  sink_(bytes.data(), bytes.size());
  written_ += bytes.size();
}

void ZipWriter::add(std::string_view name, std::span<const std::string_view> parts) {
  Entry entry{std::string(name), 0, 0, written_};
  uLong crc = ::crc32_z(0, nullptr, 0);
  for (const std::string_view part : parts) {
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
    entry.size += part.size();
  }
  entry.crc = static_cast<std::uint32_t>(crc);
  Bytes header;
  header.add(kLocalSignature).add(kVersion).add(flags_of(name)).add(kStored);
  header.add(std::uint16_t{0}).add(kFirstDay).add(entry.crc).add(kIn64).add(kIn64);
  header.add(static_cast<std::uint16_t>(name.size())).add(std::uint16_t{20}).add(name);
  header.add(kExtra64).add(std::uint16_t{16}).add(entry.size).add(entry.size);
  write(header.text());
  for (const std::string_view part : parts) write(part);
  entries_.push_back(std::move(entry));
}

void ZipWriter::finish() {
  const std::uint64_t begin = written_;
  for (const Entry& entry : entries_) {
    Bytes extra;
    const bool large = entry.size > kLimit;
    const bool far = entry.offset > kLimit;
    if (large) extra.add(entry.size).add(entry.size);
    if (far) extra.add(entry.offset);
    const std::size_t extra_size = extra.text().empty() ? 0 : 4 + extra.text().size();
    const std::uint32_t size = large ? kIn64 : static_cast<std::uint32_t>(entry.size);
    Bytes header;
    header.add(kCentralSignature).add(static_cast<std::uint16_t>(kUnix | kVersion)).add(kVersion);
    header.add(flags_of(entry.name)).add(kStored).add(std::uint16_t{0}).add(kFirstDay).add(entry.crc);
    header.add(size).add(size).add(static_cast<std::uint16_t>(entry.name.size()));
    header.add(static_cast<std::uint16_t>(extra_size)).add(std::uint16_t{0}).add(std::uint16_t{0});
    header.add(std::uint16_t{0}).add(kPermissions).add(far ? kIn64 : static_cast<std::uint32_t>(entry.offset));
    header.add(std::string_view(entry.name));
    if (extra_size > 0)
      header.add(kExtra64).add(static_cast<std::uint16_t>(extra_size - 4)).add(std::string_view(extra.text()));
    write(header.text());
  }
  const std::uint64_t end = written_;
  const std::uint64_t count = entries_.size();
  Bytes last;
  if (count > kMostEntries || begin > kLimit || end - begin > kLimit) {
    last.add(kEnd64Signature).add(std::uint64_t{44}).add(kVersion).add(kVersion).add(std::uint32_t{0});
    last.add(std::uint32_t{0}).add(count).add(count).add(end - begin).add(begin);
    last.add(kLocator64Signature).add(std::uint32_t{0}).add(end).add(std::uint32_t{1});
  }
  const auto shown_count = static_cast<std::uint16_t>(std::min(count, kMostEntries));
  last.add(kEndSignature).add(std::uint16_t{0}).add(std::uint16_t{0}).add(shown_count).add(shown_count);
  last.add(in_32_bits(end - begin)).add(in_32_bits(begin)).add(std::uint16_t{0});
  write(last.text());
}

}  // namespace lento::files
