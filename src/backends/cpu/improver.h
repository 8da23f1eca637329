// A thread of low priority that compiles kernels again, with more care, while they are in use.
#pragma once

#include <functional>

namespace lento::cpu {

/// Calls the task some time later, or never: the process may end before. What it throws is ignored.
void improve_later(std::function<void()> task);

}  // namespace lento::cpu
