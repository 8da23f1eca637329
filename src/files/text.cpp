#include "files/text.h"

#include <fmt/format.h>

#include <cstdint>

namespace lento::files {
namespace {

/// The bytes of the UTF-8 character that begins here; 0 when none does. Neither surrogates nor longer forms than needed
/// are characters.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool too_large = first == 0xf4 && second >= 0x90;
  return too_long || surrogate || too_large ? 0 : length;
}

void append_escaped(std::string& out, std::string_view text, std::string_view also) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0 || (length == 1 && (byte < 0x20 || byte == 0x7f))) {
      const std::string_view name = byte == '\n' ? "\\n" : byte == '\r' ? "\\r" : byte == '\t' ? "\\t" : "";
      out += name.empty() ? fmt::format("\\x{:02x}", byte) : std::string(name);
      ++at;
      continue;
    }
    if (also.find(text[at]) != also.npos) out += '\\';
    out += text.substr(at, length);
    at += length;
  }
}

}  // namespace

std::size_t find_no_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

void append_utf8(std::string& text, char32_t code) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  }
}

std::string in_quotes(std::string_view text) {
  const bool doubly = text.find('\'') != text.npos && text.find('"') == text.npos;
  std::string out(1, doubly ? '"' : '\'');
  append_escaped(out, text, doubly ? "\\" : "\\'");
  out += out[0];
  return out;
}

std::string shown(const std::filesystem::path& path) {
  std::string out;
  append_escaped(out, path.native(), "");
  return out;
}

}  // namespace lento::files
