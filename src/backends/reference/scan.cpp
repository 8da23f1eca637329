// Inclusive scans along one axis, from left to right; sums in the order of scan_order.h.
#include "backends/reference/arithmetic.h"
#include "backends/reference/array.h"
#include "base/dispatch.h"
#include "ir/attrs_scan.gen.h"
#include "ir/scan_order.h"
#include "reference/kernels_scan.gen.h"

namespace lento::reference {

namespace {

/// Elements of a line that are combined before a carry is.
template <class Combine>
constexpr std::int64_t block_length(std::int64_t extent) {
  return std::same_as<Combine, Add> ? kScanBlock : extent;
}

template <class Combine>
void scan(const Array& out, const Array& x, std::int64_t axis, Combine combine) {
  const AxisView view(x.shape(), axis);
  dispatch(x.dtype(), [&]<class T>() {
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const T* from = x.as<T>() + view.start(o, i);
        T* to = out.as<T>() + view.start(o, i);
        const std::int64_t block = block_length<Combine>(view.extent);
        ComputeType<T> local{}, carry{}, running{};
        for (std::int64_t k = 0; k < view.extent; ++k) {
          const ComputeType<T> element = widen(from[k * view.inner]);
          if (k % block == 0) carry = running;
          local = k % block == 0 ? element : combine(local, element);
          running = k < block ? local : combine(carry, local);
          to[k * view.inner] = static_cast<T>(running);
        }
      }
    }
  });
}

}  // namespace

void scan_sum(const Array& out, const Array& x, const ScanSumAttrs& attrs) { scan(out, x, attrs.axis, Add{}); }
void scan_prod(const Array& out, const Array& x, const ScanProdAttrs& attrs) { scan(out, x, attrs.axis, Multiply{}); }
void scan_max(const Array& out, const Array& x, const ScanMaxAttrs& attrs) { scan(out, x, attrs.axis, Maximum{}); }
void scan_min(const Array& out, const Array& x, const ScanMinAttrs& attrs) { scan(out, x, attrs.axis, Minimum{}); }

}  // namespace lento::reference
