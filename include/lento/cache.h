// The plan cache (clause E2): a step that was seen before is found here and compiles nothing. And the cache on disk
// (clause E11): what another process compiled is loaded.
#pragma once

#include <lento/device.h>
#include <lento/export.h>
#include <lento/tensor.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

namespace lento {

/// The key under which the pending graph of these tensors is or will be cached; 0 when nothing is pending.
LENTO_API std::uint64_t graph_key(const std::vector<Tensor>& tensors,
                                  std::source_location site = std::source_location::current());
template <std::convertible_to<Tensor> T>
std::uint64_t graph_key(const T& x, std::source_location site = std::source_location::current()) {
  return graph_key(std::vector<Tensor>{x}, site);
}

namespace cache {

struct Info {
  std::size_t entries;
  std::size_t bytes;
  std::size_t limit;
  std::string disk_folder;  // where compiled code is kept; empty while it is not
  std::size_t disk_bytes;   // of everything there, what other processes keep included
  std::size_t disk_limit;
};
LENTO_API Info info();
/// Plans that are running live on until they are done. With `disk` also removes the files of compiled code.
LENTO_API void clear(bool disk = false);
/// Forgets the plan with this graph_key; false when there is none.
LENTO_API bool remove(std::uint64_t key);
/// Computes what the cached plan with this graph_key computes, with other inputs of the same dtypes and shapes, in the
/// order in which the trace first used them; numbers are those of the trace that was compiled. Returns the plan's
/// outputs in the order of their creation. Throws ValueError when there is no such plan, when several that fit have
/// this key by chance, or when the inputs do not fit.
LENTO_API std::vector<Tensor> run(std::uint64_t key, const std::vector<Tensor>& inputs,
                                  std::source_location site = std::source_location::current());
/// A computation that was recorded once and runs with other inputs, without recording functions of its own: what
/// cache::run does, with inputs and outputs in the caller's order, and without a plan that has to stay in the cache.
class LENTO_API Captured {
 public:
  /// Computes the captured outputs from these inputs: one for each that capture() got, with its dtype and shape.
  /// Returns before they are computed, as eval does. Numbers, random ones included, and tensors that are no inputs are
  /// those of the trace.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs,
                                 std::source_location site = std::source_location::current()) const;
  /// The graph_key of what it runs; 0 when that is nothing.
  std::uint64_t key() const;

 private:
  friend LENTO_API Captured capture(const std::vector<Tensor>&, const std::vector<Tensor>&, std::source_location);
  struct State;
  std::shared_ptr<const State> state_;
};
/// Takes what computes `outputs` from `inputs`, which must have been evaluated before the outputs were recorded
/// (ValueError), and starts computing the outputs, so that the plan is there. An output that has been evaluated is a
/// constant: what computed it is gone.
LENTO_API Captured capture(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                           std::source_location site = std::source_location::current());
/// Evicts at once what is over the new limit.
LENTO_API void set_limit(std::size_t bytes);
/// The same for the files of compiled code.
LENTO_API void set_disk_limit(std::size_t bytes);

/// What is known of a cached plan (clause M2).
struct PlanInfo {
  std::uint64_t key;
  Device device;
  std::size_t nodes;
  std::size_t inputs;
  std::size_t outputs;
  std::size_t kernels;       // what the backend launches for one run
  std::size_t code_bytes;    // of machine code; 0 for backends that generate none
  std::size_t planned_peak;  // most bytes one run holds beside its inputs
  double compile_seconds;
};
/// The cached plans, most recently used first.
LENTO_API std::vector<PlanInfo> plans();

}  // namespace cache
}  // namespace lento
