// The state of the default generator, saved and loaded as beside a model.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lento {
namespace {

TEST(RandomState, WhatIsDrawnGoesOnFromTheSavedState) {
  random::seed(7);
  eval(random::normal({5}));
  const TensorDict saved = random::state_dict();
  const auto expected = random::uniform({4}).to_vector<float>();
  random::seed(1);
  random::load_state_dict(saved);
  EXPECT_EQ(random::uniform({4}).to_vector<float>(), expected);
}

TEST(RandomState, ItIsSeedAndNextBlock) {
  random::seed(7);
  EXPECT_EQ(random::state_dict().at("state").to_vector<std::uint64_t>(), (std::vector<std::uint64_t>{7, 0}));
  eval(random::normal({5}));
  const Generator::State state = random::default_generator().state();
  EXPECT_GT(state.counter, 0U);
  EXPECT_EQ(random::state_dict().at("state").to_vector<std::uint64_t>(), (std::vector{state.seed, state.counter}));
}

TEST(RandomState, IntegersOfOtherWidthsAreTaken) {
  random::load_state_dict({{"state", tensor<std::int64_t>({3, 4})}});
  EXPECT_EQ(random::default_generator().state(), (random::Generator::State{3, 4}));
}

TEST(RandomState, WhatIsNoStateChangesNothing) {
  random::seed(5);
  const auto message = [](const TensorDict& state) -> std::string {
    try {
      random::load_state_dict(state);
    } catch (const ValueError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_TRUE(message({}).starts_with("load_state_dict: a generator's state has the name 'state', not [], at random_"));
  EXPECT_NE(message({{"b", ones({2})}, {"a", ones({2})}}).find("not ['b', 'a']"), std::string::npos);
  EXPECT_NE(message({{"state", ones({2})}}).find("two integers, not float32(2,)"), std::string::npos)
      << message({{"state", ones({2})}});
  EXPECT_NE(message({{"state", tensor({1, 2, 3})}}).find("two integers"), std::string::npos);
  EXPECT_EQ(random::default_generator().state(), (Generator::State{5, 0}));
}

}  // namespace
}  // namespace lento
