// Which status words the runs of a program have, and what they say.
#pragma once

#include "backend/driver.h"
#include "base/value.h"
#include "compiler/schedule.h"
#include "ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lento {

/// Failures, each with the node that failed.
using NodeFailures = std::vector<std::pair<std::uint32_t, FailureRef>>;

class LateFailures {
 public:
  LateFailures() = default;
  /// Of what runs on a device with queues. `calls` are one per step (PreparedSchedule::calls).
  LateFailures(const Graph& graph, const Schedule& schedule,
               std::span<const std::unique_ptr<const PreparedCall>> calls);

  std::size_t words() const { return writers_.size(); }
  /// The words of a step among those of the run; null when it has none.
  StatusWord* of_step(std::uint32_t step, StatusWord* words) const {
    return first_[step] == first_[step + 1] ? nullptr : words + first_[step];
  }
  /// What the words tell, in the order of the steps. `sources` are those of the run.
  void read(const Graph& graph, std::span<const StatusWord> words, std::span<const Source> sources,
            NodeFailures& failures) const;

 private:
  /// Who writes a word.
  struct Writer {
    std::uint32_t node;
    std::uint32_t which;                 // of the node's operands of indices, or of the call's own words
    const PreparedCall* call = nullptr;  // of a call's own
  };

  std::vector<Writer> writers_;       // one per word
  std::vector<std::uint32_t> first_;  // one per step, and the end
};

}  // namespace lento
