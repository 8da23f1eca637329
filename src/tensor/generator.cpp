// The state of random number generators; the numbers themselves are computed by the random_bits primitive.
#include <lento/random.h>

#include "tensor/draws.h"

namespace lento {

Generator::State Generator::state() const {
  const std::scoped_lock lock(mutex_);
  return state_;
}

void Generator::set_state(const State& state) {
  if (DrawScope::repeating()) return;  // it was set when this was computed the first time
  const std::scoped_lock lock(mutex_);
  state_ = state;
}

Generator::State Generator::reserve(std::uint64_t blocks) { return DrawScope::next(*this, blocks).state; }

Generator::State Generator::advance(std::uint64_t blocks) {
  const std::scoped_lock lock(mutex_);
  const State before = state_;
  state_.counter += blocks;
  return before;
}

void Generator::give_back(const State& before, std::uint64_t blocks) noexcept {
  const std::scoped_lock lock(mutex_);
  if (state_ == State{before.seed, before.counter + blocks}) state_ = before;
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

void random::seed(std::uint64_t seed) { default_generator().seed(seed); }

}  // namespace lento
