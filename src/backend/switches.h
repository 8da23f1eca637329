// Switches that take something away, to find what makes a result wrong: fusion, one of the tiers of code, or code of
// our own for some ops. Results do not depend on them. A plan is made under those that hold when it is asked for, and
// never used under others.
#pragma once

#include <lento/eval.h>

#include "ir/op.h"

#include <bitset>
#include <string>
#include <string_view>

namespace lento {

struct Switches {
  bool fusion = true;
  CodeTier tier = CodeTier::automatic;
  std::bitset<kMaxOps> fallback;  // primitives that run on the reference backend's kernels

  bool falls_back(Op op) const { return fallback[static_cast<std::size_t>(op)]; }
  friend bool operator==(const Switches&, const Switches&) = default;
};

/// What holds for a compile on this thread: what CompileSwitches says, or else what is set. Equal switches have one
/// address, for good. Throws ValueError when LENTO_FUSION, LENTO_TIER or LENTO_FORCE_FALLBACK makes no sense.
const Switches* switches();
/// The same, but null instead of a look at the environment when nobody has asked before.
const Switches* known_switches() noexcept;

/// While it lives, these hold on this thread.
class CompileSwitches {
 public:
  explicit CompileSwitches(const Switches* held);
  ~CompileSwitches();
  CompileSwitches(const CompileSwitches&) = delete;
  CompileSwitches& operator=(const CompileSwitches&) = delete;

 private:
  const Switches* outer_;
};

/// The switches that these options name, and where they name none what the environment says. Throws ValueError.
const Switches* find_switches(const Options& options);
void set_switches(const Switches* chosen);

/// "exp,reduce_sum"
std::string fallback_text(const Switches& switches);

}  // namespace lento
