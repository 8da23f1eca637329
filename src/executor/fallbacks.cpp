#include "executor/fallbacks.h"

#include "base/called.h"
#include "base/devices.h"
#include "base/fail.h"
#include "base/fork.h"
#include "ir/op.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <compare>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace lento {

namespace {

std::atomic<FallbackMode> mode{FallbackMode::allow};

constexpr std::size_t kMaxPlaces = 1000;  // more than anybody reads

/// An op at a place of the program. Lines are turned into text when somebody asks: a front end may need its locks for
/// that.
struct Place {
  std::uint8_t device;
  Op op;
  const void* unit;
  std::uint32_t position;
  std::uint32_t scope;
  friend auto operator<=>(const Place&, const Place&) = default;
};

struct Notes {
  ForkMutex mutex{ForkOrder::notes};
  std::map<Place, std::uint64_t> runs;
  std::array<std::uint64_t, kMaxDevices> copies{};
};
Notes& notes() { return ProcessLifetime<Notes>::get(); }

/// "`sort` (`sort_values`) at train.py:3"
std::string op_text(Op op, const Source& source) {
  const std::string_view name = info(op).name;
  const std::string_view called = called_function(source);
  const std::string line = to_string(source);
  return (called.empty() || called == name ? fmt::format("`{}`", name) : fmt::format("`{}` (`{}`)", called, name)) +
         (line.empty() ? "" : " at " + line);
}

std::string times_text(std::uint64_t times) { return fmt::format("{} time{}", times, times == 1 ? "" : "s"); }

}  // namespace

FallbackMode fallback_mode() { return mode.load(std::memory_order_relaxed); }
void set_fallback_mode(FallbackMode wanted) { mode.store(wanted, std::memory_order_relaxed); }

void check_fallbacks(const Plan& plan, std::span<const Source> sources) {
  if (!is_refused(plan)) return;
  std::vector<std::string> ops;
  for (const Fallback& fallback : plan.program->fallbacks()) {
    std::string text = op_text(fallback.op, sources[fallback.node]);
    if (std::ranges::find(ops, text) == ops.end()) ops.push_back(std::move(text));
  }
  fail<BackendError>("{} has no code for {}, and options(fallback=\"error\") keeps the CPU device from running it",
                     RegisteredDevice::of(plan.device).to_string(), fmt::join(ops, ", "));
}

void note_fallbacks(const Plan& plan, std::span<const Source> sources) {
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  for (const Fallback& fallback : plan.program->fallbacks()) {
    const Source& source = sources[fallback.node];
    const Place place{plan.device, fallback.op, source.unit, source.position, source.scope};
    if (all.runs.size() < kMaxPlaces || all.runs.contains(place)) ++all.runs[place];
  }
  all.copies[plan.device] += plan.program->fallback_copies();
}

std::string describe_fallbacks() {
  std::map<Place, std::uint64_t> runs;
  std::array<std::uint64_t, kMaxDevices> copies{};
  {
    Notes& all = notes();
    const std::lock_guard lock(all.mutex);
    runs.swap(all.runs);
    copies = std::exchange(all.copies, {});
  }
  // One line of a front end has many positions.
  std::map<std::string, std::uint64_t> by_text;
  for (const auto& [place, times] : runs) {
    by_text[fmt::format("{} on the CPU device, since {} has no code for it,",
                        op_text(place.op, Source{place.unit, place.position, place.scope}),
                        RegisteredDevice::of(place.device).to_string())] += times;
  }
  std::string text;
  for (const auto& [what, times] : by_text) text += fmt::format("Ran {} {}.\n", what, times_text(times));
  for (std::uint8_t device = 0; device < kMaxDevices; ++device) {
    if (copies[device] == 0) continue;
    text += fmt::format("Copied {} between {} and the host for that.\n", times_text(copies[device]),
                        RegisteredDevice::of(device).to_string());
  }
  return text;
}

}  // namespace lento
