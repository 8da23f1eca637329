// IndexedRows: which rows of a tensor the index tensors of a gather or a scatter name. All but the indices themselves
// is known when the program is made; they are checked and turned into offsets block by block while it runs.
#pragma once

#include "backends/cpu/prepared_call.h"

#include <lento/ints.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lento::cpu {

class IndexedRows {
 public:
  /// Rows that are resolved at a time: their offsets stay in the first cache level.
  static constexpr std::int64_t kBlock = 512;

  /// take_axis: the slices of x at the indices along the axis.
  static IndexedRows of_slices(const Meta& x, const Meta& indices, std::size_t operand, std::int64_t axis);
  /// take_along_axis, scatter_axis: one element per index.
  static IndexedRows along_axis(const Meta& x, const Meta& indices, std::size_t operand, std::int64_t axis);
  /// gather_nd, scatter_nd: `indices` are those of the operands from `first` on, for the first axes of x.
  static IndexedRows of_rows(const Meta& x, const std::vector<Meta>& indices, std::size_t first, const Shape& common);

  /// How many rows are named.
  std::int64_t rows() const { return rows_; }
  /// Elements of a row, which are neighbours in x.
  std::int64_t row_size() const { return row_size_; }

  /// Where in x the rows begin … end - 1 start, in elements. False when one of their indices is out of range: then the
  /// offsets mean nothing. At most kBlock rows.
  bool resolve(const CallArguments& arguments, std::int64_t begin, std::int64_t end, std::int64_t* offsets) const;

  /// Throws what the reference kernel of the op throws for the first index that is out of range.
  void raise(Op op, const CallArguments& arguments) const;
  /// Looks at all indices, on several threads, and throws as `raise` does when one is out of range.
  void check(Op op, const CallArguments& arguments) const;

 private:
  struct Term {
    std::size_t operand = 0;
    DType dtype = DType::int64;
    Shape shape;
    std::int64_t axis = 0;
    std::int64_t extent = 0;
    std::int64_t moves = 1;  // elements of x between neighbours along the axis
    Ints strides;            // by which the indices are read while walking over sizes_
  };

  void add_term(const Meta& x, const Meta& indices, std::size_t operand, std::int64_t axis, Ints strides);
  void finish();

  std::int64_t rows_ = 1;
  std::int64_t row_size_ = 1;
  Shape sizes_;        // of the rows; dimensions that can be walked as one have been merged
  Ints base_strides_;  // what coordinates that are no indices add
  std::vector<Term> terms_;
};

}  // namespace lento::cpu
