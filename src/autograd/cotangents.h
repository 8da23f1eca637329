// The cotangents that came back so far, on the way through a log.
//
// Slices that together are a whole tensor, as the queries, keys and values of an attention layer or the steps of a
// sequence, are joined: the rule of a slice alone would fill a tensor of zeros for each, and all of them would be
// added.
#pragma once

#include "autograd/log.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace lento {

class Cotangents {
 public:
  void add(const Tensor& x, const Tensor& cotangent);
  /// Keeps the cotangent of a slice of one axis until that of the sliced tensor is wanted, when it begins or ends where
  /// those kept do. Else false: its rule has to be applied.
  bool add_slice(const LoggedOp& slice, const Tensor& cotangent);
  /// The sum of all that came back, undefined for nothing.
  Tensor of(const Tensor& x);

 private:
  struct Slice {
    const LoggedOp* op;
    Tensor cotangent;
  };
  /// In the order they came back, each before the one that came before it or each behind it.
  struct Slices {
    std::int64_t axis = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool forwards = false;
    std::vector<Slice> list;
  };

  void join(const Tensor& x, Slices& slices);

  std::unordered_map<const TensorState*, Tensor> sums_;
  std::unordered_map<const TensorState*, Slices> slices_;
};

}  // namespace lento
