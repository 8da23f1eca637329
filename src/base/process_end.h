// What has to be done before the process ends: threads of Lento's own use static objects, of libraries too, which must
// not be destroyed before the threads have stopped.
#pragma once

#include <cstdint>

namespace lento {

/// In this order, whoever registered first.
enum class EndStage : std::uint8_t { closures, workers, background, libraries };

/// Calls the function once when the process ends: before anything static is destroyed, when it is the main thread that
/// ends it and that has loaded Lento, else no later than what is static and older than this call. One for each stage;
/// registering it again moves the latter.
void at_process_end(EndStage stage, void (*function)());

}  // namespace lento
