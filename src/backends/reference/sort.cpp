// Sorting and searching. The order of elements is comes_before() of arithmetic.h, or that order turned round; equal
// elements always keep the order they come in.
#include "backends/reference/arithmetic.h"
#include "backends/reference/array.h"
#include "backends/reference/bad_values.h"
#include "base/dispatch.h"
#include "ir/attrs_sort.gen.h"
#include "ir/bad_values.h"
#include "ir/op_sort.gen.h"
#include "reference/kernels_creation.gen.h"
#include "reference/kernels_sort.gen.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace lento::reference {

namespace {

/// Calls visit.operator()<T>(line, order, o, i) for each line of `x` along the axis, where line[order[k] * view.inner]
/// is its k-th element in the order asked for.
template <class Visit>
void for_each_sorted_line(const Array& x, const AxisView& view, bool descending, Visit visit) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(view.extent));
  dispatch(x.dtype(), [&]<class T>() {
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const T* line = x.as<T>() + view.start(o, i);
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
          const T x_a = line[a * view.inner], x_b = line[b * view.inner];
          if (comes_before(x_a, x_b)) return !descending;
          if (comes_before(x_b, x_a)) return descending;
          return a < b;
        });
        visit(line, order, o, i);
      }
    }
  });
}

}  // namespace

void sort_values(const Array& out, const Array& x, const SortValuesAttrs& attrs) {
  const AxisView view(x.shape(), attrs.axis);
  for_each_sorted_line(x, view, attrs.descending, [&]<class T>(const T* line, const auto& order, auto o, auto i) {
    T* to = out.as<T>() + view.start(o, i);
    for (const std::int64_t k : order) {
      *to = line[k * view.inner];
      to += view.inner;
    }
  });
}

void sort_indices(const Array& out, const Array& x, const SortIndicesAttrs& attrs) {
  const AxisView view(x.shape(), attrs.axis);
  for_each_sorted_line(x, view, attrs.descending, [&](const auto*, const auto& order, auto o, auto i) {
    std::int64_t* to = out.as<std::int64_t>() + view.start(o, i);
    for (const std::int64_t k : order) {
      *to = k;
      to += view.inner;
    }
  });
}

void top_k(const Array& values, const Array& indices, const Array& x, const TopKAttrs& attrs) {
  const AxisView view(x.shape(), attrs.axis);
  const AxisView result(values.shape(), attrs.axis);
  for_each_sorted_line(x, view, attrs.largest, [&]<class T>(const T* line, const auto& order, auto o, auto i) {
    for (std::int64_t k = 0; k < attrs.k; ++k) {
      const std::int64_t at = result.start(o, i) + k * result.inner;
      indices.as<std::int64_t>()[at] = order[static_cast<std::size_t>(k)];
      values.as<T>()[at] = line[order[static_cast<std::size_t>(k)] * view.inner];
    }
  });
}

void search_sorted(const Array& out, const Array& sorted, const Array& values, const SearchSortedAttrs& attrs) {
  dispatch(sorted.dtype(), [&]<class T>() {
    const T* begin = sorted.as<T>();
    const T* end = begin + sorted.size();
    for (std::int64_t i = 0; i < values.size(); ++i) {
      const T value = values.as<T>()[i];
      const T* at = attrs.right ? std::upper_bound(begin, end, value, comes_before<T>)
                                : std::lower_bound(begin, end, value, comes_before<T>);
      out.as<std::int64_t>()[i] = at - begin;
    }
  });
}

void flat_nonzero(const Array& out, const Array& x, const FlatNonzeroAttrs& attrs) {
  std::vector<std::int64_t> positions;
  dispatch(x.dtype(), [&]<class T>() {
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (is_nonzero(x.as<T>()[i])) positions.push_back(i);
    }
  });
  if (static_cast<std::int64_t>(positions.size()) != attrs.size) {
    return tell_bad_value(op::flat_nonzero, count_word(static_cast<std::int64_t>(positions.size())), x, out);
  }
  std::copy(positions.begin(), positions.end(), out.as<std::int64_t>());
}

}  // namespace lento::reference
