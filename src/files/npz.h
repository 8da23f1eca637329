// .npz: a zip archive of .npy files, each named after its array.
#pragma once

#include "files/input_file.h"
#include "files/named.h"
#include "files/replace_file.h"

#include <string_view>

namespace lento::files {

/// Throws ValueError and DTypeError for what such a file cannot hold, before one is touched.
void check_npz(const TensorDict& tensors);
/// What check_npz let through.
void write_npz(const Sink& sink, const TensorDict& tensors);

/// Throws Malformed, and FileError when reading fails.
Named load_npz(const InputFile& file, std::string_view prefix);

}  // namespace lento::files
