#include "executor/compile_settings.h"

#include "base/fail.h"
#include "base/fork.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>

namespace lento {

namespace {

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

/// A name without spaces around it and without PyTorch's namespace.
std::string_view plain_name(std::string_view name) {
  while (name.starts_with(' ')) name.remove_prefix(1);
  while (name.ends_with(' ')) name.remove_suffix(1);
  constexpr std::string_view kTheirs = "aten::";
  if (name.starts_with(kTheirs)) name.remove_prefix(kTheirs.size());
  return name;
}

/// The ops of a list such as "exp,reduce_sum".
std::bitset<kMaxOps> parse_fallback(std::string_view list, std::string_view setting) {
  std::bitset<kMaxOps> ops;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = plain_name(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (name.empty()) continue;
    const std::optional<Op> op = find_op(name);
    if (!op) fail<ValueError>("{} names '{}', which is no primitive", setting, name);
    ops.set(static_cast<std::size_t>(*op));
  }
  return ops;
}

CompileOptions read_environment() {
  CompileOptions found;
  const std::string_view fusion = variable("LENTO_FUSION");
  if (fusion != "" && fusion != "on" && fusion != "off") {
    fail<ValueError>("LENTO_FUSION is '{}'; it must be on or off", fusion);
  }
  found.fusion = fusion != "off";
  const std::string_view tier = variable("LENTO_TIER");
  if (tier == "0") {
    found.tier = CodeTier::zero;
  } else if (tier == "1") {
    found.tier = CodeTier::one;
  } else if (!tier.empty()) {
    fail<ValueError>("LENTO_TIER is '{}'; it must be 0 or 1", tier);
  }
  // The second is the name in programs that were written for PyTorch's lazy tensors.
  const bool own = std::getenv("LENTO_FORCE_FALLBACK") != nullptr;
  const char* const fallback = own ? "LENTO_FORCE_FALLBACK" : "LTC_FORCE_FALLBACK";
  found.fallback = parse_fallback(variable(fallback), fallback);
  return found;
}

/// Every combination that was ever set, and what the environment says. The latter is read once: a setting that changes
/// in the middle would be of no use to anybody.
class Known {
 public:
  const CompileOptions* find_or_add(const CompileOptions& wanted) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(all_, wanted);
    return found != all_.end() ? &*found : &all_.emplace_back(wanted);
  }
  CompileOptions from_environment() {
    const std::lock_guard lock(mutex_);
    if (!from_environment_) from_environment_ = read_environment();
    return *from_environment_;
  }

 private:
  ForkMutex mutex_{ForkOrder::notes};
  std::deque<CompileOptions> all_;
  std::optional<CompileOptions> from_environment_;
};

Known& known() { return ProcessLifetime<Known>::get(); }

std::atomic<const CompileOptions*> current{nullptr};

}  // namespace

const CompileOptions* known_compile_options() noexcept { return current.load(std::memory_order_acquire); }

const CompileOptions* compile_options() {
  const CompileOptions* now = known_compile_options();
  if (now != nullptr) return now;
  const CompileOptions* first = known().find_or_add(known().from_environment());
  // Unless somebody has set others meanwhile.
  return current.compare_exchange_strong(now, first, std::memory_order_acq_rel) ? first : now;
}

const CompileOptions* find_compile_options(const Options& options) {
  CompileOptions chosen = known().from_environment();
  if (options.fusion) chosen.fusion = *options.fusion;
  if (options.tier) chosen.tier = *options.tier;
  if (options.force_fallback) chosen.fallback = parse_fallback(*options.force_fallback, "force_fallback");
  return known().find_or_add(chosen);
}

void set_compile_options(const CompileOptions* chosen) { current.store(chosen, std::memory_order_release); }

std::string fallback_text(const CompileOptions& options) {
  std::string text;
  for (const Op op : all_ops()) {
    if (!options.falls_back(op)) continue;
    if (!text.empty()) text += ',';
    text += info(op).name;
  }
  return text;
}

}  // namespace lento
