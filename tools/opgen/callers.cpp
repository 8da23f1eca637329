#include "callers.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "cpp.h"

namespace lento::opgen {

namespace {

namespace fs = std::filesystem;

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The position behind a comment or literal that starts at `at`, or `at` where none does.
std::size_t skip_comment_or_literal(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  const auto behind = [&](std::size_t found, std::size_t length) {
    return found == std::string_view::npos ? text.size() : found + length;
  };
  if (rest.starts_with("//")) return behind(text.find('\n', at), 1);
  if (rest.starts_with("/*")) return behind(text.find("*/", at + 2), 2);
  if (rest.starts_with("R\"")) {
    const std::size_t open = text.find('(', at);
    if (open == std::string_view::npos) return text.size();
    const std::string close = ")" + std::string(text.substr(at + 2, open - at - 2)) + "\"";
    return behind(text.find(close, open), close.size());
  }
  const char quote = text[at];
  // A quote between digits separates them: 100'000.
  if (quote != '"' && (quote != '\'' || (at > 0 && in_name(text[at - 1])))) return at;
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return text.size();
}

std::set<std::string, std::less<>> names_in(std::string_view text) {
  std::set<std::string, std::less<>> names;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t behind = skip_comment_or_literal(text, i); behind != i) {
      i = behind;
    } else if (in_name(text[i])) {
      const std::size_t begin = i;
      while (i < text.size() && in_name(text[i])) ++i;
      names.emplace(text.substr(begin, i - begin));
    } else {
      ++i;
    }
  }
  return names;
}

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream buffer;
  buffer << stream.rdbuf();
  if (!stream) throw std::runtime_error(fmt::format("cannot read {}", path.string()));
  return buffer.str();
}

std::string calls_header(const std::string& stem, const std::vector<const Entry*>& ops) {
  Writer w;
  w.add(file_header(fmt::format("The ops that {} names: their functions, and the bodies of composites.", stem)));
  w.add("#pragma once");
  w.line();
  w.add("#include <lento/op_types.h>");
  for (const std::string& include : op_includes(ops)) w.add(include);
  w.line();
  w.add("namespace lento::composite {");
  w.line();
  for (const Entry* entry : ops) {
    if (!entry->primitive()) declare_composite(w, *entry);
  }
  w.line();
  w.add("}  // namespace lento::composite");
  return w.text();
}

}  // namespace

std::vector<const Entry*> ops_named_in(std::string_view text, const Catalogue& catalogue) {
  const auto names = names_in(text);
  std::vector<const Entry*> named;
  for (const Entry& entry : catalogue.entries) {
    const bool alias = std::ranges::any_of(entry.aliases, [&](const Text& each) { return names.contains(each.value); });
    if (alias || names.contains(entry.name)) named.push_back(&entry);
  }
  return named;
}

std::vector<std::string> op_includes(const std::vector<const Entry*>& ops) {
  std::vector<std::string> includes =
      mapped(ops, [](const Entry* op) { return fmt::format("#include <{}>", op->header()); });
  std::ranges::sort(includes);
  return includes;
}

void emit_calls(const Catalogue& catalogue, const std::vector<CallerFolder>& folders, Files& files) {
  for (const CallerFolder& callers : folders) {
    std::map<std::string, std::string> texts;  // of X.h and X.cpp together, by "<prefix>/X"
    for (const auto& item : fs::directory_iterator(callers.folder)) {
      const std::string extension = item.path().extension().string();
      if (extension != ".h" && extension != ".cpp") continue;
      texts[callers.prefix + "/" + item.path().stem().string()] += read(item.path());
    }
    for (const auto& [stem, text] : texts) {
      // Only files that include their header get one; the others call no op.
      if (text.find("\"" + stem + ".calls.gen.h\"") == std::string::npos) continue;
      files[stem + ".calls.gen.h"] = calls_header(stem, ops_named_in(text, catalogue));
    }
  }
}

}  // namespace lento::opgen
