// CodeCache: the code of kernels on one device, shared by all programs. Code is found in memory or on disk, or it is
// compiled, once, however many threads ask for it. Where a device has tiers it is compiled quickly at first, and again
// with more care when it turns out to run often.
//
// What the bytes of code are, and how they become something that runs, is the device's: it gives a CodeMaker.
#pragma once

#include <lento/eval.h>

#include "backend/disk_cache.h"
#include "backend/driver.h"
#include "base/function_ref.h"
#include "compiler/kernel.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace lento {

/// How much work goes into code. Results have the same bits.
enum class Tier : std::uint8_t {
  zero,  // at once: straight to code
  one,   // for kernels that run often
};

/// Code of one kernel that can run. May run on many threads at once.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  /// Of memory that it takes.
  virtual std::size_t code_bytes() const = 0;
};
using LoadedCodeRef = std::shared_ptr<const LoadedCode>;

/// What a device gives. Every function may be called by many threads at once.
class CodeMaker {
 public:
  virtual ~CodeMaker() = default;
  /// Whether tiers differ. Where they do not, all code is of tier one and nothing is compiled twice.
  virtual bool has_tiers() const = 0;
  /// Everything that decides the bytes besides the kernel and the build of Lento: compiler, processor, options, tier.
  /// Bytes are kept on disk under it, so that they come back only where it is the same.
  virtual std::string target(Tier tier) const = 0;
  /// The bytes, in which there are no addresses of this process. Throws BackendError or MemoryError.
  virtual std::vector<std::byte> compile(const Kernel& kernel, Tier tier) const = 0;
  /// Code that runs, from bytes that compile() made of this kernel, perhaps in another process. Throws BackendError
  /// when they are damaged, and MemoryError.
  virtual LoadedCodeRef load(const Kernel& kernel, std::span<const std::byte> bytes) const = 0;
  /// Calls body(0) … body(count - 1). A device that has threads for that uses them.
  virtual void for_each(std::size_t count, FunctionRef<void(std::size_t)> body) const;
};
using CodeMakerRef = std::shared_ptr<const CodeMaker>;

/// A kernel with the code it has by now.
class CachedKernel final : public KernelBinary, public std::enable_shared_from_this<CachedKernel> {
 public:
  /// `disk` outlives what finish_later() was given; null means the process's.
  CachedKernel(Kernel kernel, CodeTier tier, CodeMakerRef maker, DiskCache* disk = nullptr);

  const Kernel& kernel() const { return kernel_; }
  CodeTier tier() const { return tier_; }
  /// It must have been compiled. Better code may come at any time; what was returned stays as long as this.
  const LoadedCode& code() const { return *current_.load(std::memory_order_acquire); }
  /// To be called once per step, not once per part of it; a long one counts as many. Asks for better code when there
  /// were many.
  void note_use(std::uint32_t weight = 1);
  /// Uses that were noted, until there were many.
  std::uint32_t uses() const { return uses_.load(std::memory_order_relaxed); }
  /// Of all code it has. It must have been compiled.
  std::size_t code_bytes() const override;

  /// Finds the first code on disk or compiles it, if nobody has. True if it did. Throws BackendError; the next call
  /// tries again.
  bool ensure_compiled();
  /// Compiles the better code and swaps it in; once.
  void improve() override;

 private:
  static constexpr std::uint32_t kOften = 32;

  DiskCache& disk() const { return disk_ == nullptr ? disk_cache() : *disk_; }
  /// The code that some process kept; null when there is none that can be used.
  LoadedCodeRef load(Tier tier) const;
  /// Keeps the bytes too; a thread of low priority writes them.
  LoadedCodeRef compile(Tier tier) const;

  const Kernel kernel_;
  const CodeTier tier_;
  const CodeMakerRef maker_;
  DiskCache* const disk_;
  std::once_flag compiled_;
  std::once_flag improved_;
  std::atomic<const LoadedCode*> current_{nullptr};
  std::atomic<std::uint32_t> uses_{0};
  // Both are kept: a run may be inside either.
  LoadedCodeRef first_;
  LoadedCodeRef better_;
};
using CachedKernelRef = std::shared_ptr<CachedKernel>;

class CodeCache {
 public:
  explicit CodeCache(CodeMakerRef maker, DiskCache* disk = nullptr) : maker_(std::move(maker)), disk_(disk) {}
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  /// The kernels, each with code; what has none is loaded or compiled. Counts kernel.compile and kernel.hit. `compiled`
  /// becomes how many had none. Kernels of different tiers share nothing. Throws what the CodeMaker throws.
  std::vector<KernelBinaryRef> find(std::span<const Kernel> kernels, CodeTier tier, std::size_t& compiled);

 private:
  /// The most recently found first.
  using Order = std::list<CachedKernelRef>;

  CachedKernelRef find_or_add(const Kernel& kernel, CodeTier tier);
  void evict();

  const CodeMakerRef maker_;
  DiskCache* const disk_;
  // What follows needs the lock of code_cache.cpp, which is not held while anything is compiled.
  Order order_;
  std::unordered_multimap<std::uint64_t, Order::iterator> by_hash_;
};

}  // namespace lento
