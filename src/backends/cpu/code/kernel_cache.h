// The code of kernels, shared by all programs: a kernel is found on disk or compiled once, at first quickly, and again
// with more care when it turns out to run often.
#pragma once

#include <lento/eval.h>

#include "backend/driver.h"
#include "backends/cpu/code/jit.h"
#include "compiler/kernel.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lento::cpu {

class CachedKernel final : public KernelBinary, public std::enable_shared_from_this<CachedKernel> {
 public:
  CachedKernel(Kernel kernel, CodeTier tier) : kernel_(std::move(kernel)), tier_(tier) {}

  const Kernel& kernel() const { return kernel_; }
  CodeTier tier() const { return tier_; }
  void run(const KernelArguments& arguments, const KernelRange& range, bool stream = false) {
    current_.load(std::memory_order_acquire)->run(arguments, range, stream);
  }
  void run_part(const KernelArguments& arguments, const KernelPart& part) {
    current_.load(std::memory_order_acquire)->run_part(arguments, part);
  }
  /// To be called once per step, not once per part of it; a long one counts as many. Asks for better code when there
  /// were many.
  void note_use(std::uint32_t weight = 1);
  /// Uses that were noted, until there were many.
  std::uint32_t uses() const { return uses_.load(std::memory_order_relaxed); }
  /// Of all code it has. It must have been compiled.
  std::size_t code_bytes() const override {
    const KernelCode* current = current_.load(std::memory_order_acquire);
    return current->code_bytes() + (current == first_.get() ? 0 : first_->code_bytes());
  }

  /// Finds the first code on disk or compiles it, if nobody has. True if it did. Throws BackendError; the next call
  /// tries again.
  bool ensure_compiled();
  /// Compiles the better code and swaps it in; once.
  void improve() override;

 private:
  static constexpr std::uint32_t kOften = 32;

  const Kernel kernel_;
  const CodeTier tier_;
  std::once_flag compiled_;
  std::once_flag improved_;
  std::atomic<const KernelCode*> current_{nullptr};
  std::atomic<std::uint32_t> uses_{0};
  // Both are kept: a run may be inside either.
  std::shared_ptr<const KernelCode> first_;
  std::shared_ptr<const KernelCode> better_;
};
using KernelRef = std::shared_ptr<CachedKernel>;

/// The compiled code of these kernels; what is missing is loaded or compiled on all threads. Counts kernel.compile and
/// kernel.hit. `compiled` becomes how many were missing. Kernels of different tiers share nothing.
std::vector<KernelRef> find_kernels(const std::vector<Kernel>& kernels, CodeTier tier, std::size_t& compiled);

}  // namespace lento::cpu
