#include "executor/warn.h"

#include <atomic>
#include <cstdio>

namespace lento {

namespace {

void print_warning(WarningKind /*kind*/, const std::string& message) {
  std::fprintf(stderr, "lento: warning: %s\n", message.c_str());
}
std::atomic<WarningHandler> handler{print_warning};

}  // namespace

void warn(WarningKind kind, const std::string& message) { handler.load(std::memory_order_acquire)(kind, message); }

void set_warning_handler(WarningHandler changed) {
  handler.store(changed == nullptr ? print_warning : changed, std::memory_order_release);
}

}  // namespace lento
