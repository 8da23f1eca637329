#include "compiler/chains.h"

#include "compiler/schedule.h"

#include <algorithm>
#include <unordered_set>

namespace lento {

namespace {

/// Whether a step can be part of a chain at all.
bool can_chain(const Schedule& schedule, const Step& step, std::int64_t tile) {
  if (!step.is_kernel()) return false;
  const KernelStep& run = step.kernel();
  const Kernel& kernel = schedule.kernels[run.kernel];
  return kernel.form == LoopForm::map && kernel.dims == 1 && run.sizes[0] >= 4 * tile && run.picked.empty() &&
         std::ranges::all_of(run.strides, [](std::int64_t stride) { return stride == 0 || stride == 1; });
}

/// The nodes that the steps of a chain have written.
class Written {
 public:
  void add(const Schedule& schedule, const KernelStep& step) {
    const Kernel& kernel = schedule.kernels[step.kernel];
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      if (kernel.operands[i].output) nodes_.insert(step.operands[i].base.index());
    }
  }

  /// True when a step reads some of them, and all those element by element from the first on.
  bool feeds(const Schedule& schedule, const KernelStep& step) const {
    const Kernel& kernel = schedule.kernels[step.kernel];
    bool any = false;
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      const StepOperand& operand = step.operands[i];
      const bool read = !kernel.operands[i].output && operand.base.kind() == OperandRef::Kind::record &&
                        nodes_.contains(operand.base.index());
      if (read && (step.strides[i] != 1 || !operand.starts.empty())) return false;
      any = any || read;
    }
    return any;
  }

 private:
  std::unordered_set<std::uint32_t> nodes_;
};

}  // namespace

std::vector<Chain> find_chains(const Schedule& schedule, std::int64_t tile) {
  std::vector<Chain> chains;
  const std::vector<Step>& steps = schedule.steps;
  std::uint32_t first = 0;
  while (first < steps.size()) {
    std::uint32_t last = first;
    if (can_chain(schedule, steps[first], tile)) {
      Written written;
      written.add(schedule, steps[first].kernel());
      while (last + 1 < steps.size() && can_chain(schedule, steps[last + 1], tile) &&
             steps[last + 1].kernel().sizes == steps[first].kernel().sizes &&
             written.feeds(schedule, steps[last + 1].kernel())) {
        ++last;
        written.add(schedule, steps[last].kernel());
      }
    }
    if (last > first) chains.push_back({first, last, tile, 0});
    first = last + 1;
  }
  return chains;
}

}  // namespace lento
