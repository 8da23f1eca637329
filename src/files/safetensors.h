// .safetensors: the length of a header (eight bytes, little-endian), the header (JSON: name → dtype, shape and where
// its bytes begin and end), and the bytes.
#pragma once

#include "files/input_file.h"
#include "files/named.h"

#include <lento/files.h>

#include <filesystem>
#include <string_view>

namespace lento::files {

/// Metadata may be null: then the file has none. Throws what save() does.
void save_safetensors(const std::filesystem::path& path, const TensorDict& tensors, const Metadata* metadata);

/// Both throw Malformed, and FileError when reading fails.
Named load_safetensors(const InputFile& file, std::string_view prefix);
Metadata load_safetensors_metadata(const InputFile& file);

}  // namespace lento::files
