#include "executor/save_graphs.h"

#include <lento/device.h>

#include "base/devices.h"
#include "base/format.h"
#include "executor/warn.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace lento {

namespace {

/// One write, so that processes that share the file do not mix their lines.
bool append(const std::string& file_name, const std::string& text) {
  const int file = ::open(file_name.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return false;
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return ::close(file) == 0 && written;
}

enum class LtcFormat : std::uint8_t { text, dot, backend };

struct Settings {
  std::string own;  // a file's name; "" when there is none, or when it cannot be written
  std::string ltc;
  LtcFormat ltc_format = LtcFormat::text;
  std::string problem;  // to be told once

  void add_problem(const std::string& text) { problem += (problem.empty() ? "" : "; ") + text; }

  std::string writable_file(const char* variable) {
    const char* given = std::getenv(variable);
    if (given == nullptr || *given == '\0') return "";
    if (append(given, "")) return given;
    add_problem(fmt::format("cannot write to {}={}: {}", variable, given, std::strerror(errno)));
    return "";
  }

  void read() {
    own = writable_file("LENTO_SAVE_GRAPHS");
    ltc = writable_file("LTC_SAVE_TENSORS_FILE");
    const char* given = std::getenv("LTC_SAVE_TENSORS_FMT");
    const std::string_view format = given == nullptr ? "text" : given;
    if (format == "dot") {
      ltc_format = LtcFormat::dot;
    } else if (format == "backend") {
      ltc_format = LtcFormat::backend;
    } else if (format != "text" && !ltc.empty()) {
      add_problem(
          fmt::format("LTC_SAVE_TENSORS_FMT is '{}'; it must be text, dot or backend, and text is written", format));
    }
  }
};

/// Read once: a setting that changes in the middle would be of no use to anybody.
const Settings& settings() {
  static const Settings& made = *[] {  // never destroyed: threads may evaluate while the process ends
    auto read = std::make_unique<Settings>();
    read->read();
    return read.release();
  }();
  static std::atomic<bool> told{false};
  if (!made.problem.empty() && !told.exchange(true)) warn(WarningKind::other, made.problem);
  return made;
}

std::atomic<StackWriter> stack_writer{nullptr};

std::string ltc_text(const SavedGraph& saved, LtcFormat format) {
  const StackWriter write_stack = stack_writer.load(std::memory_order_acquire);
  const std::string stack = write_stack == nullptr ? "" : write_stack();
  const std::string graph = format == LtcFormat::backend ? saved.plan->program->text()
                            : format == LtcFormat::dot   ? to_string(saved.graph, GraphFormat::dot)
                                                         : to_string(saved.graph);
  return fmt::format(
      "[ScheduleSyncTensorsGraph]\nPython Stacktrace:\n{}\nHashes: ({:016x})\n\n## BEGIN_GRAPH\n{}\n## END_GRAPH\n\n\n",
      stack.empty() ? "  No Python Frames\n" : stack, saved.plan->hash, graph);
}

}  // namespace

bool saves_graphs() {
  const Settings& now = settings();
  return !now.own.empty() || !now.ltc.empty();
}

void save_graph(const SavedGraph& saved) {
  const Settings& now = settings();
  // A disk that is full by now stops nobody's step.
  if (!now.own.empty()) {
    static std::atomic<std::uint64_t> number{0};
    (void)append(now.own, fmt::format("# {} of process {} on {}, key {:#x}\n{}\n", number.fetch_add(1), ::getpid(),
                                      RegisteredDevice::of(saved.plan->device).to_string(), saved.plan->hash,
                                      to_string(saved.graph)));
  }
  if (!now.ltc.empty()) (void)append(now.ltc, ltc_text(saved, now.ltc_format));
}

void set_stack_writer(StackWriter writer) { stack_writer.store(writer, std::memory_order_release); }

}  // namespace lento
