#include "files/safetensors.h"

#include "base/fail.h"
#include "files/json.h"
#include "files/malformed.h"
#include "files/replace_file.h"
#include "files/text.h"
#include "ir/shape_limit.h"

#include <lento/eval.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

namespace lento::files {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written and read as they lie in memory");

constexpr std::string_view kMetadata = "__metadata__";
// What other readers accept; a file that claims more is not worth the memory.
constexpr std::uint64_t kLongestHeader = 100'000'000;
// Far more than dtype, shape and offsets of any tensor need.
constexpr std::size_t kLongestEntry = 4096;

constexpr std::pair<DType, std::string_view> kNames[] = {
    {DType::bool_, "BOOL"},  {DType::uint8, "U8"},      {DType::int8, "I8"},       {DType::uint16, "U16"},
    {DType::int16, "I16"},   {DType::float16, "F16"},   {DType::bfloat16, "BF16"}, {DType::uint32, "U32"},
    {DType::int32, "I32"},   {DType::float32, "F32"},   {DType::uint64, "U64"},    {DType::int64, "I64"},
    {DType::float64, "F64"}, {DType::complex64, "C64"},
};

std::string_view name_in_file(DType dtype) {
  const auto* found = std::ranges::find(kNames, dtype, &std::pair<DType, std::string_view>::first);
  return found == std::end(kNames) ? "" : found->second;
}

std::optional<DType> dtype_in_file(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name, &std::pair<DType, std::string_view>::second);
  return found == std::end(kNames) ? std::nullopt : std::optional(found->first);
}

// --- writing ---

void append_text(std::string& header, std::string_view text) {
  if (!is_utf8(text)) fail<ValueError>("a name or metadata is no valid text: {}", in_quotes(text));
  append_json(header, text);
}

/// Length and header. The tensors lie in the order in which they are given here.
std::string header_of(const std::vector<const TensorDict::value_type*>& tensors, const Metadata* metadata) {
  std::string text = "{";
  const auto next = [&text](std::string_view name) {
    if (text.back() != '{') text += ',';
    append_text(text, name);
    text += ':';
  };
  if (metadata != nullptr) {
    next(kMetadata);
    text += '{';
    for (const auto& [name, value] : *metadata) {
      next(name);
      append_text(text, value);
    }
    text += '}';
  }
  std::uint64_t begin = 0;
  for (const auto* entry : tensors) {
    const auto& [name, x] = *entry;
    if (name == kMetadata) fail<ValueError>("no tensor may be named {}", kMetadata);
    const std::string_view dtype = name_in_file(x.dtype());
    if (dtype.empty()) fail<DTypeError>("{}: a .safetensors file cannot hold {}", name, x.dtype());
    const std::uint64_t end = begin + static_cast<std::uint64_t>(x.size()) * size_of(x.dtype());
    next(name);
    text += fmt::format(R"({{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", dtype, fmt::join(x.shape(), ","),
                        begin, end);
    begin = end;
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  if (length > kLongestHeader)
    fail<ValueError>("the names need a header of {} bytes; {} are allowed", length, kLongestHeader);
  std::string header(sizeof length, '\0');
  std::memcpy(header.data(), &length, sizeof length);
  return header + text;
}

// --- reading ---

struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  std::uint64_t begin;
  std::uint64_t end;
};

struct Header {
  std::uint64_t start;  // of the tensors' bytes in the file
  Metadata metadata;
  std::vector<Entry> entries;
};

/// The numbers of "[2, 3]".
std::vector<std::int64_t> whole_numbers(const std::string& name, std::string_view what, std::string_view list) {
  Scanner scanner(list);
  std::vector<std::int64_t> numbers;
  bool fine = scanner.follows("[");
  if (fine && !scanner.follows("]")) {
    do {
      const auto number = scanner.whole_number();
      fine = number.has_value();
      if (fine) numbers.push_back(*number);
    } while (fine && scanner.follows(","));
    fine = fine && scanner.follows("]");
  }
  if (!fine) malformed("{} has {} {:.80}, which is no list of whole numbers", name, what, list);
  return numbers;
}

Entry read_entry(const std::string& key, std::string_view text) {
  const std::string name = in_quotes(key);
  std::string_view dtype;
  std::string_view shape;
  std::string_view offsets;
  bool others = false;
  JsonReader json(text, name + " is described by");
  json.object([&](const std::string& field) {
    std::string_view* place = field == "dtype"          ? &dtype
                              : field == "shape"        ? &shape
                              : field == "data_offsets" ? &offsets
                                                        : nullptr;
    const std::string_view value = json.value();
    if (place == nullptr) {
      others = true;
    } else if (!place->empty()) {
      malformed("{} has a field twice", name);
    } else {
      *place = value;
    }
  });
  if (others || dtype.empty() || shape.empty() || offsets.empty())
    malformed("{} is not described by dtype, shape and data_offsets", name);

  Entry entry{key, DType::bool_, {}, 0, 0};
  const bool is_text = dtype.starts_with('"');
  const std::string dtype_name = is_text ? JsonReader(dtype, "").string() : std::string(dtype);
  const auto known = is_text ? dtype_in_file(dtype_name) : std::nullopt;
  if (!known)
    malformed("{} has the dtype {}, which Lento does not have", name, is_text ? in_quotes(dtype_name) : dtype_name);
  entry.dtype = *known;
  entry.shape = Shape(whole_numbers(name, "shape", shape));
  const std::vector<std::int64_t> places = whole_numbers(name, "data_offsets", offsets);
  if (places.size() != 2 || places[0] > places[1])
    malformed("{} has data_offsets [{}], which is no begin and end", name, fmt::join(places, ", "));
  entry.begin = static_cast<std::uint64_t>(places[0]);
  entry.end = static_cast<std::uint64_t>(places[1]);
  if (!broken_shape_rule(entry.shape).empty())
    malformed("{} of shape {} is larger than any tensor can be", name, entry.shape);
  const std::uint64_t needed = static_cast<std::uint64_t>(element_count(entry.shape)) * size_of(entry.dtype);
  if (entry.end - entry.begin != needed)
    malformed("{} of shape {} needs {} bytes, but has {}", name, entry.shape, needed, entry.end - entry.begin);
  return entry;
}

