// Sets (ops/sets.yaml). Sorting brings equal elements together; the first of each group stands for it. How many groups
// there are is the one number that is evaluated.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/evaluated_count.h"
#include "ops/sets.calls.gen.h"

namespace lento::composite {

namespace {

/// Elements of `x2` up to which `isin` compares all pairs instead of sorting.
constexpr std::int64_t kFewElements = 16;

/// The groups of equal elements of a flattened tensor.
struct Groups {
  Tensor values;  // one element of each group, ascending
  Tensor order;   // positions that sort the flattened tensor
  Tensor first;   // whether a sorted element is the first of its group
  Tensor starts;  // where in the sorted order each group starts
  std::int64_t size;
};

Groups groups_of(const Tensor& x) {
  Groups groups;
  const Tensor line = flat(x);
  groups.size = line.size();
  groups.order = prim::sort_indices(line, 0, false);
  if (groups.size == 0) {
    groups.values = line;
    groups.first = number_tensor(false, DType::bool_, x.device(), Shape{0});
    groups.starts = groups.order;
    return groups;
  }
  const Tensor sorted = prim::take_axis(line, groups.order, 0);
  const Tensor changes = not_equal(sliced(sorted, 0, 1, groups.size - 1), sliced(sorted, 0, 0, groups.size - 1));
  groups.first = prim::pad_constant(changes, true, Ints{1}, Ints{0});
  groups.starts = prim::flat_nonzero(groups.first, evaluated_count(groups.first));
  groups.values = prim::take_axis(sorted, groups.starts, 0);
  return groups;
}

Tensor counts_of(const Groups& groups) {
  const std::int64_t count = groups.starts.size();
  if (count == 0) return groups.starts;
  const Tensor ends = prim::pad_constant(sliced(groups.starts, 0, 1, count - 1), groups.size, Ints{0}, Ints{1});
  return subtract(ends, groups.starts);
}

Tensor inverse_of(const Groups& groups, const Tensor& x) {
  if (groups.size == 0) return number_tensor(0, DType::int64, x.device(), x.shape());
  const Tensor group = subtract(prim::scan_sum(converted(groups.first, DType::int64), 0), 1);
  const Tensor places = number_tensor(0, DType::int64, x.device(), Shape{groups.size});
  return reshaped(prim::scatter_nd(places, group, {groups.order}, "set"), x.shape());
}

/// The elements of a vector where a mask is true; evaluates their number.
Tensor chosen(const Tensor& vector, const Tensor& mask) {
  const std::int64_t count = evaluated_count(mask);
  const Tensor positions = prim::flat_nonzero(mask, count);
  return vector.size() == 0 ? vector : prim::take_axis(vector, positions, 0);
}

}  // namespace

UniqueAllResult unique_all(const Tensor& x) {
  const Groups groups = groups_of(x);
  const Tensor indices = groups.size == 0 ? groups.order : prim::take_axis(groups.order, groups.starts, 0);
  return {groups.values, indices, inverse_of(groups, x), counts_of(groups)};
}

UniqueCountsResult unique_counts(const Tensor& x) {
  const Groups groups = groups_of(x);
  return {groups.values, counts_of(groups)};
}

UniqueInverseResult unique_inverse(const Tensor& x) {
  const Groups groups = groups_of(x);
  return {groups.values, inverse_of(groups, x)};
}

Tensor unique_values(const Tensor& x) { return groups_of(x).values; }

Tensor isin(const Operand& x1, const Operand& x2, bool invert) {
  if (!x1.is_tensor() && !x2.is_tensor()) fail<ValueError>("at least one argument must be a tensor");
  const Tensor elements = x1.is_tensor() ? x1.tensor() : as_tensor_like(x1, x2.tensor());
  const Tensor set = flat(as_tensor_like(x2, elements));
  const DType common = promote(elements.dtype(), set.dtype());
  const Tensor asked = converted(elements, common);
  const Tensor members = converted(set, common);
  Tensor found;
  if (members.size() <= kFewElements || is_complex(common)) {
    const Tensor pairs = equal(with_axis(asked, asked.rank()), members);
    found = prim::reduce_any(pairs, Ints{asked.rank()}, false);
  } else {
    const Tensor sorted = prim::sort_values(members, 0, false);
    found = less(prim::search_sorted(sorted, asked, false), prim::search_sorted(sorted, asked, true));
    // The order puts nan beside nan, but it equals nothing.
    if (is_floating(common)) found = bitwise_and(found, equal(asked, asked));
  }
  return invert ? logical_not(found) : found;
}

Tensor union1d(const Tensor& x1, const Tensor& x2) {
  return lento::unique_values(lento::concat({x1, x2}, std::nullopt));
}

Tensor intersect1d(const Tensor& x1, const Tensor& x2) {
  const Tensor values = lento::unique_values(x1);
  return chosen(values, lento::isin(values, x2));
}

Tensor setdiff1d(const Tensor& x1, const Tensor& x2) {
  const Tensor values = lento::unique_values(x1);
  return chosen(values, lento::isin(values, x2, true));
}

}  // namespace lento::composite
