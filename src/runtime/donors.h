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
  /// An input in whose memory a node may be written.
  struct Donor {
    std::uint32_t input;
    std::uint32_t node;
  };

  Donors() = default;
  Donors(const Graph& graph, const Schedule& schedule);

  /// Those of a step, the best first. A result takes the first one that is given away and not taken yet.
  std::span<const Donor> of(std::uint32_t step) const { return donors_[step]; }
  /// How many bytes of the outputs lie in inputs when these are given away.
  std::size_t reused_bytes(const Schedule& schedule, std::span<const std::uint8_t> donated) const;

 private:
  std::vector<std::vector<Donor>> donors_;  // one per step
};

}  // namespace lento
