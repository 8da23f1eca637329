// Options that take something away, to find what makes a result wrong: fusion, one of the tiers of code, or code of a
// device's own for some ops. Results do not depend on them. Whoever compiles is given them; nothing looks them up.
#pragma once

#include <lento/eval.h>

#include "ir/op.h"

#include <bitset>
#include <cstddef>

namespace lento {

struct CompileOptions {
  bool fusion = true;
  CodeTier tier = CodeTier::automatic;
  std::bitset<kMaxOps> fallback = {};  // primitives that run without code of the device's own

  bool falls_back(Op op) const { return fallback[static_cast<std::size_t>(op)]; }
  friend bool operator==(const CompileOptions&, const CompileOptions&) = default;
};

}  // namespace lento
