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

/// Computes these tensors, and keeps every value computed on the way that a live handle names (clause E3).
LENTO_API void eval(const std::vector<Tensor>& tensors, std::source_location site = std::source_location::current());
template <class... Tensors>
  requires(std::same_as<Tensors, Tensor> && ...)
void eval(const Tensor& first, const Tensors&... rest) {
  eval(std::vector<Tensor>{first, rest...});
}

/// Computes every live pending tensor that the calling thread recorded for the device (clause E1).
LENTO_API void step(Device device = {});

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
