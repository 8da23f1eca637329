// Submission: a stretch of a run in which the host only queues. Every launch, copy and prepared call of a run on a
// device with queues stands in one; the host waits for the device outside of them alone, as it does around a fallback.
#pragma once

#include "backend/driver.h"

#include <utility>

namespace lento {

class Submission {
 public:
  explicit Submission(Driver& driver) : driver_(&driver) { driver.begin_submission(); }
  /// One that was not ended is dropped.
  ~Submission() {
    if (driver_ != nullptr) driver_->drop_submission();
  }
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  /// Hands over all that was queued. Throws as Driver::end_submission does.
  void end() { std::exchange(driver_, nullptr)->end_submission(); }

 private:
  Driver* driver_;
};

}  // namespace lento
