// Evaluating and looking at what is pending.
#pragma once

#include <lento/device.h>
#include <lento/export.h>
#include <lento/tensor.h>

#include <cstdint>
#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace lento {

/// Starts computing these tensors, and keeps every value computed on the way that a live handle names (clause E3). May
/// return before they are done. Throws when a plan cannot be made; nothing has changed then (clause E6). An op that fails
/// while running is reported by reading what depends on it, and once by wait() (clause E7).
LENTO_API void eval(const std::vector<Tensor>& tensors, std::source_location site = std::source_location::current());
template <class... Tensors>
  requires(std::same_as<Tensors, Tensor> && ...)
void eval(const Tensor& first, const Tensors&... rest) {
  eval(std::vector<Tensor>{first, rest...});
}

/// Starts computing every live pending tensor that the calling thread recorded for the device (clause E1). Returns at
/// once unless `wait` is set or more than Options::max_inflight_steps steps are under way. Throws as eval does.
LENTO_API void step(Device device = {}, bool wait = false,
                    std::source_location site = std::source_location::current());

/// Blocks until everything launched on these devices (all of them by default) has run; throws a failure that no wait
/// has reported before.
LENTO_API void wait(const std::vector<Device>& devices = {});

/// Why steps were compiled and which lines waited for values since the last call, in plain sentences (clause M3).
LENTO_API std::string explain();

/// The plan cache (clause E2): a repeated step is found here and compiles nothing.
struct CacheInfo {
  std::size_t entries;
  std::size_t bytes;
  std::size_t limit;
};
namespace cache {
LENTO_API CacheInfo info();
LENTO_API void clear();
/// Forgets the plan with this graph_key; false when there is none.
LENTO_API bool remove(std::uint64_t key);
/// Evicts at once what is over the new limit.
LENTO_API void set_limit(std::size_t bytes);
}  // namespace cache
/// The key under which the pending graph of these tensors is or will be cached; 0 when nothing is pending.
LENTO_API std::uint64_t graph_key(const std::vector<Tensor>& tensors);

enum class DumpFormat : std::uint8_t { text, dot, json };
/// The pending graph of these tensors (clause M2). Evaluates nothing; a tensor that is ready appears as nothing to do.
LENTO_API std::string dump(const std::vector<Tensor>& tensors, DumpFormat format = DumpFormat::text);

/// One line of live_tensors().
struct LiveTensor {
  std::uint64_t id;
  DType dtype;
  Shape shape;
  std::string state;   // "pending", "ready" or "failed"
  std::string source;  // the line that made it, "" when unknown
};
/// Pending tensors that live handles of this thread name, in creation order.
LENTO_API std::vector<LiveTensor> live_tensors();

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

struct Options {
  /// Past this many pending records of a thread the oldest part is evaluated (clause T9).
  std::uint32_t max_pending_nodes = 100'000;
  /// With more steps than this under way on a device, step() waits (clause E1).
  std::uint32_t max_inflight_steps = 16;
};
LENTO_API Options options();
/// Throws ValueError for values that make no sense.
LENTO_API void set_options(const Options& options);

/// Counters (clause M1): "op.<name>", "tensor.created", "transfer.h2d", "sync.implicit", "donation", "graph.trimmed", …
namespace metrics {
LENTO_API std::uint64_t counter(std::string_view name);
LENTO_API std::map<std::string, std::uint64_t> counters();
LENTO_API void reset();
}  // namespace metrics

/// Bytes of tensor memory in use now, and the most there were since reset_peak.
struct MemoryUse {
  std::size_t live;
  std::size_t peak;
};
LENTO_API MemoryUse memory();
LENTO_API void reset_peak_memory();

}  // namespace lento
