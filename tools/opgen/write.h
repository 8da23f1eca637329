// Writing the generated tree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "emit.h"

namespace lento::opgen {

struct WriteReport {
  std::vector<std::string> written;  ///< new or changed
  std::vector<std::string> removed;  ///< generated earlier, no longer
  std::size_t unchanged = 0;
};

/// Writes the files below `folder`: those that did not change keep their time, and files of an earlier run that are no
/// longer generated are removed. With `dry_run` nothing is touched. Throws std::runtime_error when a file cannot be
/// written.
WriteReport write_tree(const std::filesystem::path& folder, const Files& files, bool dry_run);

/// Writes one file, unless it already has these contents. True when it was written.
bool write_if_changed(const std::filesystem::path& path, const std::string& contents, bool dry_run);

/// A Makefile rule: the outputs depend on the inputs.
std::string depfile(const std::filesystem::path& folder, const Files& files, const std::vector<std::string>& inputs);

}  // namespace lento::opgen
