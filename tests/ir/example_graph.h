// The graph that the tests of printers, parser and verifier start from: a bit of everything.
#pragma once

#include "ir/graph.h"

#include <string>
#include <string_view>

namespace lento::test {

inline constexpr std::string_view kExampleText =
    R"(graph(%in0: float32(2, 3), %in1: float32(3,); $0: float32 = 0.1, $1: int64 = 1) {
  %0 = multiply(%in0, $0) : float32(2, 3)                         @ train.py:41 in "model/layer1"
  %1 = reduce_sum(%0, axes=[0], keepdims=false) : float32(3,)     @ train.py:42
  %2 = top_k(%1, k=2, axis=0, largest=true) : float32(2,)
  %3 = result(%2, index=1) : int64(2,)
  %4 = strided_slice(%0, $1, axes=[1], sizes=[2], steps=[1]) : float32(2, 2)
  %5 = concatenate(%in1, %1, %in1, %2, axis=0) : float32(11,)     in "model"
  %6 = astype(%5, dtype=bfloat16) : bfloat16(11,)                 @ "a file.py":7
  %7 = full($1, shape=[], dtype=int64) : int64()
  return %3, %6
}
)";

inline Graph example_graph() { return parse_graph(kExampleText); }

/// The text with one piece replaced; the piece must be there.
inline std::string replaced(std::string_view text, std::string_view piece, std::string_view by) {
  std::string result(text);
  const std::size_t at = result.find(piece);
  if (at == std::string::npos) throw std::logic_error("no '" + std::string(piece) + "' in the example");
  return result.replace(at, piece.size(), by);
}

}  // namespace lento::test
