#include "backends/cpu/launch.h"

#include "backends/cpu/threads.h"

#include <algorithm>

namespace lento::cpu {

void launch(const Kernel& kernel, CachedKernel& code, const KernelArguments& arguments,
            std::span<const std::int64_t> sizes, double cost) {
  const std::size_t inner_dims = kernel.form == LoopForm::column ? 2 : 1;
  std::int64_t outer = 1;
  for (std::size_t d = 0; d + inner_dims < sizes.size(); ++d) outer *= sizes[d];
  const std::int64_t inner = sizes.back();
  code.note_use();
  const bool whole_rows = kernel.form == LoopForm::row;
  if (cost <= kGrain) {
    code.run(arguments, {0, outer, 0, inner});
  } else if (whole_rows || outer >= 64) {
    const double each = cost / static_cast<double>(std::max<std::int64_t>(outer, 1));
    parallel_for(outer, std::max<std::int64_t>(1, static_cast<std::int64_t>(kGrain / each)),
                 [&](std::int64_t begin, std::int64_t end) { code.run(arguments, {begin, end, 0, inner}); });
  } else {
    // Cut along the innermost dimension, at multiples of a page of floats, so that parts share no cache line.
    const double each = cost / static_cast<double>(std::max<std::int64_t>(inner, 1));
    const std::int64_t grain = (static_cast<std::int64_t>(kGrain / each) / 1024 + 1) * 1024;
    parallel_for(inner, grain,
                 [&](std::int64_t begin, std::int64_t end) { code.run(arguments, {0, outer, begin, end}); });
  }
}

}  // namespace lento::cpu
