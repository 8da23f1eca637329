#include "backends/cpu/improver.h"

#include "base/counters.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace lento::cpu {

namespace {

constexpr int kNiceness = 10;
const CounterId kFailed = counter_id("kernel.tierup_failed");

class Improver {
 public:
  void add(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
    try {
      if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      tasks_.clear();  // code stays as it is
    }
    wake_.notify_one();
  }

  void stop() {
    std::thread thread;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      tasks_.clear();
      thread.swap(thread_);
    }
    wake_.notify_all();
    if (thread.joinable()) thread.join();
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
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (stopping_) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      busy_ = true;
      lock.unlock();
      try {
        std::exchange(task, nullptr)();
      } catch (const std::exception&) {
        count(kFailed);  // the first code goes on serving
      }
      lock.lock();
      busy_ = false;
      ended_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;   // a task arrived, or stopping
  std::condition_variable ended_;  // a task ended
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
  bool busy_ = false;
  bool stopping_ = false;
};

Improver*& improver() {
  static Improver* current = [] {
    std::atexit([] { improver()->stop(); });
    pthread_atfork([] { improver()->pause(); }, [] { improver()->resume(); },
                   [] { improver() = std::make_unique<Improver>().release(); });
    return new Improver;  // never destroyed: programs may end while the process exits
  }();
  return current;
}

}  // namespace

void improve_later(std::function<void()> task) { improver()->add(std::move(task)); }

}  // namespace lento::cpu
