#include "backend/background.h"

#include "base/counters.h"
#include "base/fork.h"
#include "base/interrupt.h"
#include "base/process_end.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace lento {

namespace {

const CounterId kFailed = counter_id("background.failed");

constexpr int kNiceness = 10;

using Task = std::function<void()>;

void call(Task task) {
  try {
    task();
  } catch (const std::exception&) {
    count(kFailed);  // nobody waits for it, so there is nobody to tell
  }
}

bool stopped_at_exit = false;  // guarded by the lock of the current Background
void stop_background();

class Background {
 public:
  void add(Task task, bool must_run) {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    // Not before there is something to stop: what libraries keep in static objects must still be there.
    if (!std::exchange(stopped_at_exit, true)) at_process_end(EndStage::background, stop_background);
    (must_run ? urgent_ : optional_).push_back(std::move(task));
    if (must_run) ++urgent_added_;
    try {
      if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      return;  // no thread to wake: the process's end does what must be done
    }
    wake_.notify_one();
  }

  void wait_for_urgent_tasks() {
    const Blocking blocking;  // the thread may be in the middle of a long compile
    std::unique_lock lock(mutex_);
    const std::uint64_t last = urgent_added_;
    if (!thread_.joinable()) return;
    wait_interruptibly(ended_, lock, [&] { return urgent_done_ >= last || stopping_; });
  }

  void stop() {
    std::thread thread;
    std::deque<Task> left;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      optional_.clear();
      left.swap(urgent_);
      thread.swap(thread_);
    }
    wake_.notify_all();
    ended_.notify_all();
    if (thread.joinable()) thread.join();
    for (Task& task : left) call(std::move(task));
  }

  // Around fork: no task is running, since a compiler in the middle of its work would leave locks behind.
  void pause() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return !busy_; });
    lock.release();
  }
  void resume() { mutex_.unlock(); }

 private:
  void work() {
    // On Linux the priority belongs to the thread.
    (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNiceness);
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || !urgent_.empty() || !optional_.empty(); });
      if (stopping_) return;
      const bool urgent = !urgent_.empty();
      std::deque<Task>& tasks = urgent ? urgent_ : optional_;
      Task task = std::move(tasks.front());
      tasks.pop_front();
      busy_ = true;
      lock.unlock();
      call(std::exchange(task, nullptr));
      lock.lock();
      busy_ = false;
      if (urgent) ++urgent_done_;
      ended_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;   // a task arrived, or stopping
  std::condition_variable ended_;  // a task ended, or stopping
  std::deque<Task> urgent_;        // of finish_later
  std::deque<Task> optional_;      // of run_later
  std::uint64_t urgent_added_ = 0;
  std::uint64_t urgent_done_ = 0;
  std::thread thread_;
  bool busy_ = false;
  bool stopping_ = false;
};

Background*& background() {
  static Background* current = [] {
    // A worker that is waited for before the locks are taken may be adding a task: it must not find us paused already.
    lock_while_forking([] { background()->pause(); }, [] { background()->resume(); },
                       [] { background() = std::make_unique<Background>().release(); }, ForkOrder::background);
    return new Background;  // never destroyed: programs may end while the process exits
  }();
  return current;
}
// Before there are threads: a fork in the middle of making it would leave the child with half of it.
[[maybe_unused]] const Background* const made_at_start = background();

void stop_background() { background()->stop(); }

}  // namespace

void run_later(std::function<void()> task) { background()->add(std::move(task), false); }
void finish_later(std::function<void()> task) { background()->add(std::move(task), true); }
void wait_for_urgent_tasks() { background()->wait_for_urgent_tasks(); }

}  // namespace lento
