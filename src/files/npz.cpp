#include "files/npz.h"

#include "base/fail.h"
#include "files/malformed.h"
#include "files/npy.h"
#include "files/text.h"
#include "files/zip.h"

#include <string>
#include <unordered_set>

namespace lento::files {
namespace {

constexpr std::string_view kEnd = ".npy";

}  // namespace

void check_npz(const TensorDict& tensors) {
  for (const auto& [name, x] : tensors) {
    if (!is_utf8(name)) fail<ValueError>("a name is no valid text: {}", in_quotes(name));
    if (name.find('\0') != std::string::npos)
      fail<ValueError>("{} has a character 0, which no name in a .npz file may have", in_quotes(name));
    if (name.size() + kEnd.size() > ZipWriter::kLongestName)
      fail<ValueError>("a name of {} bytes is too long for a .npz file", name.size());
    npy_header(x, name);
  }
}

void write_npz(const Sink& sink, const TensorDict& tensors) {
  ZipWriter archive(sink);
  for (const auto& [name, x] : tensors) {
    const std::string header = npy_header(x, name);
    const std::string_view parts[] = {header, elements_of(x)};
    archive.add(name + std::string(kEnd), parts);
  }
  archive.finish();
}

Named load_npz(const InputFile& file, std::string_view prefix) {
  Named found;
  std::unordered_set<std::string_view> seen;
  const std::vector<ZipEntry> entries = list_zip(file);
  for (const ZipEntry& entry : entries) {
    if (!entry.name.ends_with(kEnd)) malformed("{} is no {} file", in_quotes(entry.name), kEnd);
    const std::string_view name = std::string_view(entry.name).substr(0, entry.name.size() - kEnd.size());
    if (!seen.insert(name).second) malformed("{} is there twice", in_quotes(name));
    found.names.emplace_back(name);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string_view name = found.names[i];
    if (!name.starts_with(prefix)) continue;
    try {
      found.tensors.insert_or_assign(name.substr(prefix.size()), read_npy(*open_zip_entry(file, entries[i])));
    } catch (const Malformed& error) {
      malformed("{}: {}", in_quotes(name), error.what());
    }
  }
  return found;
}

}  // namespace lento::files
