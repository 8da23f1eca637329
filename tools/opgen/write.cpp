#include "write.h"

#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace lento::opgen {

namespace {

namespace fs = std::filesystem;

/// What the last run wrote, so that stale files can be told from files that are none of opgen's business.
constexpr const char* kManifest = ".opgen-files";

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream buffer;
  buffer << stream.rdbuf();
  return buffer.str();
}

std::set<std::string> read_manifest(const fs::path& folder) {
  std::set<std::string> names;
  std::istringstream lines(read(folder / kManifest));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) names.insert(line);
  }
  return names;
}

std::string escaped(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == ' ' || c == '#') out += '\\';
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

}  // namespace

bool write_if_changed(const fs::path& path, const std::string& contents, bool dry_run) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored) && fs::file_size(path, ignored) == contents.size() && read(path) == contents)
    return false;
  if (dry_run) return true;
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  // Beside it first, so that an interrupted run leaves no half-written file.
  const fs::path temporary = path.string() + ".new";
  {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    stream << contents;
    stream.flush();
    if (!stream) throw std::runtime_error(fmt::format("cannot write {}", temporary.string()));
  }
  fs::rename(temporary, path);
  return true;
}

WriteReport write_tree(const fs::path& folder, const Files& files, bool dry_run) {
  WriteReport report;
  std::set<std::string> stale = read_manifest(folder);
  // Files that follow the naming rule are opgen's even when the manifest is lost.
  std::error_code ignored;
  for (fs::recursive_directory_iterator item(folder, ignored), end; !ignored && item != end; item.increment(ignored)) {
    const std::string name = item->path().filename().string();
    if (item->is_regular_file() && name.find(".gen.") != std::string::npos) {
      stale.insert(item->path().lexically_relative(folder).generic_string());
    }
  }
  std::string manifest;
  for (const auto& [name, contents] : files) {
    stale.erase(name);
    manifest += name + '\n';
    if (write_if_changed(folder / name, contents, dry_run)) {
      report.written.push_back(name);
    } else {
      ++report.unchanged;
    }
  }
  for (const std::string& name : stale) {
    const fs::path path = folder / name;
    if (!fs::exists(path, ignored)) continue;
    report.removed.push_back(name);
    if (dry_run) continue;
    fs::remove(path);
    if (fs::is_empty(path.parent_path(), ignored) && path.parent_path() != folder)
      fs::remove(path.parent_path(), ignored);
  }
  write_if_changed(folder / kManifest, manifest, dry_run);
  return report;
}

std::string depfile(const fs::path& folder, const Files& files, const std::vector<std::string>& inputs) {
  std::string out;
  for (const auto& [name, contents] : files) out += escaped((folder / name).string()) + " \\\n";
  out += ":";
  for (const std::string& input : inputs) out += " \\\n  " + escaped(input);
  return out + "\n";
}

}  // namespace lento::opgen
