// Writing at positions given by integer tensors, one update after the other in the order of the indices. `out` already
// holds x: these kernels only write the updates.
#include "backends/reference/arithmetic.h"
#include "backends/reference/array.h"
#include "backends/reference/indices.h"
#include "base/dispatch.h"
#include "ir/attrs_scatter.gen.h"
#include "reference/kernels_scatter.gen.h"

namespace lento::reference {

namespace {

/// `target` after an update by `value`. 16-bit floats are combined in float32 and rounded after each update.
template <class T, class Mode>
T updated(T target, T value, Mode mode) {
  switch (mode) {
    case Mode::set:
      return value;
    case Mode::add:
      return static_cast<T>(Add{}(widen(target), widen(value)));
    case Mode::multiply:
      return static_cast<T>(Multiply{}(widen(target), widen(value)));
    case Mode::minimum:
      return static_cast<T>(Minimum{}(widen(target), widen(value)));
    case Mode::maximum:
      return static_cast<T>(Maximum{}(widen(target), widen(value)));
  }
  __builtin_unreachable();
}

}  // namespace

void scatter_axis(const Array& out, const Array&, const Array& indices, const Array& value,
                  const ScatterAxisAttrs& attrs) {
  const std::vector<std::int64_t> offsets = offsets_along_axis(out, indices, attrs.axis);
  dispatch(out.dtype(), [&]<class T>() {
    const T* from = value.as<T>();
    for (const std::int64_t offset : offsets) {
      T& target = out.as<T>()[offset];
      target = updated(target, *from++, attrs.mode);
    }
  });
}

void scatter_nd(const Array& out, const Array&, const Array& value, std::span<const Array> indices,
                const ScatterNdAttrs& attrs) {
  const std::size_t indexed = indices.size();
  const std::int64_t row = element_count(out.shape().span().subspan(indexed));
  const auto common = value.shape().span().first(value.shape().size() - (out.shape().size() - indexed));
  const std::vector<std::int64_t> offsets = offsets_of_rows(out, indices, common);
  dispatch(out.dtype(), [&]<class T>() {
    const T* from = value.as<T>();
    for (const std::int64_t offset : offsets) {
      for (std::int64_t k = 0; k < row; ++k) {
        T& target = out.as<T>()[offset + k];
        target = updated(target, *from++, attrs.mode);
      }
    }
  });
}

}  // namespace lento::reference
