#include "files/malformed.h"
#include "files/text.h"
#include "files/zip.h"
#include "files/zip_format.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

namespace lento::files {
namespace {

constexpr std::size_t kLocalSize = 30;
constexpr std::size_t kCentralSize = 46;
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kEnd64Size = 56;
constexpr std::size_t kLocator64Size = 20;
constexpr std::uint16_t kEncrypted = 0x1 | 0x40;
constexpr std::uint16_t kPatched = 0x20;
// What deflated data can grow by at most: 258 bytes for two bits.
constexpr std::uint64_t kMostGrowth = 1032;

/// Numbers of a piece of the file, little-endian. Whoever asks knows that they are there.
template <class T>
T number(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << 8 * i;
  return static_cast<T>(value);
}

std::string piece(const InputFile& file, std::uint64_t offset, std::uint64_t bytes) {
  std::string found(bytes, '\0');
  if (!file.read(offset, found.data(), found.size())) malformed("the file ended inside the archive");
  return found;
}

/// What the end of the archive says of the list of entries.
struct End {
  std::uint64_t count;
  std::uint64_t offset;  // of the list in the file
  std::uint64_t size;
  std::uint64_t before;  // bytes in front of the archive, which its offsets do not count
};

End find_end(const InputFile& file) {
  constexpr std::uint64_t kLongestComment = 0xffff;
  const std::uint64_t tail_size = std::min(file.size(), kEndSize + kLongestComment);
  const std::string tail = piece(file, file.size() - tail_size, tail_size);
  const std::size_t at = tail.rfind("PK\5\6");
  if (at == tail.npos || tail.size() - at < kEndSize) malformed("it is no zip archive, or its end is missing");
  std::uint64_t position = file.size() - tail_size + at;
  End end{number<std::uint16_t>(tail, at + 10), number<std::uint32_t>(tail, at + 16),
          number<std::uint32_t>(tail, at + 12), 0};
  if (position >= kLocator64Size + kEnd64Size) {
    const std::string both = piece(file, position - kLocator64Size - kEnd64Size, kLocator64Size + kEnd64Size);
    if (number<std::uint32_t>(both, kEnd64Size) == kLocator64Signature) {
      if (number<std::uint32_t>(both, 0) != kEnd64Signature) malformed("the end of the archive is malformed");
      end = {number<std::uint64_t>(both, 32), number<std::uint64_t>(both, 48), number<std::uint64_t>(both, 40), 0};
      position -= both.size();
    }
  }
  if (end.size > position || end.offset > position - end.size) malformed("the archive's list goes beyond its end");
  end.before = position - end.size - end.offset;
  end.offset += end.before;
  return end;
}

/// Names without the mark of UTF-8 are in the character set of the first PCs.
std::string from_code_page_437(std::string_view name) {
  static constexpr std::u16string_view kUpper =
      u"ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧"
      u"╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";
  static_assert(kUpper.size() == 128);
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    append_utf8(text, byte < 0x80 ? byte : kUpper[byte - 0x80]);
  }
  return text;
}

/// Takes numbers that did not fit from the extra field.
void read_extra(std::string_view extra, ZipEntry& entry) {
  while (extra.size() >= 4) {
    const auto kind = number<std::uint16_t>(extra, 0);
    const std::size_t size = number<std::uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (size > extra.size()) malformed("{} has a malformed extra field", in_quotes(entry.name));
    std::string_view field = extra.substr(0, size);
    extra.remove_prefix(size);
    if (kind != kExtra64) continue;
    for (std::uint64_t* value : {&entry.size, &entry.compressed, &entry.offset}) {
      if (*value != kIn64) continue;
      if (field.size() < 8) malformed("{} has a malformed extra field", in_quotes(entry.name));
      *value = number<std::uint64_t>(field, 0);
      field.remove_prefix(8);
    }
    return;
  }
}

/// The bytes of an entry with its header, at least: that may have an extra field, and the content a description behind.
std::uint64_t least_size(const ZipEntry& entry) { return kLocalSize + entry.raw_name.size() + entry.compressed; }

/// Two entries that share bytes would make a small archive a large one.
void check_places(const std::vector<ZipEntry>& entries, std::uint64_t end) {
  std::vector<const ZipEntry*> ordered;
  ordered.reserve(entries.size());
  for (const ZipEntry& entry : entries) ordered.push_back(&entry);
  std::ranges::sort(ordered, {}, &ZipEntry::offset);
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const ZipEntry& entry = *ordered[i];
    const bool last = i + 1 == ordered.size();
    const std::uint64_t next = last ? end : ordered[i + 1]->offset;
    if (entry.offset > next || entry.compressed > next || least_size(entry) > next - entry.offset) {
      malformed("{} overlaps {}", in_quotes(entry.name), last ? "the archive's list" : in_quotes(ordered[i + 1]->name));
    }
  }
}

