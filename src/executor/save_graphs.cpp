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
#include <memory>
#include <string>

namespace lento {

namespace {

/// One write, so that processes that share the file do not mix their lines.
bool append(const std::string& file_name, const std::string& text) {
  const int file = ::open(file_name.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return false;
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return ::close(file) == 0 && written;
}

/// Read once: a setting that changes in the middle would be of no use to anybody. "" when there is none, or when the
/// file cannot be written.
const std::string& file_name() {
  struct Setting {
    std::string name;
    std::string problem;
  };
  static const Setting& setting = *[] {  // never destroyed: threads may evaluate while the process ends
    auto made = std::make_unique<Setting>();
    const char* given = std::getenv("LENTO_SAVE_GRAPHS");
    if (given == nullptr || *given == '\0') return made.release();
    if (append(given, "")) {
      made->name = given;
    } else {
      made->problem = fmt::format("cannot write to LENTO_SAVE_GRAPHS={}: {}", given, std::strerror(errno));
    }
    return made.release();
  }();
  static std::atomic<bool> told{false};
  if (!setting.problem.empty() && !told.exchange(true)) warn(WarningKind::other, setting.problem);
  return setting.name;
}

}  // namespace

bool saves_graphs() { return !file_name().empty(); }

void save_graph(const Graph& graph, std::uint8_t device) {
  static std::atomic<std::uint64_t> number{0};
  const std::string text =
      fmt::format("# {} of process {} on {}, key {:#x}\n{}\n", number.fetch_add(1), ::getpid(),
                  Device::from_id(device).to_string(), structure_hash(graph, device), to_string(graph));
  (void)append(file_name(), text);  // a disk that is full by now stops nobody's step
}

}  // namespace lento
