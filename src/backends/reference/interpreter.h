// The reference backend's programs: a graph run node by node, each by its kernel, in order.
#pragma once

#include "backend/backend.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lento::reference {

class Interpreter final : public Program {
 public:
  Interpreter(Graph graph, std::uint8_t device);
  void run(const RunArguments& arguments) override;
  double estimated_microseconds() const override { return estimated_microseconds_; }
  std::size_t bytes() const override { return graph_.nodes.size() * (sizeof(Record) + 2 * sizeof(std::uint32_t)); }
  std::size_t planned_peak() const override { return planned_peak_; }
  std::size_t launch_count() const override { return kernels_; }
  std::string text() const override;

 private:
  struct Run;

  void plan_peak();

  Graph graph_;
  std::uint8_t device_;
  // When a value is used for the last time, as a node number; outputs and unused values have kNever.
  std::vector<std::uint32_t> last_use_of_node_;
  std::vector<std::uint32_t> last_use_of_input_;
  double estimated_microseconds_ = 0;
  std::size_t planned_peak_ = 0;
  std::size_t kernels_ = 0;
};

}  // namespace lento::reference
