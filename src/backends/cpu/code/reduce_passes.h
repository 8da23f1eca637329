// ReducePasses: what each pass over the reduced dimension of a kernel has to compute.
#pragma once

#include "backends/cpu/code/kernel_body.h"
#include "compiler/kernel.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lento::cpu {

class ReducePasses {
 public:
  ReducePasses(const Kernel& kernel, const std::vector<Level>& level);

  /// An element value that is costly and needed in two passes: the first one leaves it in the memory of an output that
  /// is written later, the others read it there.
  struct Kept {
    std::size_t at = 0;
    std::size_t operand = 0;
    std::uint16_t pass = 0;  // that computes it
  };
  const std::optional<Kept>& kept() const { return kept_; }

  /// An element value made of random bits that its pass stores anyway: later passes read it there. The operand, or
  /// nothing.
  std::optional<std::size_t> read_back(std::size_t at, std::uint16_t pass) const {
    return pass > passes_[at] ? written_[at] : std::nullopt;
  }

  std::uint16_t last() const;
  /// The pass of an instruction (passes() of compiler/kernel.h).
  std::uint16_t of(std::size_t at) const { return passes_[at]; }
  /// One flag per instruction: element values that the reductions and stores of a pass are made of.
  std::vector<std::uint8_t> needed_in(std::uint16_t pass) const;

 private:
  void find_kept();
  void find_written();
  /// The output that may hold the value of `at` from the end of `pass` on.
  std::optional<std::size_t> output_to_keep(std::size_t at, std::uint16_t pass) const;
  bool loads_after(std::size_t at, std::uint16_t pass) const;

  const Kernel& kernel_;
  const std::vector<Level> level_;
  const std::vector<std::uint16_t> passes_;
  std::optional<Kept> kept_;
  std::vector<std::optional<std::size_t>> written_;  // one per instruction
};

}  // namespace lento::cpu
