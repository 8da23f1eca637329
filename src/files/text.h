// Texts of files: whether they are UTF-8, and how they look in messages.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace lento::files {

/// The place of the first byte that is not part of a UTF-8 character; npos when all are.
std::size_t find_no_utf8(std::string_view text);
inline bool is_utf8(std::string_view text) { return find_no_utf8(text) == std::string_view::npos; }

/// Appends a code point that is no surrogate.
void append_utf8(std::string& text, char32_t code);

/// In quotes, as Python shows it: 'a\n'. What is no UTF-8 is shown by its bytes.
std::string in_quotes(std::string_view text);
/// A path as it stands in messages, without quotes.
std::string shown(const std::filesystem::path& path);

}  // namespace lento::files
