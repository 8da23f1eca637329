// Reductions: sum, prod, max, min, any, all, and the positions of the largest and smallest element.
#include "backends/reference/arithmetic.h"
#include "backends/reference/array.h"
#include "base/dispatch.h"
#include "ir/attrs_reduction.gen.h"
#include "ir/reduction_order.h"
#include "reference/kernels_reduction.gen.h"

#include <algorithm>

namespace lento::reference {

namespace {

/// Where the elements of each result lie: element k of a result is at its start + offset_of(k).
class Grouping {
 public:
  Grouping(const Array& x, const Ints& axes) {
    const Ints strides = row_major_strides(x.shape());
    bool previous_reduced = false;
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
      const bool reduced = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
      if (reduced && previous_reduced) {
        // Neighbouring reduced axes are one long axis.
        reduced_shape_.back() *= x.shape()[axis];
        reduced_strides_.back() = strides[axis];
      } else {
        (reduced ? reduced_shape_ : kept_shape_).push_back(x.shape()[axis]);
        (reduced ? reduced_strides_ : kept_strides_).push_back(strides[axis]);
      }
      previous_reduced = reduced;
    }
  }

  /// Elements of each result.
  std::int64_t count() const { return element_count(reduced_shape_); }

  /// Calls visit(r, start) for each result r.
  template <class Visit>
  void for_each_result(Visit&& visit) const {
    for_each_offset(kept_shape_, kept_strides_, visit);
  }

  std::int64_t offset_of(std::int64_t k) const {
    if (reduced_shape_.empty()) return 0;
    std::int64_t offset = 0;
    for (std::size_t axis = reduced_shape_.size(); axis-- > 1;) {
      offset += k % reduced_shape_[axis] * reduced_strides_[axis];
      k /= reduced_shape_[axis];
    }
    return offset + k * reduced_strides_[0];
  }

 private:
  Shape kept_shape_, reduced_shape_;
  Ints kept_strides_, reduced_strides_;
};

/// Combines the elements of each result in the order of reduction_order.h; without elements it is `empty`.
template <class Combine>
void reduce(const Array& out, const Array& x, const Ints& axes, Combine combine, int empty) {
  const Grouping grouping(x, axes);
  const std::int64_t count = grouping.count();
  dispatch(x.dtype(), [&]<class T>() {
    grouping.for_each_result([&](std::int64_t r, std::int64_t start) {
      const auto load = [&](std::int64_t k) { return widen(x.as<T>()[start + grouping.offset_of(k)]); };
      out.as<T>()[r] = count == 0 ? static_cast<T>(empty) : static_cast<T>(reduce_in_order(count, load, combine));
    });
  });
}

/// any (wanted: true) and all (wanted: false): the first element that differs from zero as wanted decides.
void find(const Array& out, const Array& x, const Ints& axes, bool wanted) {
  const Grouping grouping(x, axes);
  dispatch(x.dtype(), [&]<class T>() {
    grouping.for_each_result([&](std::int64_t r, std::int64_t start) {
      bool found = false;
      for (std::int64_t k = 0; k < grouping.count() && !found; ++k) {
        found = is_nonzero(x.as<T>()[start + grouping.offset_of(k)]) == wanted;
      }
      out.as<bool>()[r] = found == wanted;
    });
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
