// What is wrong with the values of an op, as a number and as the error that it stands for. A device writes the number
// into a status word (backend/status_words.h); the text is made from it for every device, the host too, so that all of
// them raise the same error (clause E7). Indices have words of their own: ir/index_operands.h.
#pragma once

#include <lento/error.h>
#include <lento/ints.h>

#include "ir/op_number.h"

#include <cstdint>
#include <string>

namespace lento {

/// Why values are refused, without the name of the op.
struct BadValue {
  ErrorKind kind;
  std::string message;
};

/// Whether an op has a word for its values: flat_nonzero, which is told how many there are, and linear algebra.
bool has_value_word(Op op);

/// How many elements differ from zero, where flat_nonzero was told another number.
std::uint64_t count_word(std::int64_t found);

/// In place of LAPACK's number: an element is nan or inf.
inline constexpr std::int64_t kNotFinite = 0;
/// The matrix of the batch that is at fault, and what LAPACK says of it: the greatest word is that of the first one. No
/// memory holds a batch of 2^40 matrices, or a matrix of 2^24 rows.
std::uint64_t matrix_word(std::int64_t matrix, std::int64_t lapack_number);

/// What a word of an op says that is not zero. The shapes are those of its first operand and of its first result.
BadValue bad_value(Op op, std::uint64_t word, const Shape& operand, const Shape& result);

}  // namespace lento
