#include "backends/cpu/processors.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>

namespace lento::cpu {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

std::string contents(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The first number in `text`, which is moved behind it; 0 when there is none.
std::int64_t take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? value : 0;
}

std::int64_t processors_of(std::int64_t quota, std::int64_t period) {
  return quota > 0 && period > 0 ? (quota + period - 1) / period : kNone;
}

/// Version 2: "max 100000" or "150000 100000".
std::int64_t read_version_2(const fs::path& folder) {
  const std::string text = contents(folder / "cpu.max");
  std::string_view rest = text;
  const std::int64_t quota = take_number(rest);  // 0 for "max"
  return processors_of(quota, take_number(rest));
}

/// Version 1: a quota of -1 means none.
std::int64_t read_version_1(const fs::path& folder) {
  const std::string quota = contents(folder / "cpu.cfs_quota_us");
  const std::string period = contents(folder / "cpu.cfs_period_us");
  std::string_view quota_text = quota;
  std::string_view period_text = period;
  return processors_of(take_number(quota_text), take_number(period_text));
}

/// The smallest quota of `group` and the groups around it, below the folder `mount`.
template <class Read>
std::int64_t smallest(const fs::path& mount, std::string_view group, Read read) {
  std::int64_t least = kNone;
  for (fs::path at = fs::path(group).relative_path();; at = at.parent_path()) {
    least = std::min(least, read(at.empty() ? mount : mount / at));
    if (at.empty()) return least;
  }
}

int affinity_count() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  // Fails on machines with more processors than the mask has room for.
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return CPU_COUNT(&mask);
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

int parse_thread_count(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 1) return 0;
  const bool ends_here = end == text.data() + text.size() || *end == ',' || *end == ' ';
  return ends_here ? count : 0;
}

int processor_quota(const fs::path& root, std::string_view groups) {
  std::int64_t least = kNone;
  while (!groups.empty()) {
    // One line a hierarchy, "number:controllers:path"; version 2 has the number 0 and no controllers.
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(line.size() + 1, groups.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, smallest(root, path, read_version_2));
    } else if (("," + std::string(controllers) + ",").find(",cpu,") != std::string::npos) {
      for (const fs::path& mount : {root / "cpu", root / std::string(controllers)})
        least = std::min(least, smallest(mount, path, read_version_1));
    }
  }
  return least == kNone ? 0 : static_cast<int>(std::min<std::int64_t>(least, std::numeric_limits<int>::max()));
}

int usable_processors() {
  const char* wanted = std::getenv("OMP_NUM_THREADS");
  if (const int count = wanted == nullptr ? 0 : parse_thread_count(wanted); count > 0) return count;
  const int affinity = affinity_count();
  const int quota = processor_quota("/sys/fs/cgroup", contents("/proc/self/cgroup"));
  return std::max(1, quota == 0 ? affinity : std::min(affinity, quota));
}

bool has_wide_vectors() {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("x86-64-v4");
  return wide;
#else
  return false;
#endif
}

}  // namespace lento::cpu
