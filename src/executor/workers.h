// The threads that run plans. Started when first needed, rebuilt in a forked child, ended with the process.
#pragma once

#include <functional>

namespace lento {

/// Runs the task on a worker; tasks start in the order they were submitted, several may run at once.
void submit(std::function<void()> task);

}  // namespace lento
