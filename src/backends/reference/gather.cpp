// Reading at positions given by integer tensors.
#include "backends/reference/array.h"
#include "backends/reference/indices.h"
#include "base/dispatch.h"
#include "ir/attrs_gather.gen.h"
#include "reference/kernels_gather.gen.h"

#include <algorithm>

namespace lento::reference {

void take_axis(const Array& out, const Array& x, const Array& indices, const TakeAxisAttrs& attrs) {
  const std::vector<std::int64_t> positions = resolved_indices(indices, attrs.axis, x.extent(attrs.axis));
  const AxisView view(x.shape(), attrs.axis);
  dispatch(x.dtype(), [&]<class T>() {
    T* to = out.as<T>();
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (const std::int64_t k : positions) {
        to = std::copy_n(x.as<T>() + view.start(o, 0) + k * view.inner, view.inner, to);
      }
    }
  });
}

void take_along_axis(const Array& out, const Array& x, const Array& indices, const TakeAlongAxisAttrs& attrs) {
  const std::vector<std::int64_t> offsets = offsets_along_axis(x, indices, attrs.axis);
  dispatch(x.dtype(), [&]<class T>() {
    T* to = out.as<T>();
    for (const std::int64_t offset : offsets) *to++ = x.as<T>()[offset];
  });
}

void gather_nd(const Array& out, const Array& x, std::span<const Array> indices) {
  const std::size_t indexed = indices.size();
  const std::int64_t row = element_count(x.shape().span().subspan(indexed));
  const auto common = out.shape().span().first(out.shape().size() - (x.shape().size() - indexed));
  const std::vector<std::int64_t> offsets = offsets_of_rows(x, indices, common);
  dispatch(x.dtype(), [&]<class T>() {
    T* to = out.as<T>();
    for (const std::int64_t offset : offsets) to = std::copy_n(x.as<T>() + offset, row, to);
  });
}

}  // namespace lento::reference
