#include "base/process_end.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>

namespace lento {

namespace {

using Function = void (*)();

constinit std::array<std::atomic<Function>, 4> stages{};

template <EndStage stage>
void end() {
  if (const Function function = stages[static_cast<std::size_t>(stage)].exchange(nullptr)) function();
}

constexpr std::array<Function, 4> kEnds = {end<EndStage::closures>, end<EndStage::workers>, end<EndStage::background>,
                                           end<EndStage::libraries>};

/// Functions given to atexit() come too late: a library, or a function of our own, may make a static object at its
/// first call, which is then destroyed before any function that was registered earlier runs. But before all of that
/// come the thread_local variables of the thread that ends the process, nearly always the main one.
struct EndOfMainThread {
  const bool is_main = gettid() == getpid();
  ~EndOfMainThread() {
    if (!is_main) return;
    for (const Function end_stage : kEnds) end_stage();
  }
};
thread_local const EndOfMainThread end_of_main_thread;
/// The thread that loads the library.
[[maybe_unused]] const bool main_thread_is_watched = end_of_main_thread.is_main;

}  // namespace

void at_process_end(EndStage stage, void (*function)()) {
  stages[static_cast<std::size_t>(stage)].store(function);
  std::atexit(kEnds[static_cast<std::size_t>(stage)]);
}

}  // namespace lento
