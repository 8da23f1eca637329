// Library steps: calls that have something better than the reference backend's kernel, planned when a program is made.
// `make_library_step` knows which family an op belongs to.
#pragma once

#include "compiler/schedule.h"

#include <cstddef>
#include <memory>
#include <span>

namespace lento::cpu {

/// What one run of a call reads and writes. Operands are contiguous, but those of ops that `takes_views` names, which
/// lie as the step's views say.
struct CallArguments {
  std::span<void* const> operands;                 // one per operand of the node; null for a number
  std::span<const ScalarArgument* const> numbers;  // one per operand of the node; null for a tensor
  std::span<void* const> results;                  // one per result the op declares; null when nobody wants it
  std::span<const std::uint8_t> inputs =
      {};  // one per operand of the node: lies in an input that is nobody else's; or none
};

class LibraryStep {
 public:
  virtual ~LibraryStep() = default;
  /// Runs on the team of threads. An op that updates its first operand finds that operand's elements in the result.
  /// Throws Error when the values are bad (an index out of range): the node is poisoned.
  virtual void run(const CallArguments& arguments) const = 0;
  /// A guess at the time on one thread.
  virtual double nanoseconds() const = 0;
  /// About what its tables take, for the limit of the plan cache.
  virtual std::size_t bytes() const { return 0; }
};

/// Null when the call is left to the reference backend.
std::unique_ptr<const LibraryStep> make_library_step(const Graph& graph, const Step& step);

// Families that have plans of their own (matmul.h, conv.h, fft.h, linalg.h).
std::unique_ptr<const LibraryStep> make_matmul_step(const Graph& graph, const Step& step);
std::unique_ptr<const LibraryStep> make_convolution_step(const Graph& graph, const Step& step);
std::unique_ptr<const LibraryStep> make_fft_step(const Graph& graph, const Step& step);
std::unique_ptr<const LibraryStep> make_linalg_step(const Graph& graph, const Step& step);
// Families of native/, each in the file of its name; make_creation_step in create.cpp.
std::unique_ptr<const LibraryStep> make_gather_step(const Graph& graph, const Step& step);
std::unique_ptr<const LibraryStep> make_scatter_step(const Graph& graph, const Step& step);
std::unique_ptr<const LibraryStep> make_concatenate_step(const Graph& graph, const Step& step);
std::unique_ptr<const LibraryStep> make_pad_step(const Graph& graph, const Step& step);
std::unique_ptr<const LibraryStep> make_update_step(const Graph& graph, const Step& step);
std::unique_ptr<const LibraryStep> make_creation_step(const Graph& graph, const Step& step);
std::unique_ptr<const LibraryStep> make_scan_step(const Graph& graph, const Step& step);
std::unique_ptr<const LibraryStep> make_sort_step(const Graph& graph, const Step& step);
std::unique_ptr<const LibraryStep> make_top_k_step(const Graph& graph, const Step& step);
std::unique_ptr<const LibraryStep> make_search_step(const Graph& graph, const Step& step);

}  // namespace lento::cpu
