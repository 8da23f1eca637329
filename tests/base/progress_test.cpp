// Who waits for what may hang: for how long.
#include "base/progress.h"

#include <gtest/gtest.h>

#include <optional>

namespace lento {
namespace {

class WithPatience : public ::testing::Test {
 protected:
  void TearDown() override {
    note_progress();  // what one test gave up on is not the next one's
    set_patience(before_);
  }

 private:
  std::chrono::milliseconds before_ = patience();
};

constexpr std::chrono::milliseconds kNone{0};
constexpr std::chrono::hours kLong{1};

TEST_F(WithPatience, EndsWhenNothingGoesOn) {
  set_patience(kNone);
  Patience waits;
  EXPECT_TRUE(waits.wait()) << "the first look tells how far things are";
  EXPECT_FALSE(waits.wait());
}

TEST_F(WithPatience, LastsWhileSomethingEnds) {
  set_patience(kNone);
  Patience waits;
  for (int i = 0; i < 10; ++i) {
    note_progress();
    EXPECT_TRUE(waits.wait());
  }
  EXPECT_FALSE(waits.wait());
}

TEST_F(WithPatience, LastsWhileTheHostComputesHoweverLong) {
  set_patience(kNone);
  Patience waits;
  std::optional<HostComputes> computes(std::in_place);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(waits.wait());
  {
    const HostComputes inside;
  }
  EXPECT_TRUE(waits.wait()) << "the outer one goes on";
  computes.reset();
  EXPECT_TRUE(waits.wait()) << "something has ended";
  EXPECT_FALSE(waits.wait());
}

TEST_F(WithPatience, DoesNotTakeAThreadThatWaitsForOneThatComputes) {
  set_patience(kNone);
  const HostComputes computes;
  {
    Patience waits;  // on the very thread, as in a closure that ends the process
    EXPECT_TRUE(waits.wait());
    EXPECT_FALSE(waits.wait());
  }
  const HostWaits reads;
  Patience waits;
  EXPECT_FALSE(waits.wait());
}

TEST_F(WithPatience, NobodyWaitsTwiceForTheSame) {
  set_patience(kNone);
  Patience first;
  while (first.wait()) continue;
  set_patience(kLong);
  EXPECT_FALSE(Patience().wait());
  note_progress();
  EXPECT_TRUE(Patience().wait());
}

}  // namespace
}  // namespace lento
