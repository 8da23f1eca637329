// How kernels tell that the data is bad. For a backend of the host they raise an error. Where they stand for the
// hardware of a device they write a status word, as hardware does (clause D4).
#pragma once

#include "backend/status_words.h"
#include "backends/reference/array.h"
#include "ir/op_number.h"

#include <cstddef>
#include <cstdint>

namespace lento::reference {

/// While one lives, kernels of the calling thread write into these words, those of their node, and raise nothing. Null:
/// they raise.
class TellInWords {
 public:
  explicit TellInWords(StatusWord* words);
  ~TellInWords();
  TellInWords(const TellInWords&) = delete;
  TellInWords& operator=(const TellInWords&) = delete;

 private:
  StatusWord* const saved_;
};

/// The kernel tells of an index of its `which`-th operand of indices, extended to 64 bits. When this comes back, it
/// goes on with index 0 in its place.
void tell_bad_index(std::size_t which, DType dtype, std::uint64_t bits, std::int64_t axis, std::int64_t extent);

/// The kernel tells of its values (ir/bad_values.h). When this comes back, it ends: its results may be anything.
void tell_bad_value(Op op, StatusWord word, const Array& operand, const Array& result);

/// A word as an atomic maximum leaves it: kernels here run on one thread.
void raise_to(StatusWord& word, StatusWord value);

}  // namespace lento::reference
