// What the generated inner loops of elementwise ops are made of: reading and writing elements, and the table of loops.
#pragma once

#include <lento/dtype.h>

#include "backends/reference/element_types.h"
#include "backends/reference/elementwise.h"
#include "ir/op_number.h"

#include <array>
#include <complex>
#include <cstdint>

namespace lento::reference {

template <class S>
struct RealOfType {
  using type = S;
};
template <class R>
struct RealOfType<std::complex<R>> {
  using type = R;
};
/// float of std::complex<float>; other types are their own.
template <class S>
using RealOf = typename RealOfType<S>::type;

/// The complex type with parts of type S; 16-bit floats widen to float.
template <class S>
using ComplexOf = std::complex<ComputeType<RealOf<S>>>;

template <class S>
ComputeType<S> load(const void* elements, std::int64_t index) {
  return static_cast<ComputeType<S>>(static_cast<const S*>(elements)[index]);
}

/// The result of an expression as it is stored. Integer expressions are of type int when S is smaller: the conversion
/// back wraps.
template <class S, class T>
S store(T value) {
  return static_cast<S>(value);
}

/// The loops of all elementwise ops by the dtype they compute in.
class ElementwiseTable {
 public:
  void add(Op op, DType compute, ElementwiseLoop loop) { loops_[at(op, compute)] = loop; }
  /// Null for what is no elementwise op of the catalogue.
  ElementwiseLoop find(Op op, DType compute) const {
    const std::size_t number = static_cast<std::size_t>(op);
    if (number < kFirstElementwiseOp || number >= kFirstElementwiseOp + kElementwiseOps) return nullptr;
    return loops_[at(op, compute)];
  }

 private:
  static std::size_t at(Op op, DType compute) {
    const std::size_t index = static_cast<std::size_t>(op) - kFirstElementwiseOp;
    return index * kDTypeCount + static_cast<std::size_t>(compute);
  }
  std::array<ElementwiseLoop, std::size_t{kElementwiseOps} * kDTypeCount> loops_{};
};

}  // namespace lento::reference
