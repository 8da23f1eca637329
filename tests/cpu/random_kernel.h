// Random kernels with memory to run them on.
#pragma once

#include "compiler/kernel.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace lento::testing {

using Random = std::mt19937_64;

/// Elements before and behind those that a call may touch.
inline constexpr std::size_t kGuard = 64;

std::size_t below(Random& random, std::size_t limit);

/// Functions that backends compute with polynomials of their own.
bool differs_between_backends(Op op, DType dtype);

/// What elements of floating dtypes are.
enum class Values : std::uint8_t {
  special,  // numbers, now and then one that is hard to round, too large, infinite or nan
  plain,    // numbers around 0
  zeros,    // all -0
  signs,    // 0, -0 and what is infinite
  nans,     // numbers, and a nan now and then
};

/// A kernel and the arguments of a call: the memory of operands has gaps where strides leave them, and ends that
/// nothing may write to.
struct KernelCall {
  Kernel kernel;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::vector<std::byte> numbers;
  std::vector<std::vector<std::byte>> memory;  // one an operand; of a counted one nothing
  std::vector<std::int64_t> starts;            // the element at position 0, …, 0, one an operand
  std::vector<PickedRows> picked;              // one an operand, or none when no rows are picked

  /// Arguments whose addresses, kept in `addresses`, point into `on`.
  KernelArguments arguments(std::vector<std::vector<std::byte>>& on, std::vector<void*>& addresses) const;
  KernelRange whole() const;
};

struct KernelChoice {
  LoopForm form = LoopForm::map;
  std::vector<DType> dtypes;  // of inputs
  std::size_t steps = 8;      // operations
  std::int64_t length = 100;  // of the last dimension, or of the reduced one
  Values values = Values::special;
  bool crossed = false;         // a map with operands whose neighbours in memory are in neighbouring rows
  bool creates = false;         // also elements made of positions
  bool many_rows = false;       // more than there are lanes, and most operands neighbours along them
  bool with_functions = false;  // also ops whose results differ between backends: exp, sin, …
};

/// A kernel of ops whose results are the same bits on every backend, unless the choice says otherwise.
KernelCall random_kernel(Random& random, const KernelChoice& choice);

/// A kernel of one pass over `length` elements that does everything there is in this dtype: each elementwise op on
/// loaded values, and each cast.
KernelCall every_op(Random& random, DType dtype, std::int64_t length);
KernelCall every_cast(Random& random, DType from, std::int64_t length);
/// Every reduction of one operand, `length` elements each.
KernelCall every_reduction(Random& random, const KernelChoice& choice);

}  // namespace lento::testing
