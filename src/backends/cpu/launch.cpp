#include "backends/cpu/launch.h"

#include "backends/cpu/long_reduction.h"
#include "backends/cpu/threads.h"
#include "ir/reduction_order.h"

#include <unistd.h>

#include <algorithm>
#include <bit>

namespace lento::cpu {

namespace {

/// What counts as one use of code more.
constexpr double kCostOfUse = 100'000 / kNanosecondsPerInstruction;

/// Parts for each thread: enough to balance threads that started late (with 4, 6 % slower than with 16).
constexpr std::int64_t kPartsPerThread = 16;
/// Columns that one part has at least, so that parts share no line of the cache.
constexpr std::int64_t kColumns = 64;

std::int64_t cache_bytes() {
  static const std::int64_t bytes = [] {
    const long last_level = sysconf(_SC_LEVEL3_CACHE_SIZE);
    // Of many processors' caches, and in virtual machines, more is told than one program can use.
    constexpr std::int64_t kMost = std::int64_t{32} << 20;
    return last_level > 0 ? std::min(static_cast<std::int64_t>(last_level), kMost) : kMost;
  }();
  return bytes;
}

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value - 1) / multiple * multiple + multiple;
}

/// How many dimensions one point of the outer ones has.
std::size_t dims_inside(const Kernel& kernel) { return kernel.form == LoopForm::column ? 2 : 1; }

/// One launch, cut into parts.
class Parts {
 public:
  explicit Parts(const KernelLaunch& launch)
      : launch_(launch),
        kernel_(*launch.kernel),
        arguments_(launch.arguments),
        sizes_(launch.sizes),
        cost_(launch.cost) {
    const KernelRange all = whole_range(launch);
    outer_ = all.end;
    inner_ = all.inner_end;
    reduced_ = sizes_[sizes_.size() - dims_inside(kernel_)];
  }

  void run() {
    note_work(kernel_of(launch_), cost_);
    if (cost_ <= kGrain) {
      code_of(launch_).run(arguments_, {0, outer_, 0, inner_});
    } else if (const std::int64_t blocks = blocks_of_part(); blocks != 0) {
      reduce_in_parts(kernel_, sizes_, blocks,
                      [&](const KernelPart& part) { code_of(launch_).run_part(arguments_, part); });
    } else if (crosses_rows()) {
      run_panels();
    } else if (kernel_.form == LoopForm::row || outer_ >= 64) {
      const bool stream = streams();
      parallel_for(outer_, cut(outer_, 1), [&](std::int64_t begin, std::int64_t end) {
        code_of(launch_).run(arguments_, {begin, end, 0, inner_}, stream);
      });
    } else {
      // Cut along the innermost dimension, a map at multiples of a page of floats.
      const bool stream = streams();
      const std::int64_t multiple = kernel_.form == LoopForm::map ? 1024 : kColumns;
      parallel_for(inner_, cut(inner_, multiple), [&](std::int64_t begin, std::int64_t end) {
        code_of(launch_).run(arguments_, {0, outer_, begin, end}, stream);
      });
    }
  }

 private:
  /// How many of `count` equal parts of the work are worth a thread.
  std::int64_t grain(std::int64_t count) const {
    const double each = cost_ / static_cast<double>(std::max<std::int64_t>(count, 1));
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(kGrain / each));
  }

  /// How `count` equal parts of the work are handed out, some of them at a time: the shorter, the more even.
  LoopCut cut(std::int64_t count, std::int64_t multiple) const {
    constexpr std::int64_t kStepsOfGrain = 8;
    const std::int64_t least = grain(count);
    return {.grain = rounded_up(least, multiple),
            .step = rounded_up((least + kStepsOfGrain - 1) / kStepsOfGrain, multiple)};
  }

  /// For reductions that are too few to give every thread some: blocks for each part of one; else 0.
  std::int64_t blocks_of_part() const {
    if (kernel_.form == LoopForm::map || inside_parallel_for()) return 0;
    const std::int64_t blocks = (reduced_ + kReductionBlock - 1) / kReductionBlock;
    const std::int64_t apart = kernel_.form == LoopForm::row ? outer_ : outer_ * ((inner_ + kColumns - 1) / kColumns);
    const std::int64_t threads = get_num_threads();
    if (threads == 1 || blocks < 2 || apart == 0 || apart >= 2 * threads) return 0;
    const std::int64_t wanted = (kPartsPerThread * threads + outer_ - 1) / outer_;
    std::int64_t size = static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(blocks / wanted, 1))));
    while (size < grain(outer_ * blocks)) size *= 2;
    return size < blocks ? size : 0;
  }

  /// Whether a map reads something that has neighbouring rows next to each other in memory.
  bool crosses_rows() const {
    const std::size_t dims = sizes_.size();
    if (kernel_.form != LoopForm::map || dims < 2) return false;
    for (std::size_t j = 0; j < kernel_.operands.size(); ++j) {
      const std::int64_t* strides = arguments_.strides + j * dims;
      const KernelOperandInfo& operand = kernel_.operands[j];
      if (operand.inner == InnerStride::any && !operand.counted && strides[dims - 2] == 1) return true;
    }
    return false;
  }

  /// Rectangles of rows and columns: what is read across rows is used up before it leaves the cache.
  void run_panels() {
    constexpr std::int64_t kPanelRows = 1024;
    const std::int64_t rows = sizes_[sizes_.size() - 2];
    const std::int64_t row_panels = (rows + kPanelRows - 1) / kPanelRows;
    const std::int64_t column_panels = (inner_ + kColumns - 1) / kColumns;
    const std::int64_t panels = rows == 0 ? 0 : outer_ / rows * row_panels * column_panels;
    const bool stream = streams();
    parallel_for(panels, cut(panels, 1), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t column = i % column_panels * kColumns;
        const std::int64_t panel = i / column_panels;
        const std::int64_t row = panel % row_panels * kPanelRows;
        const std::int64_t first = panel / row_panels * rows;
        code_of(launch_).run(
            arguments_,
            {first + row, first + std::min(row + kPanelRows, rows), column, std::min(column + kColumns, inner_)},
            stream);
      }
    });
  }

  /// Whether what a map writes is so much that little of it could stay in the caches.
  bool streams() const {
    if (kernel_.form != LoopForm::map) return false;
    std::int64_t bytes = 0;
    for (const KernelOperandInfo& operand : kernel_.operands) {
      if (operand.output) bytes += static_cast<std::int64_t>(size_of(operand.dtype));
    }
    return outer_ * inner_ * bytes >= cache_bytes();
  }

  const KernelLaunch& launch_;
  const Kernel& kernel_;
  const KernelArguments& arguments_;
  std::span<const std::int64_t> sizes_;
  double cost_;
  std::int64_t outer_ = 1;
  std::int64_t reduced_ = 1;
  std::int64_t inner_ = 1;
};

}  // namespace

KernelRange whole_range(const KernelLaunch& launch) {
  std::int64_t outer = 1;
  for (std::size_t d = 0; d + dims_inside(*launch.kernel) < launch.sizes.size(); ++d) outer *= launch.sizes[d];
  return {0, outer, 0, launch.sizes.back()};
}

void note_work(CachedKernel& kernel, double cost) {
  kernel.note_use(1 + static_cast<std::uint32_t>(std::min(cost / kCostOfUse, 1000.0)));
}

void launch(const KernelLaunch& launch) { Parts(launch).run(); }

}  // namespace lento::cpu
