// Broadcasting for elementwise kernels: the innermost axis is the generated loop, the others are walked here.
#include "backends/reference/elementwise.h"

#include <cassert>
#include <vector>

namespace lento::reference {

void run_elementwise(ElementwiseLoop loop, const Array& out, std::span<const KernelOperand> operands) {
  const Shape& shape = out.shape();
  if (out.size() == 0) return;
  const std::size_t rank = shape.size();
  const std::int64_t row = rank == 0 ? 1 : shape.back();
  const std::int64_t rows = out.size() / row;

  std::vector<Ints> strides;
  std::vector<const void*> at(operands.size());
  std::vector<std::int64_t> inner(operands.size());
  for (std::size_t j = 0; j < operands.size(); ++j) {
    assert(operands[j].shape().size() <= rank && "operand has more axes than the result");
    strides.push_back(broadcast_strides(operands[j].shape(), shape));
    at[j] = operands[j].data();
    inner[j] = rank == 0 ? 0 : strides[j].back();
  }

  auto* destination = static_cast<std::byte*>(out.data());
  const auto row_bytes = static_cast<std::int64_t>(size_of(out.dtype())) * row;
  Ints position(rank, 0);
  for (std::int64_t r = 0; r < rows; ++r) {
    loop(row, destination, at.data(), inner.data());
    destination += row_bytes;
    // The next row: count up the position in the outer axes and move every operand along.
    for (std::size_t axis = rank; axis-- > 1;) {
      const std::size_t outer = axis - 1;
      const bool carry = ++position[outer] == shape[outer];
      for (std::size_t j = 0; j < operands.size(); ++j) {
        const std::int64_t moved = carry ? 1 - shape[outer] : 1;
        at[j] = static_cast<const std::byte*>(at[j]) +
                moved * strides[j][outer] * static_cast<std::int64_t>(size_of(operands[j].dtype()));
      }
      if (!carry) break;
      position[outer] = 0;
    }
  }
}

}  // namespace lento::reference