/// An entry's content: as it lies there, or inflated.
class EntrySource final : public ByteSource {
 public:
  EntrySource(const InputFile& file, const ZipEntry& entry, std::uint64_t begin)
      : file_(file), entry_(entry), offset_(begin), packed_left_(entry.compressed), left_(entry.size) {
    if (entry.method != kDeflated) return;
    if (::inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    inflating_ = true;
  }
  ~EntrySource() override {
    if (inflating_) ::inflateEnd(&stream_);
  }

  void read(void* data, std::size_t bytes) override {
    if (bytes > left_) malformed("it ends too early");
    if (inflating_) {
      inflate(static_cast<Bytef*>(data), bytes);
    } else {
      if (!file_.read(offset_, data, bytes)) malformed("the file ended inside it");
      offset_ += bytes;
    }
    left_ -= bytes;
    crc_ = ::crc32_z(crc_, static_cast<const Bytef*>(data), bytes);
    if (left_ == 0 && crc_ != entry_.crc) malformed("its checksum is wrong");
  }

  void expect(std::uint64_t bytes) override {
    if (bytes != left_) malformed("the elements need {} bytes, but {} are there", bytes, left_);
  }

 private:
  void inflate(Bytef* to, std::size_t bytes) {
    while (bytes > 0) {
      if (stream_.avail_in == 0 && packed_left_ > 0) refill();
      stream_.next_out = to;
      stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      const auto made = static_cast<std::size_t>(stream_.next_out - to);
      to += made;
      bytes -= made;
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      if (result == Z_BUF_ERROR) malformed("its compressed data ends too early");
      if ((result != Z_OK && result != Z_STREAM_END) || (result == Z_STREAM_END && bytes > 0))
        malformed("its compressed data is malformed");
    }
  }

  void refill() {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(packed_.size(), packed_left_));
    if (!file_.read(offset_, packed_.data(), size)) malformed("the file ended inside it");
    offset_ += size;
    packed_left_ -= size;
    stream_.next_in = packed_.data();
    stream_.avail_in = static_cast<uInt>(size);
  }

  const InputFile& file_;
  const ZipEntry& entry_;
  std::uint64_t offset_;       // of what comes next in the file
  std::uint64_t packed_left_;  // bytes of the file not read yet
  std::uint64_t left_;         // bytes of the content not read yet
  uLong crc_ = ::crc32_z(0, nullptr, 0);
  bool inflating_ = false;
  z_stream stream_{};
  std::array<Bytef, std::size_t{1} << 16> packed_;
};

}  // namespace

std::vector<ZipEntry> list_zip(const InputFile& file) {
  const End end = find_end(file);
  const std::string list = piece(file, end.offset, end.size);
  std::vector<ZipEntry> entries;
  for (std::string_view rest = list; !rest.empty();) {
    if (rest.size() < kCentralSize || number<std::uint32_t>(rest, 0) != kCentralSignature)
      malformed("the archive's list is malformed");
    const std::size_t name_size = number<std::uint16_t>(rest, 28);
    const std::size_t extra_size = number<std::uint16_t>(rest, 30);
    const std::size_t size = kCentralSize + name_size + extra_size + number<std::uint16_t>(rest, 32);
    if (size > rest.size()) malformed("the archive's list is malformed");
    ZipEntry entry;
    entry.raw_name = rest.substr(kCentralSize, name_size);
    entry.flags = number<std::uint16_t>(rest, 8);
    entry.method = number<std::uint16_t>(rest, 10);
    entry.crc = number<std::uint32_t>(rest, 16);
    entry.compressed = number<std::uint32_t>(rest, 20);
    entry.size = number<std::uint32_t>(rest, 24);
    entry.offset = number<std::uint32_t>(rest, 42);
    const bool utf8 = (entry.flags & kUtf8Flag) != 0;
    entry.name = utf8 ? entry.raw_name : from_code_page_437(entry.raw_name);
    if (!is_utf8(entry.name)) malformed("the name {} is no UTF-8", in_quotes(entry.name));
    if (entry.name.find('\0') != std::string::npos) malformed("the name {} has a character 0", in_quotes(entry.name));
    read_extra(rest.substr(kCentralSize + name_size, extra_size), entry);
    if (entry.offset > file.size()) malformed("{} is beyond the end of the file", in_quotes(entry.name));
    entry.offset += end.before;
    entries.push_back(std::move(entry));
    rest.remove_prefix(size);
  }
  if (entries.size() != end.count)
    malformed("the archive should have {} entries, but {} are there", end.count, entries.size());
  check_places(entries, end.offset);
  return entries;
}

std::unique_ptr<ByteSource> open_zip_entry(const InputFile& file, const ZipEntry& entry) {
  if ((entry.flags & kEncrypted) != 0) malformed("it is encrypted");
  if ((entry.flags & kPatched) != 0) malformed("it is a patch of another file");
  if (entry.method != kStored && entry.method != kDeflated)
    malformed("it is compressed by the unknown method {}", entry.method);
  const std::string header = piece(file, entry.offset, kLocalSize);
  const std::size_t name_size = number<std::uint16_t>(header, 26);
  if (number<std::uint32_t>(header, 0) != kLocalSignature ||
      piece(file, entry.offset + kLocalSize, name_size) != entry.raw_name) {
    malformed("the archive's list names it, but it is not there");
  }
  const std::uint64_t begin = entry.offset + kLocalSize + name_size + number<std::uint16_t>(header, 28);
  if (begin > file.size() || entry.compressed > file.size() - begin) malformed("the file ended inside it");
  const bool fits =
      entry.method == kStored ? entry.size == entry.compressed : entry.size / kMostGrowth <= entry.compressed;
  if (!fits) malformed("{} bytes cannot be made of {}", entry.size, entry.compressed);
  return std::make_unique<EntrySource>(file, entry, begin);
}

}  // namespace lento::files
