// Shapes and dtypes of the scans: those of the operand.
#include "ir/attrs_scan.gen.h"
#include "ir/infer_common.h"
#include "ir/infer_scan.gen.h"

namespace lento {

namespace {

template <class Attrs>
Meta infer_scan(const Meta& x, Attrs& attrs) {
  attrs.axis = normalized_axis(attrs.axis, x);
  return x;
}

}  // namespace

Meta infer_scan_sum(const Meta& x, ScanSumAttrs& attrs) { return infer_scan(x, attrs); }
Meta infer_scan_prod(const Meta& x, ScanProdAttrs& attrs) { return infer_scan(x, attrs); }
Meta infer_scan_max(const Meta& x, ScanMaxAttrs& attrs) { return infer_scan(x, attrs); }
Meta infer_scan_min(const Meta& x, ScanMinAttrs& attrs) { return infer_scan(x, attrs); }

}  // namespace lento
