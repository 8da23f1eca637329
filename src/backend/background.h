// A thread of low priority for work that nobody waits for: compiling kernels again with more care, keeping code on
// disk.
#pragma once

#include <functional>

namespace lento {

/// Calls the task some time later, or never: the process may end before. What it throws is counted
/// (background.failed) and ignored.
void run_later(std::function<void()> task);
/// Calls the task soon, before those of run_later, and at the latest when the process exits in an orderly way. What it
/// throws is counted and ignored, too.
void finish_later(std::function<void()> task);
/// Returns when every task that was given to finish_later before has ended.
void wait_for_urgent_tasks();

}  // namespace lento
