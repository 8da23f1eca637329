// Reductions: sum, prod, max, min, any, all, and the positions of the largest and smallest element.
#include "backends/reference/arithmetic.h"
#include "backends/reference/array.h"
#include "backends/reference/reduction_order.h"
#include "base/dispatch.h"
#include "reference/kernels.gen.h"

#include <algorithm>
#include <vector>

namespace lento::reference {

namespace {

/// Where the elements of each result lie: element k of result r is at starts[r] + offsets[k].
struct Grouping {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> offsets;

  Grouping(const Array& x, const Ints& axes) {
    const Ints strides = row_major_strides(x.shape());
    Ints kept_shape, kept_strides, reduced_shape, reduced_strides;
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
      const bool reduced = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
      (reduced ? reduced_shape : kept_shape).push_back(x.shape()[axis]);
      (reduced ? reduced_strides : kept_strides).push_back(strides[axis]);
    }
    for_each_offset(kept_shape, kept_strides, [&](std::int64_t, std::int64_t at) { starts.push_back(at); });
    for_each_offset(reduced_shape, reduced_strides, [&](std::int64_t, std::int64_t at) { offsets.push_back(at); });
  }
};

/// Combines the elements of each result in the order of reduction_order.h; without elements it is `empty`.
template <class Combine>
void reduce(const Array& out, const Array& x, const Ints& axes, Combine combine, int empty) {
  const Grouping grouping(x, axes);
  const auto count = static_cast<std::int64_t>(grouping.offsets.size());
  dispatch(x.dtype(), [&]<class T>() {
    const T* elements = x.as<T>();
    T* results = out.as<T>();
    for (std::size_t r = 0; r < grouping.starts.size(); ++r) {
      const T* first = elements + grouping.starts[r];
      const auto load = [&](std::int64_t k) { return widen(first[grouping.offsets[static_cast<std::size_t>(k)]]); };
      results[r] = count == 0 ? static_cast<T>(empty) : static_cast<T>(reduce_in_order(count, load, combine));
    }
  });
}

/// Whether some element of each result differs from zero exactly if `wanted`: any looks for true, all for false.
void find(const Array& out, const Array& x, const Ints& axes, bool wanted) {
  const Grouping grouping(x, axes);
  bool* results = out.as<bool>();
  dispatch(x.dtype(), [&]<class T>() {
    const T* elements = x.as<T>();
    for (std::size_t r = 0; r < grouping.starts.size(); ++r) {
      const T* first = elements + grouping.starts[r];
      const bool found = std::any_of(grouping.offsets.begin(), grouping.offsets.end(),
                                     [&](std::int64_t offset) { return is_nonzero(first[offset]) == wanted; });
      results[r] = found == wanted;
    }
  });
}

/// The first position along the axis that no later one beats; a nan beats every number and is beaten by nothing.
template <class Beats>
void find_best(const Array& out, const Array& x, std::int64_t axis, Beats beats) {
  const AxisView view(x.shape(), axis);
  std::int64_t* results = out.as<std::int64_t>();
  dispatch(x.dtype(), [&]<class T>() {
    const T* elements = x.as<T>();
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const T* line = elements + view.start(o, i);
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < view.extent; ++k) {
          const T current = line[best * view.inner];
          const T candidate = line[k * view.inner];
          if (!is_nan(current) && (is_nan(candidate) || beats(candidate, current))) best = k;
        }
        *results++ = best;
      }
    }
  });
}

}  // namespace

void reduce_sum(const Array& out, const Array& x, const ReduceSumAttrs& attrs) { reduce(out, x, attrs.axes, Add{}, 0); }

void reduce_prod(const Array& out, const Array& x, const ReduceProdAttrs& attrs) {
  reduce(out, x, attrs.axes, Multiply{}, 1);
}

// Inference has refused to look for the largest of no elements.
void reduce_max(const Array& out, const Array& x, const ReduceMaxAttrs& attrs) {
  reduce(out, x, attrs.axes, Maximum{}, 0);
}

void reduce_min(const Array& out, const Array& x, const ReduceMinAttrs& attrs) {
  reduce(out, x, attrs.axes, Minimum{}, 0);
}

void reduce_any(const Array& out, const Array& x, const ReduceAnyAttrs& attrs) { find(out, x, attrs.axes, true); }

void reduce_all(const Array& out, const Array& x, const ReduceAllAttrs& attrs) { find(out, x, attrs.axes, false); }

void arg_max(const Array& out, const Array& x, const ArgMaxAttrs& attrs) {
  find_best(out, x, attrs.axis, [](auto a, auto b) { return comes_before(b, a); });
}

void arg_min(const Array& out, const Array& x, const ArgMinAttrs& attrs) {
  find_best(out, x, attrs.axis, [](auto a, auto b) { return comes_before(a, b); });
}

}  // namespace lento::reference
