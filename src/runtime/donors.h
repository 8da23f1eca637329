// Donors: which inputs' memory the results of a program may take, if the inputs are given away.
#pragma once

#include "compiler/schedule.h"
#include "ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lento {

class Donors {
 public:
  /// An input in whose memory an output may be written.
  struct Donor {
    std::uint32_t input;
    std::uint32_t output;
    std::size_t bytes;
  };

  Donors() = default;
  Donors(const Graph& graph, const Schedule& schedule);

  /// Lets outputs of a step that have no memory yet take that of inputs, each the best one that is still given away:
  /// `take(donor)` is told of each. `given` has one flag per input, `has_memory` is asked for the number of an output.
  template <class HasMemory, class Take>
  void hand_over(std::uint32_t step, std::span<std::uint8_t> given, const HasMemory& has_memory,
                 const Take& take) const {
    for (const Donor& donor : donors_[step]) {
      if (given[donor.input] == 0 || has_memory(donor.output)) continue;
      given[donor.input] = 0;
      take(donor);
    }
  }
  /// How many bytes of the outputs lie in inputs when these are given away.
  std::size_t reused_bytes(const Schedule& schedule, std::span<const std::uint8_t> donated) const;

 private:
  std::vector<std::vector<Donor>> donors_;  // one list per step, the best for each output first
};

}  // namespace lento
