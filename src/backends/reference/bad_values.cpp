#include "backends/reference/bad_values.h"

#include "base/fail.h"
#include "ir/bad_values.h"
#include "ir/index_operands.h"

#include <algorithm>
#include <utility>

namespace lento::reference {

namespace {

constinit thread_local StatusWord* words_of_thread = nullptr;

}  // namespace

TellInWords::TellInWords(StatusWord* words) : saved_(std::exchange(words_of_thread, words)) {}
TellInWords::~TellInWords() { words_of_thread = saved_; }

void tell_bad_index(std::size_t which, DType dtype, std::uint64_t bits, std::int64_t axis, std::int64_t extent) {
  if (words_of_thread != nullptr) return raise_to(words_of_thread[which], bits);
  const BadValue bad = bad_index(dtype, bits, axis, extent);
  Error::raise(bad.kind, complete_message(bad.message));
}

void tell_bad_value(Op op, StatusWord word, const Array& operand, const Array& result) {
  if (words_of_thread != nullptr) return raise_to(words_of_thread[0], word);
  const BadValue bad = bad_value(op, word, operand.shape(), result.shape());
  Error::raise(bad.kind, complete_message(bad.message));
}

void raise_to(StatusWord& word, StatusWord value) { word = std::max(word, value); }

}  // namespace lento::reference
