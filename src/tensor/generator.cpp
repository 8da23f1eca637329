// The state of random number generators; the numbers themselves are computed by the random_bits primitive.
#include <lento/random.h>

namespace lento {

Generator::State Generator::state() const {
  const std::scoped_lock lock(mutex_);
  return state_;
}

void Generator::set_state(const State& state) {
  const std::scoped_lock lock(mutex_);
  state_ = state;
}

Generator::State Generator::reserve(std::uint64_t blocks) {
  const std::scoped_lock lock(mutex_);
  const State before = state_;
  state_.counter += blocks;
  return before;
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

void random::seed(std::uint64_t seed) { default_generator().seed(seed); }

}  // namespace lento
