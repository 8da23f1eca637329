// Generator: where random numbers come from (clause T5). Random numbers are counter-based (Philox 4x32-10): a key,
// which is the seed, and the number of the first block decide every bit. Random ops take the next blocks of a generator
// when they are recorded; the key and the counter are arguments of the plan, so a new seed never recompiles.
#pragma once

#include <lento/export.h>

#include <cstdint>
#include <mutex>

namespace lento {

/// A sequence of random blocks. Safe to use from several threads; which op gets which blocks then depends on their
/// order.
class LENTO_API Generator {
 public:
  /// The seed of a generator that was given none, also of the default generator.
  static constexpr std::uint64_t kFirstSeed = 0;

  /// Everything that decides what comes next.
  struct State {
    std::uint64_t seed;     // the Philox key
    std::uint64_t counter;  // the next block

    friend bool operator==(const State&, const State&) = default;
  };

  explicit Generator(std::uint64_t seed = kFirstSeed) : state_{seed, 0} {}
  explicit Generator(const State& state) : state_(state) {}
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// Restarts the sequence of this seed.
  void seed(std::uint64_t seed) { set_state({seed, 0}); }
  State state() const;
  void set_state(const State& state);

  /// Hands out `blocks` blocks of 128 bits: the state before, from which they are computed. The counter moves past
  /// them.
  State reserve(std::uint64_t blocks);

 private:
  friend class DrawScope;
  friend class RefusableDraws;
  State advance(std::uint64_t blocks);
  /// Undoes advance(), if it was the last thing that happened.
  void give_back(const State& before, std::uint64_t blocks) noexcept;

  mutable std::mutex mutex_;
  State state_;
};

/// The generator of random ops that were given none. Shared by all threads.
LENTO_API Generator& default_generator();

namespace random {

/// Restarts the default generator's sequence with this seed.
LENTO_API void seed(std::uint64_t seed);

}  // namespace random

}  // namespace lento
