#include "runtime/compiled_program.h"

#include "compiler/passes/simplify.h"
#include "runtime/issue_run.h"
#include "runtime/program_run.h"

#include <limits>
#include <utility>

namespace lento {

CompiledProgram::CompiledProgram(Graph graph, Driver& driver, const Target& target, const CompileOptions& options,
                                 DeviceQueues* queues)
    : graph_(std::move(graph)), driver_(driver), queues_(queues) {
  if (options.fusion) simplified_ = to_string(simplify(graph_));
  schedule_ = make_schedule(graph_, target, options);
  turns_ = turns(schedule_);
  prepared_ = driver.prepare(graph_, schedule_, options);
  step_of_.resize(graph_.nodes.size(), 0);
  for (std::uint32_t s = 0; s < schedule_.steps.size(); ++s) {
    for (const std::uint32_t node : schedule_.steps[s].nodes) step_of_[node] = s;
  }
  donors_ = Donors(graph_, schedule_);
  if (queues_ != nullptr) {
    find_fallbacks(options);
    late_failures_ = LateFailures(graph_, schedule_, prepared_.calls);
  }
  for (std::size_t s = 0; s < schedule_.steps.size(); ++s) {
    const Step& step = schedule_.steps[s];
    const std::unique_ptr<const PreparedCall>& call = prepared_.calls[s];
    // A caller that records must not wait for the device: such programs are left to a worker.
    if (queues_ != nullptr && step.is_call() && (call == nullptr || call->waits())) {
      estimated_microseconds_ = std::numeric_limits<double>::infinity();
    }
    double nanoseconds = step.is_kernel() ? step.cost * target.nanoseconds_per_instruction : step.cost;
    if (call != nullptr) nanoseconds = call->nanoseconds();
    estimated_microseconds_ += (nanoseconds + target.nanoseconds_per_step) / 1000;
  }
}

void CompiledProgram::find_fallbacks(const CompileOptions& options) {
  const auto falls_back = [&](std::uint32_t s) {
    return schedule_.steps[s].is_call() && prepared_.calls[s] == nullptr;
  };
  const auto takes_views = [&](std::uint32_t s) { return !schedule_.steps[s].call().views.empty(); };
  const auto steps = static_cast<std::uint32_t>(schedule_.steps.size());
  for (std::uint32_t s = 0; s < steps; ++s) {
    if (!falls_back(s)) continue;
    const std::uint32_t node = schedule_.steps[s].nodes[0];
    fallbacks_.push_back({graph_.nodes[node].op, graph_.origin(node)});
    // One with views runs alone.
    if (takes_views(s)) continue;
    std::uint32_t last = s;
    while (last + 1 < steps && falls_back(last + 1) && !takes_views(last + 1)) {
      const std::uint32_t next = schedule_.steps[++last].nodes[0];
      fallbacks_.push_back({graph_.nodes[next].op, graph_.origin(next)});
    }
    regions_.emplace_back(graph_, schedule_, s, last, *queues_, options);
    s = last;
  }
}

std::size_t CompiledProgram::fallback_copies() const {
  std::size_t copies = 0;
  for (const FallbackRegion& region : regions_) copies += region.inputs().size() + region.outputs().size();
  return copies;
}

std::size_t CompiledProgram::bytes() const {
  std::size_t total = graph_.nodes.size() * (sizeof(Record) + sizeof(Source) + sizeof(Place)) + code_bytes();
  for (const Step& step : schedule_.steps) {
    total += sizeof(Step) + step.nodes.size() * 4;
    if (step.is_kernel()) total += step.kernel().strides.size() * 16;
  }
  for (const auto& call : prepared_.calls) total += call == nullptr ? 0 : call->bytes();
  for (const FallbackRegion& region : regions_) total += region.bytes();
  return total;
}

std::size_t CompiledProgram::code_bytes() const {
  std::size_t total = 0;
  for (const KernelBinaryRef& kernel : prepared_.kernels) total += kernel->code_bytes();
  return total;
}

void CompiledProgram::improve() {
  for (const KernelBinaryRef& kernel : prepared_.kernels) kernel->improve();
}

std::string CompiledProgram::text() const { return simplified_ + to_string(schedule_, graph_); }

void CompiledProgram::run(const RunArguments& arguments) {
  const std::unique_ptr<IssuedRun> issued = issue(arguments);
  if (issued == nullptr) return;
  issued->fence()->wait();
  issued->settle(arguments);
}

std::unique_ptr<IssuedRun> CompiledProgram::issue(const RunArguments& arguments) {
  if (queues_ == nullptr) {
    ProgramRun(*this, arguments).run();
    return nullptr;
  }
  return issue_run(*this, *queues_, arguments);
}

}  // namespace lento
