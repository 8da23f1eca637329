// Driver: what a device gives so that the runtime can run compiled programs on it: memory, code for kernels, calls, and
// ways to run them. Everything else about a program is the same for all devices (src/compiler, src/runtime).
#pragma once

#include "backend/node_call.h"
#include "backend/status_words.h"
#include "base/buffer.h"
#include "compiler/compile_options.h"
#include "compiler/schedule.h"
#include "compiler/target.h"
#include "ir/bad_values.h"
#include "ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lento {

/// The code of one kernel on one device; programs share it. It lives until all launches of it have ended.
class KernelBinary {
 public:
  virtual ~KernelBinary() = default;
  /// Bytes of machine code, for reports and the limit of the plan cache.
  virtual std::size_t code_bytes() const = 0;
  /// Compiles it with care now instead of when it has run often.
  virtual void improve() {}
};
using KernelBinaryRef = std::shared_ptr<KernelBinary>;

/// What one run of a call reads and writes. Operands are contiguous, except those of ops that Target::takes_views
/// names, which lie as the step's views say.
struct CallArguments {
  std::span<void* const> operands;                 // one per operand of the node; null for a number
  std::span<const ScalarArgument* const> numbers;  // one per operand of the node; null for a tensor
  std::span<void* const> results;                  // one per result the op declares; null when nobody wants it
  // One per operand of the node, or none: it lies in an input that is nobody else's.
  std::span<const std::uint8_t> inputs = {};
  // Of a device with queues: its words, those for indices first (ir/index_operands.h). Null when it has none.
  StatusWord* status = nullptr;
};

/// A call that a device has something of its own for: planned when a program is made, run any number of times. It lives
/// until all that it queued has ended.
class PreparedCall {
 public:
  virtual ~PreparedCall() = default;
  /// An op that updates its first operand finds that operand's elements in the result. Throws Error when the values are
  /// bad (an index out of range): the node is poisoned. On a device with queues it is queued, as a launch is, and bad
  /// values are told in its status words: one for each operand of indices, and as many as it asks for.
  virtual void run(const CallArguments& arguments) const = 0;
  /// How many it writes besides those for indices.
  virtual std::size_t status_words() const { return 0; }
  /// What the `which`-th of them says. `word` is not zero. For values that are bad, ir/bad_values.h knows.
  virtual BadValue explain(std::size_t which, StatusWord word) const;
  /// Whether the calling thread waits for the device. Such programs run on a worker.
  virtual bool waits() const { return false; }
  /// A guess at its time.
  virtual double nanoseconds() const = 0;
  /// About what its tables take, for the limit of the plan cache.
  virtual std::size_t bytes() const { return 0; }
};

/// What a device makes of a schedule.
struct PreparedSchedule {
  std::vector<KernelBinaryRef> kernels;                    // one per kernel of the schedule
  std::vector<std::unique_ptr<const PreparedCall>> calls;  // one per step; null for kernels and for what runs alone
  std::size_t compiled = 0;                                // kernels that had to be compiled
};

/// The steps that are calls for which a device may have something of its own: all but those that the user takes from
/// it.
std::vector<std::size_t> own_calls(const Graph& graph, const Schedule& schedule, const CompileOptions& options);

/// A kernel with all it needs to run.
struct KernelLaunch {
  KernelBinary* binary;
  const Kernel* kernel;
  KernelArguments arguments;            // in a chain, addresses of operands in the tile are set for each tile
  std::span<const std::int64_t> sizes;  // those of the arguments
  double cost;                          // elements times instructions
  std::size_t tile_count = 0;           // how many of the chain's tile operands are its own
  // Of a device with queues, one per operand of a kernel that picks rows: the position that does not exist.
  StatusWord* status = nullptr;
};

/// An operand of a kernel in a chain that lies in the scratch memory of a tile.
struct TileOperand {
  std::uint32_t operand;
  std::size_t offset;
  std::size_t element_bytes;
};

/// Everything is called with addresses of the device's memory. On a device without queues what a function does is done
/// when it comes back, and positions by which a kernel picks rows are in range. On a device with queues (queues.h) it
/// is queued for Queue::compute, in the order of the calls; arguments that are passed are copied; kernels check
/// positions, and read some row or other where there is none.
///
/// A device with queues that stops working (clause D5) first calls lose_device() of base/usable_devices.h. Then nothing
/// of it touches memory any more, all its fences are reached, and what is asked of it throws DeviceLostError
/// (require_usable()), except for fences and freeing memory. Before its first use it calls forbid_in_child().
class Driver {
 public:
  virtual ~Driver() = default;
  virtual const Target& target() const = 0;

  /// Not initialised, and used by what is queued for computing from now on: memory that was freed before may still be
  /// in use by what is queued already. Throws MemoryError.
  virtual BufferRef allocate(std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Says that a buffer's memory is about to get another value: what was derived from the old one is stale.
  virtual void overwrites(const Buffer&) {}

  /// Throws BackendError or MemoryError.
  virtual PreparedSchedule prepare(const Graph& graph, const Schedule& schedule, const CompileOptions& options) = 0;

  /// Runs a kernel over its whole iteration space.
  virtual void launch(const KernelLaunch& launch) = 0;
  /// Runs the kernels of a chain tile by tile. Tile operands stand in the order of the launches. Called only when the
  /// target has tiles.
  virtual void launch_chain(std::span<const KernelLaunch> launches, std::span<const TileOperand> tile_operands,
                            const Chain& chain);
  /// Runs the kernels of a batch: in any order, or at once. Called only when the target has batches. A device that has
  /// nothing better launches one after the other.
  virtual void launch_batch(std::span<const KernelLaunch> launches);
  /// Of a device without queues: runs an op that has no code of the device's own, or a node of a step in which
  /// something failed. Throws Error. With queues, such ops run on the CPU device.
  virtual void run_node(const NodeCall& call);

  // --- of devices with queues ---

  /// The words of one run; called before anything of it is queued. Throws MemoryError.
  virtual std::unique_ptr<StatusWords> status_words(std::size_t count);
  /// The calling thread begins to queue. Until the submission ends, what it queues for Queue::compute may be held back
  /// (in one block of arguments, in a graph), since nobody waits for it: this thread neither records a fence there nor
  /// waits for one. Memory that is used stays until then. Submissions of one thread do not overlap; other threads may
  /// queue at the same time. Throws BackendError or MemoryError: then none has begun.
  virtual void begin_submission() {}
  /// Everything is on its way: a fence that is recorded from now on is behind it. When this throws, all of the run that
  /// it belongs to has failed, and it does not matter which part of the submission runs; what has not been handed over
  /// by then never is.
  virtual void end_submission() {}
  /// The same in place of the end, when the run broke off.
  virtual void drop_submission() noexcept {}
};

}  // namespace lento
