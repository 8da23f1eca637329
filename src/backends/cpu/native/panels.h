// Panels: the operands of a product of matrices as the processor wants to read them, and the loops over them. A panel
// of b has 32 columns, which lie term by term, so that all is read in the order in which it lies; one of a has 12 rows
// and is used as it lies where rows do so in memory. 12 × 32 sums stay in registers.
//
// An element is the sum of its terms in blocks of kPanelTerms; within a block they are added from the first to the
// last, each by one instruction that rounds once, and the blocks' sums in their order. So its bits depend on its row
// and its column alone, and not on how a product is cut, on the number of threads, or on the length of vectors.
#pragma once

#include <cstdint>

namespace lento::cpu {

inline constexpr std::int64_t kPanelRows = 12;
inline constexpr std::int64_t kPanelColumns = 32;
inline constexpr std::int64_t kPanelTerms = 256;

/// Where a panel comes from: `lines` rows of a (or columns of b) of `terms` elements each. Element (line, term) lies at
/// data[line * line_stride + term * term_stride].
struct PanelSource {
  const float* data;
  std::int64_t lines;
  std::int64_t terms;
  std::int64_t line_stride;
  std::int64_t term_stride;
};

/// How a block of the result is computed. One of a's strides is 1; the elements of a term of b are neighbours, and
/// there are kPanelColumns of them, used or not.
struct PanelBlock {
  std::int64_t rows;     // at most kPanelRows
  std::int64_t columns;  // at most kPanelColumns
  std::int64_t terms;    // at most kPanelTerms
  const float* a;
  std::int64_t a_row;
  std::int64_t a_term;
  const float* b;
  std::int64_t b_term;
  float* c;
  std::int64_t c_row;
  bool added;  // to what c holds; else it is replaced
};

/// The loops, compiled for one length of vectors.
struct PanelLoops {
  /// To `to`, 12 elements a term, rows whose own elements are no neighbours. What lies behind the lines there are is
  /// not defined.
  void (*pack_rows)(const PanelSource& from, float* to);
  /// To `to`, 32 elements a term.
  void (*pack_columns)(const PanelSource& from, float* to);
  void (*multiply)(const PanelBlock& block);
};

/// The loops for wide vectors and those for shorter ones give the same bits.
const PanelLoops& panel_loops(bool wide);
const PanelLoops& panel_loops();

}  // namespace lento::cpu
