#include "executor/save_graphs.h"

#include <lento/device.h>

#include "base/format.h"
#include "executor/plan.h"
#include "executor/warn.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace lento {

namespace {

/// Read once: a setting that changes in the middle would be of no use to anybody.
const std::string& file_name() {
  static const std::string name = [] {
    const char* given = std::getenv("LENTO_SAVE_GRAPHS");
    return std::string(given == nullptr ? "" : given);
  }();
  return name;
}

/// One write, so that processes that share the file do not mix their lines.
bool append(const std::string& text) {
  const int file = ::open(file_name().c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return false;
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return ::close(file) == 0 && written;
}

}  // namespace

bool saves_graphs() { return !file_name().empty(); }

void save_graph(const Graph& graph, std::uint8_t device) {
  static std::atomic<std::uint64_t> number{0};
  const std::string text =
      fmt::format("# {} of process {} on {}, key {:#x}\n{}\n", number.fetch_add(1), ::getpid(),
                  Device::from_id(device).to_string(), structure_hash(graph, device), to_string(graph));
  static std::atomic<bool> warned{false};
  if (!append(text) && !warned.exchange(true)) {
    warn(fmt::format("cannot write to LENTO_SAVE_GRAPHS={}: {}", file_name(), std::strerror(errno)));
  }
}

}  // namespace lento
