// Runs kernels on every instruction set and tier and in every way a range can be cut, and compares the bits with each
// other and with the specification.
#pragma once

#include "backends/cpu/code/jit.h"
#include "cpu/random_kernel.h"

#include <memory>
#include <string>
#include <vector>

namespace lento::testing {

/// Those that this processor has.
std::vector<cpu::Isa> isas();

struct Variant {
  std::string what;
  std::shared_ptr<const cpu::KernelCode> code;
};

/// The code of the last kernel, for one that is called with several sizes.
struct Variants {
  Kernel kernel;
  std::vector<Variant> all;

  const std::vector<Variant>& of(const Kernel& wanted);
};

/// Compares all variants with each other, and with the specification unless the kernel has functions in it that every
/// backend computes in its own way. Fails the running test.
void check_kernel(Random& random, const KernelCall& call, Variants& variants, bool specified = true);
void check_kernel(Random& random, const KernelCall& call, bool specified = true);

}  // namespace lento::testing
