#include "runtime/compiled_program.h"

#include "compiler/passes/simplify.h"
#include "runtime/fallback_call.h"
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
  prepared_ = driver.prepare(graph_, schedule_, options);
  step_of_.resize(graph_.nodes.size(), 0);
  for (std::uint32_t s = 0; s < schedule_.steps.size(); ++s) {
    for (const std::uint32_t node : schedule_.steps[s].nodes) step_of_[node] = s;
  }
  donors_ = Donors(graph_, schedule_);
  for (std::size_t s = 0; s < schedule_.steps.size(); ++s) {
    const Step& step = schedule_.steps[s];
    std::unique_ptr<const PreparedCall>& call = prepared_.calls[s];
    if (queues_ != nullptr && !step.is_kernel) {
      if (call == nullptr && step.views.empty()) call = make_fallback_call(graph_, step, *queues_, options);
      // A caller that records must not wait for the device: such programs are left to a worker.
      if (call == nullptr || call->waits()) estimated_microseconds_ = std::numeric_limits<double>::infinity();
    }
    double nanoseconds = step.is_kernel ? step.cost * target.nanoseconds_per_instruction : step.cost;
    if (call != nullptr) nanoseconds = call->nanoseconds();
    estimated_microseconds_ += (nanoseconds + target.nanoseconds_per_step) / 1000;
  }
}

std::size_t CompiledProgram::bytes() const {
  std::size_t total = graph_.nodes.size() * (sizeof(Record) + sizeof(Source) + sizeof(Place)) + code_bytes();
  for (const Step& step : schedule_.steps) total += sizeof(Step) + step.strides.size() * 16 + step.nodes.size() * 4;
  for (const auto& call : prepared_.calls) total += call == nullptr ? 0 : call->bytes();
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
