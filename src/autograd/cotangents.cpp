#include "autograd/cotangents.h"
#include "autograd/cotangents.calls.gen.h"

#include "autograd/rule.h"
#include "ir/attrs_index_map.gen.h"
#include "ops/composite_helpers.h"

#include <algorithm>

namespace lento {

void Cotangents::add(const Tensor& x, const Tensor& cotangent) {
  Tensor& sum = sums_[x.state()];
  sum = sum.defined() ? sum + cotangent : cotangent;
}

bool Cotangents::add_slice(const LoggedOp& slice, const Tensor& cotangent) {
  const StridedSliceAttrs attrs = decode_strided_slice(slice.attrs);
  if (attrs.axes.size() != 1 || attrs.steps[0] != 1 || attrs.sizes[0] == 0) return false;
  const std::int64_t start = slice.operands[1].number.to<std::int64_t>();
  const std::int64_t end = start + attrs.sizes[0];
  const auto [found, is_new] = slices_.try_emplace(slice.operands[0].tensor.state());
  Slices& slices = found->second;
  if (is_new) {
    slices.axis = attrs.axes[0];
    slices.begin = start;
    slices.end = end;
  } else {
    // One direction: what is joined would otherwise depend on the starts, and with it the plan.
    const bool before = end == slices.begin && (slices.list.size() == 1 || !slices.forwards);
    const bool behind = start == slices.end && (slices.list.size() == 1 || slices.forwards);
    if (slices.axis != attrs.axes[0] || (!before && !behind)) return false;
    slices.forwards = !before;
    (before ? slices.begin : slices.end) = before ? start : end;
  }
  slices.list.push_back({&slice, cotangent});
  return true;
}

Tensor Cotangents::of(const Tensor& x) {
  if (const auto slices = slices_.find(x.state()); slices != slices_.end()) {
    join(x, slices->second);
    slices_.erase(slices);
  }
  const auto sum = sums_.find(x.state());
  return sum == sums_.end() ? Tensor{} : sum->second;
}

void Cotangents::join(const Tensor& x, Slices& slices) {
  const std::int64_t axis = slices.axis < 0 ? slices.axis + x.rank() : slices.axis;
  if (slices.begin == 0 && slices.end == x.shape()[static_cast<std::size_t>(axis)]) {
    const SourceScope scope(slices.list.back().op->source);
    std::vector<Tensor> parts;
    for (const Slice& slice : slices.list) parts.push_back(slice.cotangent);
    if (!slices.forwards) std::ranges::reverse(parts);
    add(x, parts.size() == 1 ? parts[0] : prim::concatenate(parts, axis));
    return;
  }
  for (const Slice& slice : slices.list) {
    RuleCall call(*slice.op, std::span(&slice.cotangent, 1));
    apply_rule(call);
    const SourceScope scope(slice.op->source);
    add(x, call.given()[0]);
  }
}

}  // namespace lento
