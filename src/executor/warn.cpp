#include "executor/warn.h"

#include <lento/eval.h>

#include <atomic>
#include <cstdio>

namespace lento {

namespace {

void print_warning(const std::string& message) { std::fprintf(stderr, "lento: warning: %s\n", message.c_str()); }
std::atomic<WarningHandler> handler{print_warning};

}  // namespace

void warn(const std::string& message) { handler.load(std::memory_order_acquire)(message); }

void set_warning_handler(WarningHandler changed) {
  handler.store(changed == nullptr ? print_warning : changed, std::memory_order_release);
}

}  // namespace lento
