// save and load: which format, and which file an error is about.
#include "files/files.h"

#include "base/fail.h"
#include "base/source.h"
#include "files/input_file.h"
#include "files/malformed.h"
#include "files/npy.h"
#include "files/npz.h"
#include "files/replace_file.h"
#include "files/safetensors.h"
#include "files/text.h"

#include <lento/eval.h>

#include <algorithm>
#include <new>

namespace lento {

namespace files {
namespace {

enum class Format : std::uint8_t { safetensors, npz, npy };

Format format_of(const std::filesystem::path& path) {
  if (path.native().find('\0') != std::string::npos) fail<ValueError>("the path {} has a character 0", shown(path));
  const std::filesystem::path end = path.extension();
  if (end == ".safetensors") return Format::safetensors;
  if (end == ".npz") return Format::npz;
  if (end == ".npy") return Format::npy;
  fail<ValueError>("the path must end with .safetensors, .npz or .npy, not {}", in_quotes(path.native()));
}

/// `read(file)`; what it finds malformed is a FileError about this path.
template <class Read>
auto reading(const std::filesystem::path& path, const Read& read) {
  const InputFile file(path);
  try {
    return read(file);
  } catch (const Malformed& error) {
    fail<FileError>("{}: {}", shown(path), error.what());
  }
}

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const InputFile& file) : file_(file) {}

  void read(void* data, std::size_t bytes) override {
    if (!file_.read(offset_, data, bytes)) malformed("the file ended too early");
    offset_ += bytes;
  }
  // More may follow: NumPy writes several arrays into one file if it is asked to, and reads the first.
  void expect(std::uint64_t bytes) override {
    const std::uint64_t left = file_.size() - std::min(offset_, file_.size());
    if (bytes > left) malformed("the elements need {} bytes, but {} are there", bytes, left);
  }

 private:
  const InputFile& file_;
  std::uint64_t offset_ = 0;
};

template <class Write>
void replace(const std::filesystem::path& path, const Write& write) {
  ReplacedFile file(path);
  write([&file](const void* data, std::size_t bytes) { file.write(data, bytes); });
  file.commit();
}

void eval_all(const TensorDict& tensors) {
  std::vector<Tensor> values;
  values.reserve(tensors.size());
  for (const auto& [name, x] : tensors) values.push_back(x);
  eval(values);
}

void write_npy(const Sink& sink, const Tensor& x) {
  const std::string header = npy_header(x);
  const std::string_view elements = elements_of(x);
  sink(header.data(), header.size());
  sink(elements.data(), elements.size());
}

void require_names(const Named& found, const std::filesystem::path& path, std::string_view prefix) {
  if (prefix.empty() || !found.tensors.empty()) return;
  constexpr std::size_t kShown = 5;
  std::string some;
  for (std::size_t i = 0; i < std::min(kShown, found.names.size()); ++i)
    some += (i == 0 ? "" : ", ") + in_quotes(found.names[i]);
  if (found.names.size() > kShown) some += ", …";
  fail<ValueError>("{}: no name begins with {}; there are {}", shown(path), in_quotes(prefix),
                   some.empty() ? "none" : some);
}

}  // namespace

void save_dict(const std::filesystem::path& path, const TensorDict& tensors, const Metadata* metadata,
               std::source_location site) {
  const CallScope scope("save", site);
  const Format format = format_of(path);
  if (format == Format::npy)
    fail<ValueError>("a .npy file holds one tensor; use .npz or .safetensors for tensors by name");
  if (format == Format::safetensors) {
    save_safetensors(path, tensors, metadata);
    return;
  }
  if (metadata != nullptr && !metadata->empty()) fail<ValueError>("only .safetensors files hold metadata");
  check_npz(tensors);
  eval_all(tensors);
  replace(path, [&](const Sink& sink) { write_npz(sink, tensors); });
}

void write_npy_to(const Sink& sink, const Tensor& x, std::source_location site) {
  const CallScope scope("save", site);
  write_npy(sink, x);
}

void write_npz_to(const Sink& sink, const TensorDict& tensors, std::source_location site) {
  const CallScope scope("save", site);
  check_npz(tensors);
  eval_all(tensors);
  write_npz(sink, tensors);
}

}  // namespace files

Metadata::Metadata(std::initializer_list<value_type> entries) {
  for (const auto& [name, text] : entries) insert_or_assign(name, text);
}

Metadata::Metadata(const std::vector<value_type>& entries) {
  for (const auto& [name, text] : entries) insert_or_assign(name, text);
}

const std::string* Metadata::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &value_type::first);
  return found == entries_.end() ? nullptr : &found->second;
}

const std::string& Metadata::at(std::string_view name, std::source_location site) const {
  if (const std::string* found = find(name)) return *found;
  const CallScope scope("at", site);
  fail<ValueError>("the metadata has no text {}", files::in_quotes(name));
}

void Metadata::insert_or_assign(std::string_view name, std::string text) {
  const auto found = std::ranges::find(entries_, name, &value_type::first);
  if (found == entries_.end()) {
    entries_.emplace_back(name, std::move(text));
  } else {
    found->second = std::move(text);
  }
}

void save(const std::filesystem::path& path, const TensorDict& tensors, const Metadata& metadata,
          std::source_location site) {
  files::save_dict(path, tensors, metadata.empty() ? nullptr : &metadata, site);
}

void save(const std::filesystem::path& path, const Tensor& tensor, std::source_location site) {
  const CallScope scope("save", site);
  if (files::format_of(path) != files::Format::npy)
    fail<ValueError>("{} holds tensors by name; one alone is for a .npy file", files::shown(path));
  files::npy_header(tensor);  // what cannot be written is refused before a file is touched
  eval(tensor);
  files::replace(path, [&](const files::Sink& sink) { files::write_npy(sink, tensor); });
}

void detail::GatherState::buffer(Tensor& x) { leaves.emplace_back(path_, x); }

TensorDict detail::GatherState::state(const std::source_location& site) const {
  TensorDict named;
  for (const auto& [name, tensor] : leaves) {
    if (named.contains(name)) {
      const CallScope scope("save", site);
      fail<ValueError>("two tensors would be named '{}'", name);
    }
    named.insert_or_assign(name, tensor);
  }
  return named;
}

TensorDict load(const std::filesystem::path& path, std::string_view prefix, std::source_location site) {
  const CallScope scope("load", site);
  const files::Format format = files::format_of(path);
  if (format == files::Format::npy)
    fail<ValueError>("{} has one tensor without a name; read it with load_tensor()", files::shown(path));
  files::Named found = files::reading(path, [&](const files::InputFile& file) {
    return format == files::Format::npz ? files::load_npz(file, prefix) : files::load_safetensors(file, prefix);
  });
  files::require_names(found, path, prefix);
  return std::move(found.tensors);
}

Tensor load_tensor(const std::filesystem::path& path, std::source_location site) {
  const CallScope scope("load_tensor", site);
  if (files::format_of(path) != files::Format::npy)
    fail<ValueError>("{} has tensors by name; read it with load()", files::shown(path));
  return files::reading(path, [](const files::InputFile& file) {
    files::FileSource source(file);
    return files::read_npy(source);
  });
}

Metadata load_metadata(const std::filesystem::path& path, std::source_location site) {
  const CallScope scope("load_metadata", site);
  if (path.extension() != ".safetensors" || files::format_of(path) != files::Format::safetensors)
    fail<ValueError>("only .safetensors files hold metadata, not {}", files::in_quotes(path.native()));
  return files::reading(path, files::load_safetensors_metadata);
}

}  // namespace lento
