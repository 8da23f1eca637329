// What the command line says.
#pragma once

#include "backends/cpu/code/jit.h"
#include "codegen/c_source.h"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lento::opt {

/// What is shown, in the order in which a graph goes through it.
enum class Stage : std::uint8_t { parse, rules, dead_code, schedule, kernels, memory, code };

inline constexpr std::array<std::string_view, 7> kStageNames = {"parse",   "rules",  "dead-code", "schedule",
                                                                "kernels", "memory", "code"};

struct Settings {
  bool help = false;
  std::string file = "-";  // "-": standard input
  Stage last = Stage::memory;
  std::bitset<kStageNames.size()> shown = std::bitset<kStageNames.size()>().set();

  bool simplify = true;
  std::optional<bool> fusion;                 // nothing: what LENTO_FUSION says
  std::optional<std::string> force_fallback;  // nothing: what LENTO_FORCE_FALLBACK says
  std::optional<std::int64_t> tile_elements;  // of a chain

  bool llvm = true;
  bool assembly = true;
  cpu::Tier tier = cpu::Tier::one;
  std::optional<cpu::Isa> isa;  // nothing: the best of this processor

  std::vector<codegen::CFunction> math_c;  // if there are any, they are all that is shown

  bool shows(Stage stage) const { return stage <= last && shown[static_cast<std::size_t>(stage)]; }
};

/// Wrong usage; its message is for people.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws UsageError.
Settings read_settings(std::span<const std::string> arguments);

std::string_view help_text();

}  // namespace lento::opt
