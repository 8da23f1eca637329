// Random bits.
#include "backends/reference/array.h"
#include "backends/reference/created.h"
#include "ir/attrs_random.gen.h"
#include "reference/kernels_random.gen.h"

namespace lento::reference {

void random_bits(const Array& out, const Scalar& key, const Scalar& counter, const RandomBitsAttrs& attrs) {
  const auto stream = key.to<std::uint64_t>();
  const auto first = counter.to<std::uint64_t>();
  const auto fill = [&]<class T>(T* elements) {
    for (std::int64_t i = 0; i < out.size(); ++i) {
      elements[i] = random_element<T>(static_cast<std::uint64_t>(i), stream, first);
    }
  };
  attrs.dtype == DType::uint32 ? fill(out.as<std::uint32_t>()) : fill(out.as<std::uint64_t>());
}

}  // namespace lento::reference
