// Random bits. Every backend gives exactly these:
//   uint32: element i is word i mod 4 of block counter + i / 4;
//   uint64: element i has as low half word 2 (i mod 2), and as high half word 2 (i mod 2) + 1, of block counter + i /
//   2;
// where the blocks are those of philox.h and their numbers wrap around at 2^64.
#include "backends/reference/array.h"
#include "backends/reference/philox.h"
#include "ir/attrs_random.gen.h"
#include "reference/kernels_random.gen.h"

namespace lento::reference {

void random_bits(const Array& out, const Scalar& key, const Scalar& counter, const RandomBitsAttrs& attrs) {
  const auto stream = key.to<std::uint64_t>();
  const auto first = counter.to<std::uint64_t>();
  const auto count = static_cast<std::uint64_t>(out.size());
  if (attrs.dtype == DType::uint32) {
    for (std::uint64_t i = 0; i < count; ++i) out.as<std::uint32_t>()[i] = philox_block(stream, first + i / 4)[i % 4];
  } else {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::array<std::uint32_t, 4> words = philox_block(stream, first + i / 2);
      const std::uint64_t high = words[2 * (i % 2) + 1];
      out.as<std::uint64_t>()[i] = high << 32 | words[2 * (i % 2)];
    }
  }
}

}  // namespace lento::reference
