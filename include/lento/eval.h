// Evaluating what is pending: eval, step, wait, and the options that steer them.
#pragma once

#include <lento/device.h>
#include <lento/export.h>
#include <lento/tensor.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace lento {

/// Starts computing these tensors, and keeps every value computed on the way that a live handle names (clause E3). May
/// return before they are done. Throws when a plan cannot be made; nothing has changed then (clause E6). An op that
/// fails while running is reported by reading what depends on it, and once by wait() (clause E7).
LENTO_API void eval(const std::vector<Tensor>& tensors, std::source_location site = std::source_location::current());
template <std::convertible_to<Tensor> T>
void eval(const T& x, std::source_location site = std::source_location::current()) {
  eval(std::vector<Tensor>{x}, site);
}
/// eval(x, y, z)
template <std::convertible_to<Tensor>... Tensors>
void eval(const LocatedTensor& first, const Tensor& second, const Tensors&... rest) {
  eval(std::vector<Tensor>{first.tensor, second, rest...}, first.site);
}

struct EvalOptions {
  bool wait = false;  // go on as wait() for the devices that the tensors are on
};
LENTO_API void eval(const std::vector<Tensor>& tensors, EvalOptions options,
                    std::source_location site = std::source_location::current());
template <std::convertible_to<Tensor> T>
void eval(const T& x, EvalOptions options, std::source_location site = std::source_location::current()) {
  eval(std::vector<Tensor>{x}, options, site);
}

struct StepOptions {
  bool wait = false;         // return when the work is done; throws what this step failed with, and nothing older
  bool all_threads = false;  // take what every thread has recorded, not only the caller
};

/// Starts computing every live pending tensor that the calling thread recorded for the device, then runs the step
/// closures (clauses E1, C2). Returns before the work is done unless asked to wait, or when more than
/// Options::max_inflight_steps steps are under way. Throws as eval does.
LENTO_API void step(Device device = {}, StepOptions options = {},
                    std::source_location site = std::source_location::current());

/// Blocks until everything launched on these devices (all of them by default) has run; throws a failure that no wait
/// has reported before.
LENTO_API void wait(const std::vector<Device>& devices = {},
                    std::source_location site = std::source_location::current());

enum class DumpFormat : std::uint8_t {
  text,
  dot,
  json,
  backend,  // what the backend makes of it; compiles, but runs nothing
};
/// The pending graph of these tensors (clause M2). A tensor that is ready appears as nothing to do.
LENTO_API std::string dump(const std::vector<Tensor>& tensors, DumpFormat format = DumpFormat::text,
                           std::source_location site = std::source_location::current());
template <std::convertible_to<Tensor> T>
std::string dump(const T& x, DumpFormat format = DumpFormat::text,
                 std::source_location site = std::source_location::current()) {
  return dump(std::vector<Tensor>{x}, format, site);
}

/// Names the ops recorded while it lives: `Scope layer("layer1");`. Scopes nest: "model/layer1".
class LENTO_API Scope {
 public:
  explicit Scope(std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::uint32_t outer_;
};

/// What a read that has to evaluate something does (clause E8).
enum class SyncMode : std::uint8_t {
  allow,  // counts it
  warn,   // and warns, once per line
  error,  // throws instead
};

/// What becomes of ops that a device has no code for (clause D6).
enum class FallbackMode : std::uint8_t {
  allow,  // they run on the CPU device, with copies around them
  error,  // what would run them throws BackendError
};

/// Which code of kernels runs on the CPU.
enum class CodeTier : std::uint8_t {
  automatic,  // what is compiled at once, and in its place, when a kernel runs often, what is compiled with more care
  zero,       // only the former
  one,        // only the latter
};

struct Options {
  /// Past this many pending records of a thread the oldest part is evaluated (clause T9).
  std::uint32_t max_pending_nodes = 100'000;
  /// With more steps than this under way on a device, step() waits (clause E1).
  std::uint32_t max_inflight_steps = 16;
  SyncMode sync = SyncMode::allow;
  /// Whether SyncMode::warn also tells of reads that evaluate nothing but wait for work that was started. Whether one
  /// waits depends on how fast the work was, so SyncMode::error leaves them alone.
  bool sync_wait = false;
  FallbackMode fallback = FallbackMode::allow;
  /// Whether compiled code is kept on disk and found there (clause E11). Nothing means what LENTO_DISK_CACHE says.
  std::optional<bool> disk_cache;
  /// To find what makes a result wrong, take something away: ops that run together, a tier of code, code of our own for
  /// some ops (primitives by name, separated by commas). Nothing means what LENTO_FUSION, LENTO_TIER and
  /// LENTO_FORCE_FALLBACK say. Plans that were made under other settings are left alone and found when these return.
  std::optional<bool> fusion;
  std::optional<CodeTier> tier;
  std::optional<std::string> force_fallback;
};
LENTO_API Options options();
/// Throws ValueError for values that make no sense.
LENTO_API void set_options(const Options& options, std::source_location site = std::source_location::current());

enum class WarningKind : std::uint8_t {
  sync,   // a read forced an evaluation, or waited for one (SyncMode::warn)
  other,  // something the user asked for cannot be done, and the work goes on without it
};
/// Where warnings go, by default to the standard error stream. The handler may throw; then the call that warned does.
using WarningHandler = void (*)(WarningKind kind, const std::string& message);
LENTO_API void set_warning_handler(WarningHandler handler);

}  // namespace lento
