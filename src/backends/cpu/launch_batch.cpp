#include "backends/cpu/launch_batch.h"

#include "backends/cpu/launch.h"
#include "backends/cpu/threads.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lento::cpu {

namespace {

/// What a call of a kernel costs besides its elements, in elements times instructions: some 60 ns.
constexpr std::int64_t kCallCost = 1000;
/// Less work than this in kernels that are not cut stays on the calling thread. It is more than kGrain, since short
/// kernels take less than their estimates (an update of Adam a sixth), and helpers that sleep take long to come.
constexpr double kLeastShared = 32 * kGrain;
/// Kernels are cut at multiples of a page of floats.
constexpr std::int64_t kMultiple = 1024;

/// Whether a part of the kernel is a range of elements. What is small is not cut at all.
bool is_cut(const KernelLaunch& launch) {
  return launch.cost > kGrain && launch.kernel->form == LoopForm::map && launch.kernel->dims == 1;
}

/// Kernels in a row, as long as their costs.
class Row {
 public:
  void add(const KernelLaunch& launch) {
    kernels_.push_back({&launch, length_});
    length_ += static_cast<std::int64_t>(launch.cost) + kCallCost;
    has_cuts_ = has_cuts_ || is_cut(launch);
  }
  std::int64_t length() const { return length_; }
  bool has_cuts() const { return has_cuts_; }

  /// Does what lies from `begin` to `end`: parts of kernels that are cut, others if they begin there.
  void run(std::int64_t begin, std::int64_t end) const {
    const auto after = std::ranges::upper_bound(kernels_, begin, {}, &Entry::begin);
    for (auto entry = after == kernels_.begin() ? after : after - 1; entry != kernels_.end() && entry->begin < end;
         ++entry) {
      const KernelLaunch& launch = *entry->launch;
      KernelRange range = whole_range(launch);
      if (is_cut(launch)) {
        const std::int64_t length = (entry + 1 == kernels_.end() ? length_ : (entry + 1)->begin) - entry->begin;
        const auto element = [&](std::int64_t at) { return element_at(at - entry->begin, length, range.inner_end); };
        range = {0, 1, element(std::max(begin, entry->begin)), element(std::min(end, entry->begin + length))};
        if (range.inner_begin == range.inner_end) continue;
      } else if (entry->begin < begin) {
        continue;
      }
      code_of(launch).run(launch.arguments, range);
    }
  }

 private:
  struct Entry {
    const KernelLaunch* launch;
    std::int64_t begin;
  };

  /// The element at which a kernel of this length is cut at `at`.
  static std::int64_t element_at(std::int64_t at, std::int64_t length, std::int64_t elements) {
    if (at == length) return elements;
    const double share = static_cast<double>(at) / static_cast<double>(length);
    const auto element = static_cast<std::int64_t>(share * static_cast<double>(elements));
    return std::min(element / kMultiple * kMultiple, elements);
  }

  std::vector<Entry> kernels_;
  std::int64_t length_ = 0;
  bool has_cuts_ = false;
};

}  // namespace

void launch_batch(std::span<const KernelLaunch> launches) {
  Row row;
  for (const KernelLaunch& launch : launches) {
    // One that is worth threads, and is not cut as a range, is shared in a way of its own.
    if (launch.cost > kGrain && !is_cut(launch)) {
      cpu::launch(launch);
      continue;
    }
    note_work(kernel_of(launch), launch.cost);
    row.add(launch);
  }
  const std::int64_t length = row.length();
  const bool is_shared = row.has_cuts() || static_cast<double>(length) > kLeastShared;
  parallel_for(length, is_shared ? static_cast<std::int64_t>(kGrain) : length,
               [&](std::int64_t begin, std::int64_t end) { row.run(begin, end); });
}

}  // namespace lento::cpu
