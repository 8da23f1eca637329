// opgen: reads the op catalogue and writes everything that follows from it.
//
//     opgen generate --ops DIR --out DIR [--math FILE]... [--callers PREFIX=DIR]... [--depfile FILE] [--docs FILE]
//                    [--dry-run] [--quiet]
//     opgen check    --ops DIR [--math FILE]...
//     opgen list     --ops DIR
//
// Exit status: 0 when all is well, 1 when the catalogue is wrong (nothing is written), 2 for wrong usage.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "callers.h"
#include "emit.h"
#include "load.h"
#include "validate.h"
#include "write.h"

namespace lento::opgen {

namespace {

namespace fs = std::filesystem;

constexpr const char* kUsage =
    "usage: opgen generate --ops DIR --out DIR [--math FILE]... [--callers PREFIX=DIR]... [--depfile FILE]\n"
    "                      [--docs FILE] [--dry-run] [--quiet]\n"
    "       opgen check --ops DIR [--math FILE]...\n"
    "       opgen list --ops DIR\n";

struct Options {
  std::string command;
  fs::path ops, out, depfile, docs;
  std::vector<fs::path> math;
  std::vector<CallerFolder> callers;
  bool dry_run = false;
  bool quiet = false;
};

struct UsageError {
  std::string message;
};

/// "ops=src/ops"
CallerFolder caller_folder(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError{fmt::format("--callers takes PREFIX=DIR, not '{}'", text)};
  }
  CallerFolder callers{text.substr(0, equals), text.substr(equals + 1)};
  if (!fs::is_directory(callers.folder)) {
    throw UsageError{fmt::format("--callers: '{}' is no folder", callers.folder.string())};
  }
  return callers;
}

Options parse(const std::vector<std::string>& arguments) {
  static const std::vector<std::string> kCommands = {"generate", "check", "list"};
  static const std::vector<std::string> kOptions = {"--ops",     "--out",  "--math",    "--callers",
                                                    "--depfile", "--docs", "--dry-run", "--quiet"};
  Options options;
  if (arguments.empty()) throw UsageError{"no command"};
  options.command = arguments[0];
  if (std::find(kCommands.begin(), kCommands.end(), options.command) == kCommands.end()) {
    throw UsageError{fmt::format("unknown command '{}'{}", options.command, suggestion(options.command, kCommands))};
  }
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    const auto value = [&] {
      if (i + 1 == arguments.size()) throw UsageError{fmt::format("option '{}' needs a value", option)};
      return fs::path(arguments[++i]);
    };
    if (option == "--ops") {
      options.ops = value();
    } else if (option == "--out") {
      options.out = value();
    } else if (option == "--math") {
      options.math.push_back(value());
    } else if (option == "--callers") {
      options.callers.push_back(caller_folder(value().string()));
    } else if (option == "--depfile") {
      options.depfile = value();
    } else if (option == "--docs") {
      options.docs = value();
    } else if (option == "--dry-run") {
      options.dry_run = true;
    } else if (option == "--quiet") {
      options.quiet = true;
    } else {
      throw UsageError{fmt::format("unknown option '{}'{}", option, suggestion(option, kOptions))};
    }
  }
  if (options.ops.empty()) throw UsageError{"--ops is missing"};
  if (options.command == "generate" && options.out.empty()) throw UsageError{"--out is missing"};
  return options;
}

/// The scalar math headers beside the catalogue, unless others were given.
std::vector<fs::path> math_headers(const Options& options) {
  if (!options.math.empty()) return options.math;
  std::set<fs::path> found;
  std::error_code ignored;
  const fs::path folder = options.ops / ".." / "src" / "backends" / "reference";
  for (const auto& item : fs::directory_iterator(folder.lexically_normal(), ignored)) {
    const std::string name = item.path().filename().string();
    if (name.starts_with("scalar_") && name.ends_with(".h")) found.insert(item.path());
  }
  return {found.begin(), found.end()};
}

int generate(const Options& options, const Catalogue& catalogue) {
  Files files;
  emit_autograd(catalogue, files);
  emit_ir(catalogue, files);
  emit_ops(catalogue, files);
  emit_reference(catalogue, files);
  emit_python(catalogue, files);
  emit_layers(catalogue, files);
  emit_layers_python(catalogue, files);
  emit_calls(catalogue, options.callers, files);
  files["docs/ops.md"] = emit_docs(catalogue);
  files["docs/layers.md"] = emit_layers_docs(catalogue);
  files["tests/op_samples.json"] = emit_samples(catalogue);
  const WriteReport report = write_tree(options.out, files, options.dry_run);
  if (!options.docs.empty()) write_if_changed(options.docs, files["docs/ops.md"], options.dry_run);
  if (!options.depfile.empty())
    write_if_changed(options.depfile, depfile(options.out, files, catalogue.files), options.dry_run);
  if (options.quiet) return 0;
  for (const std::string& name : report.written) fmt::print("{} {}\n", options.dry_run ? "would write" : "wrote", name);
  for (const std::string& name : report.removed)
    fmt::print("{} {}\n", options.dry_run ? "would remove" : "removed", name);
  fmt::print("{} ops ({} primitives): {} files {}, {} unchanged, {} removed\n", catalogue.entries.size(),
             catalogue.primitives().size(), report.written.size(), options.dry_run ? "to write" : "written",
             report.unchanged, report.removed.size());
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  const Options options = parse(arguments);
  Diagnostics diagnostics;
  Catalogue catalogue = load_catalogue(options.ops, diagnostics);
  for (const fs::path& header : math_headers(options)) load_math_names(header, catalogue);
  validate(catalogue, diagnostics);
  validate_layers(catalogue, diagnostics);
  if (!diagnostics.empty()) {
    fmt::print(stderr, "{}opgen: {} error{}; nothing was written\n", diagnostics.report(), diagnostics.size(),
               diagnostics.size() == 1 ? "" : "s");
    return 1;
  }
  if (options.command == "list") {
    fmt::print("{}\n", emit_list(catalogue));
    return 0;
  }
  if (options.command == "check") {
    if (!options.quiet)
      fmt::print("{} ops in {} files: all is well\n", catalogue.entries.size(), catalogue.files.size());
    return 0;
  }
  return generate(options, catalogue);
}

}  // namespace

}  // namespace lento::opgen

int main(int argc, char** argv) {
  try {
    return lento::opgen::run({argv + 1, argv + argc});
  } catch (const lento::opgen::UsageError& e) {
    fmt::print(stderr, "opgen: {}\n{}", e.message, lento::opgen::kUsage);
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "opgen: {}\n", e.what());
    return 2;
  }
}