Metadata read_metadata(JsonReader& json) {
  const auto require = [&](std::string_view sign) {
    if (!json.next_is(sign)) malformed("{} is no dict of texts", kMetadata);
  };
  std::vector<Metadata::value_type> metadata;
  std::unordered_set<std::string> seen;
  require("{");
  json.object([&](const std::string& name) {
    if (!seen.insert(name).second) malformed("{} is in {} twice", in_quotes(name), kMetadata);
    require("\"");
    metadata.emplace_back(name, json.string());
  });
  return Metadata(metadata);
}

void parse(std::string_view text, Header& header) {
  if (!text.starts_with('{')) malformed("the header does not begin with {{");
  if (const std::size_t at = find_no_utf8(text); at != text.npos) {
    malformed("the header is no UTF-8: byte {} is 0x{:02x}", at, static_cast<unsigned char>(text[at]));
  }
  JsonReader json(text, "the header is");
  std::unordered_set<std::string> seen;
  json.object([&](const std::string& key) {
    if (!seen.insert(key).second) malformed("{} is in the header twice", in_quotes(key));
    if (key == kMetadata) {
      header.metadata = read_metadata(json);
      return;
    }
    const std::string_view entry = json.flat_object(kLongestEntry);
    if (entry.empty()) malformed("{} is not described by dtype, shape and data_offsets", in_quotes(key));
    header.entries.push_back(read_entry(key, entry));
  });
  json.expect_end();
}

/// Side by side and nothing between: what is not described could hide something, what overlaps would be shared.
void check_places(const std::vector<Entry>& entries, std::uint64_t bytes) {
  std::vector<const Entry*> ordered;
  ordered.reserve(entries.size());
  for (const Entry& entry : entries) ordered.push_back(&entry);
  std::ranges::stable_sort(ordered, {}, [](const Entry* entry) { return std::pair(entry->begin, entry->end); });
  std::uint64_t position = 0;
  const Entry* before = nullptr;
  for (const Entry* entry : ordered) {
    if (entry->begin != position) {
      malformed("{} {} {}", in_quotes(entry->name), entry->begin < position ? "overlaps" : "leaves a gap behind",
                before == nullptr ? "the header" : in_quotes(before->name));
    }
    position = entry->end;
    before = entry;
  }
  if (position != bytes) malformed("the tensors need {} bytes, but {} are there", position, bytes);
}

/// All of it is checked.
Header read_header(const InputFile& file) {
  const std::uint64_t size = file.size();
  std::uint64_t length = 0;
  if (size < sizeof length || !file.read(0, &length, sizeof length))
    malformed("{} bytes are too few for a .safetensors file", size);
  if (length > kLongestHeader) malformed("a header of {} bytes is longer than the {} allowed", length, kLongestHeader);
  if (length > size - sizeof length)
    malformed("the header of {} bytes goes beyond the end of the file, of {} bytes", length, size);
  std::string text(length, '\0');
  if (!file.read(sizeof length, text.data(), length)) malformed("the file ended inside the header");
  Header header{sizeof length + length, {}, {}};
  parse(text, header);
  check_places(header.entries, size - header.start);
  return header;
}

/// Straight into the tensor's memory.
Tensor read_tensor(const InputFile& file, const Entry& entry, std::uint64_t offset) {
  const auto fill = [&](void* data, std::size_t bytes) {
    if (!file.read(offset, data, bytes)) malformed("the file ended inside {}", in_quotes(entry.name));
    const auto* first = static_cast<const unsigned char*>(data);
    if (is_bool(entry.dtype) && std::any_of(first, first + bytes, [](unsigned char byte) { return byte > 1; }))
      malformed("{} has bytes that are neither false nor true", in_quotes(entry.name));
  };
  return from_filler(fill, entry.dtype, entry.shape);
}

}  // namespace

void save_safetensors(const std::filesystem::path& path, const TensorDict& tensors, const Metadata* metadata) {
  std::vector<const TensorDict::value_type*> ordered;
  std::vector<Tensor> values;
  for (const auto& entry : tensors) {
    ordered.push_back(&entry);
    values.push_back(entry.second);
  }
  // The widest first: everything is then aligned.
  std::ranges::sort(ordered, {}, [](const auto* entry) {
    return std::tuple<std::ptrdiff_t, std::string_view>(-static_cast<std::ptrdiff_t>(size_of(entry->second.dtype())),
                                                        entry->first);
  });
  const std::string header = header_of(ordered, metadata);
  eval(values);
  ReplacedFile file(path);
  file.write(header.data(), header.size());
  for (const auto* entry : ordered) {
    const std::string_view elements = elements_of(entry->second);
    file.write(elements.data(), elements.size());
  }
  file.commit();
}

Named load_safetensors(const InputFile& file, std::string_view prefix) {
  const Header header = read_header(file);
  Named found;
  for (const Entry& entry : header.entries) {
    if (entry.name.starts_with(prefix)) {
      found.tensors.insert_or_assign(std::string_view(entry.name).substr(prefix.size()),
                                     read_tensor(file, entry, header.start + entry.begin));
    }
    found.names.push_back(entry.name);
  }
  return found;
}

Metadata load_safetensors_metadata(const InputFile& file) { return read_header(file).metadata; }

}  // namespace lento::files
