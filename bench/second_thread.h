// Libraries take cheaper paths in a process with only one thread; benchmarks keep a second one alive.
#pragma once

#include <atomic>
#include <thread>

class SecondThread {
 public:
  SecondThread() : thread_([this] { stop_.wait(false); }) {}
  ~SecondThread() {
    stop_ = true;
    stop_.notify_all();
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};
