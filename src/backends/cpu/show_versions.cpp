#include <lento/about.h>
#include <lento/cache.h>
#include <lento/device.h>
#include <lento/threads.h>

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>

namespace lento {

namespace {

std::string system_name() {
  utsname found{};
  if (::uname(&found) != 0) return "unknown";
  return fmt::format("{}-{}-{}", found.sysname, found.release, found.machine);
}

std::string device_names() {
  std::string names;
  for (const Device device : devices()) names += (names.empty() ? "" : ", ") + device.to_string();
  return names;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> version_rows() {
  const About found = about();
  const std::string build = found.build_id.empty() ? "unknown" : found.build_id.substr(0, 12);
  const std::string folder = cache::info().disk_folder;
  std::vector<std::pair<std::string, std::string>> rows = {
      {"lento", fmt::format("{} (build {})", found.version, build)},
      {"system", system_name()},
      {"llvm", found.llvm},
      {"onednn", found.onednn},
      {"openblas", found.openblas},
      {"instruction set", found.instruction_set.empty() ? "unknown: nothing is compiled" : found.instruction_set},
      {"threads", std::to_string(get_num_threads())},
      {"devices", device_names()},
      {"cache on disk", folder.empty() ? "off" : folder},
  };
  const std::size_t first_variable = rows.size();
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const std::string_view name = entry.substr(0, entry.find('='));
    // What OpenMP's variable says is the number of threads at the start.
    if (name.size() == entry.size() || !(name.starts_with("LENTO_") || name == "OMP_NUM_THREADS")) continue;
    rows.emplace_back(name, entry.substr(name.size() + 1));
  }
  std::sort(rows.begin() + static_cast<std::ptrdiff_t>(first_variable), rows.end());
  return rows;
}

void show_versions(std::ostream& out) {
  const auto rows = version_rows();
  std::size_t width = 0;
  for (const auto& [name, text] : rows) width = std::max(width, name.size());
  for (const auto& [name, text] : rows) out << fmt::format("{:{}}  {}\n", name, width, text);
}

void show_versions() { show_versions(std::cout); }

}  // namespace lento
