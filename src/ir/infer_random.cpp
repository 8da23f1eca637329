// Shape and dtype of random bits.
#include "base/fail.h"
#include "ir/attrs_random.gen.h"
#include "ir/infer_common.h"
#include "ir/infer_random.gen.h"

namespace lento {

Meta infer_random_bits(RandomBitsAttrs& attrs) {
  if (attrs.dtype != DType::uint32 && attrs.dtype != DType::uint64) {
    fail<DTypeError>("random bits are uint32 or uint64, not {}", attrs.dtype);
  }
  for (const std::int64_t extent : attrs.shape) {
    if (extent < 0) fail<ShapeError>("a shape has no negative lengths, got {}", attrs.shape);
  }
  return {attrs.dtype, attrs.shape};
}

}  // namespace lento
