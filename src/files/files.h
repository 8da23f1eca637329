// What front ends need besides <lento/files.h>.
#pragma once

#include <lento/files.h>

#include "files/replace_file.h"

#include <filesystem>
#include <source_location>

namespace lento::files {

/// save(), which tells no metadata (null) from metadata without texts: the file shows the difference.
void save_dict(const std::filesystem::path& path, const TensorDict& tensors, const Metadata* metadata,
               std::source_location site = std::source_location::current());

/// The bytes of a .npy or .npz file, for whatever takes them.
void write_npy_to(const Sink& sink, const Tensor& x, std::source_location site = std::source_location::current());
void write_npz_to(const Sink& sink, const TensorDict& tensors,
                  std::source_location site = std::source_location::current());

}  // namespace lento::files
