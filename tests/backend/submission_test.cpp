// Whoever begins a submission ends it or drops it, whatever happens in between.
#include "backend/submission.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace lento {
namespace {

class NotingDriver final : public Driver {
 public:
  std::string noted;
  bool end_fails = false;

  const Target& target() const override {
    static const Target target{};
    return target;
  }
  BufferRef allocate(std::size_t) override { return {}; }
  void copy(void*, const void*, std::size_t) override { noted += "copy "; }
  PreparedSchedule prepare(const Graph&, const Schedule&, const CompileOptions&) override { return {}; }
  void launch(const KernelLaunch&) override {}
  void begin_submission() override { noted += "begin "; }
  void end_submission() override {
    noted += "end ";
    if (end_fails) throw std::runtime_error("it cannot be handed over");
  }
  void drop_submission() noexcept override { noted += "drop "; }
};

TEST(Submissions, EndOnce) {
  NotingDriver driver;
  {
    Submission submission(driver);
    driver.copy(nullptr, nullptr, 0);
    submission.end();
  }
  EXPECT_EQ(driver.noted, "begin copy end ");
}

TEST(Submissions, AreDroppedWhenSomethingThrows) {
  NotingDriver driver;
  try {
    const Submission submission(driver);
    throw std::runtime_error("in between");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(driver.noted, "begin drop ");
}

TEST(Submissions, AreOverWhenTheirEndThrows) {
  NotingDriver driver;
  driver.end_fails = true;
  {
    Submission submission(driver);
    EXPECT_THROW(submission.end(), std::runtime_error);
  }
  EXPECT_EQ(driver.noted, "begin end ");
}

}  // namespace
}  // namespace lento
