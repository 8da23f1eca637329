#include "backends/cpu/native/panels.h"

#include "backends/cpu/lane_tile.h"
#include "backends/cpu/processors.h"

#include <algorithm>
#include <iterator>

namespace lento::cpu {

namespace {

template <int bytes>
using Vector = typename lanes::Vectors<float, bytes>::Vector;
template <int bytes>
using Unaligned = typename lanes::Vectors<float, bytes>::Unaligned;
template <int bytes>
inline constexpr std::int64_t kLanesOf = lanes::Vectors<float, bytes>::kLanes;

template <int bytes>
LENTO_INLINE Vector<bytes> load(const float* from) {
  return *reinterpret_cast<const Unaligned<bytes>*>(from);
}

template <int bytes>
LENTO_INLINE void store(const Vector<bytes>& vector, float* to) {
  *reinterpret_cast<Unaligned<bytes>*>(to) = vector;
}

// ---- Packing.

/// The slow way, for what is left over.
LENTO_INLINE void pack_plainly(const PanelSource& from, std::int64_t first_term, std::int64_t width, float* to) {
  for (std::int64_t term = first_term; term < from.terms; ++term) {
    for (std::int64_t line = 0; line < from.lines; ++line)
      to[term * width + line] = from.data[line * from.line_stride + term * from.term_stride];
  }
}

/// Lines whose elements of one term are neighbours are copied. A vector may be longer than a panel of rows is wide:
/// what it writes too much the next term overwrites; but it must not read behind the last line of the last term.
template <int bytes, std::int64_t width>
LENTO_INLINE void copy_terms(const PanelSource& from, float* to) {
  constexpr std::int64_t kLanes = kLanesOf<bytes>;
  constexpr std::int64_t kVectors = (width + kLanes - 1) / kLanes;
  const bool whole = from.lines == width && from.terms != 0;
  const std::int64_t safe = !whole ? 0 : kVectors * kLanes == width ? from.terms : from.terms - 1;
  // Of the last terms the next one may be too near to hold what is read too much.
  const std::int64_t terms = kVectors * kLanes == width || from.term_stride >= kLanes ? safe : 0;
  for (std::int64_t term = 0; term < terms; ++term) {
    LENTO_UNROLL
    for (std::int64_t j = 0; j < kVectors; ++j)
      store<bytes>(load<bytes>(from.data + term * from.term_stride + j * kLanes), to + term * width + j * kLanes);
  }
  pack_plainly(from, terms, width, to);
}

/// Lines whose own elements are neighbours are turned, a square of vectors at a time.
template <int bytes>
LENTO_INLINE void turn_lines(const PanelSource& from, float* to) {
  constexpr std::int64_t kLanes = kLanesOf<bytes>;
  static_assert(kPanelColumns % kLanes == 0);
  const std::int64_t terms = from.terms / kLanes * kLanes;
  for (std::int64_t term = 0; term < terms; term += kLanes) {
    for (std::int64_t line = 0; line < from.lines; line += kLanes) {
      lanes::Tile<float, bytes> tile;
      LENTO_UNROLL
      for (std::int64_t i = 0; i < kLanes; ++i) {
        // Lines that are not there repeat the last one: nobody looks at what becomes of them.
        const std::int64_t at = std::min(line + i, from.lines - 1);
        tile[i] = load<bytes>(from.data + at * from.line_stride + term);
      }
      lanes::transpose<float, bytes>(tile);
      LENTO_UNROLL
      for (std::int64_t i = 0; i < kLanes; ++i) store<bytes>(tile[i], to + (term + i) * kPanelColumns + line);
    }
  }
  pack_plainly(from, terms, kPanelColumns, to);
}

template <int bytes>
LENTO_INLINE void pack_rows_of_a(const PanelSource& from, float* to) {
  if (from.line_stride == 1) return copy_terms<bytes, kPanelRows>(from, to);
  pack_plainly(from, 0, kPanelRows, to);
}

template <int bytes>
LENTO_INLINE void pack_columns_of_b(const PanelSource& from, float* to) {
  // Sums of columns that are not there are computed and dropped: of zeros, since odd numbers can be slow.
  if (from.lines != kPanelColumns) std::fill_n(to, from.terms * kPanelColumns, 0.0F);
  if (from.line_stride == 1) return copy_terms<bytes, kPanelColumns>(from, to);
  if (from.term_stride == 1) return turn_lines<bytes>(from, to);
  pack_plainly(from, 0, kPanelColumns, to);
}

// ---- Multiplying.

/// `rows` × `vectors` vectors of sums, which stay in registers. Where a's rows lie in memory as rows their elements are
/// neighbours, else those of a term are.
template <int bytes, int rows, int vectors, bool in_rows>
LENTO_INLINE void multiply_registers(const PanelBlock& block, const float* a, const float* b, float* c) {
  constexpr std::int64_t kLanes = kLanesOf<bytes>;
  Vector<bytes> sums[rows][vectors] = {};
  for (std::int64_t term = 0; term < block.terms; ++term) {
    Vector<bytes> terms[vectors];
    LENTO_UNROLL
    for (int j = 0; j < vectors; ++j) terms[j] = load<bytes>(b + term * block.b_term + j * kLanes);
    LENTO_UNROLL
    for (int i = 0; i < rows; ++i) {
      const float factor = in_rows ? a[i * block.a_row + term] : a[term * block.a_term + i];
      LENTO_UNROLL
      for (int j = 0; j < vectors; ++j) sums[i][j] += terms[j] * factor;
    }
  }
  LENTO_UNROLL
  for (int i = 0; i < rows; ++i) {
    LENTO_UNROLL
    for (int j = 0; j < vectors; ++j) {
      float* const to = c + i * block.c_row + j * kLanes;
      store<bytes>(block.added ? load<bytes>(to) + sums[i][j] : sums[i][j], to);
    }
  }
}

template <int bytes, int rows, int vectors>
LENTO_INLINE void multiply_rows(const PanelBlock& block, std::int64_t count, const float* a, const float* b, float* c) {
  if constexpr (rows > 0) {
    if (count != rows) return multiply_rows<bytes, rows - 1, vectors>(block, count, a, b, c);
    if (block.a_term == 1) return multiply_registers<bytes, rows, vectors, true>(block, a, b, c);
    multiply_registers<bytes, rows, vectors, false>(block, a, b, c);
  }
}

/// All columns of the block, `vectors` at a time, and `rows` rows at a time.
template <int bytes, int rows, int vectors>
LENTO_INLINE void multiply_whole(const PanelBlock& block) {
  constexpr std::int64_t kWidth = vectors * kLanesOf<bytes>;
  for (std::int64_t column = 0; column < block.columns; column += kWidth) {
    for (std::int64_t row = 0; row < block.rows; row += rows) {
      multiply_rows<bytes, rows, vectors>(block, std::min<std::int64_t>(rows, block.rows - row),
                                          block.a + row * block.a_row, block.b + column,
                                          block.c + row * block.c_row + column);
    }
  }
}

template <int bytes, int rows, int vectors>
LENTO_INLINE void multiply(const PanelBlock& block) {
  constexpr std::int64_t kWidth = vectors * kLanesOf<bytes>;
  if (block.columns % kWidth == 0) return multiply_whole<bytes, rows, vectors>(block);
  // Columns that are no whole number of vectors are summed beside c.
  float rest[kPanelRows * kPanelColumns];
  PanelBlock beside = block;
  beside.c = rest;
  beside.c_row = kPanelColumns;
  for (std::int64_t i = 0; i < block.rows && block.added; ++i) {
    std::fill_n(rest + i * kPanelColumns, kPanelColumns, 0.0F);
    std::copy_n(block.c + i * block.c_row, block.columns, rest + i * kPanelColumns);
  }
  if (block.columns <= kWidth / 2) {
    multiply_whole<bytes, rows, vectors / 2>(beside);
  } else {
    multiply_whole<bytes, rows, vectors>(beside);
  }
  for (std::int64_t i = 0; i < block.rows; ++i)
    std::copy_n(rest + i * kPanelColumns, block.columns, block.c + i * block.c_row);
}

// The instruction set stands at each function, and all that they call is inlined into them.
#define LENTO_PANEL_LOOPS(name, target, bytes, rows, vectors)                                                   \
  struct name {                                                                                                 \
    target static void pack_rows(const PanelSource& from, float* to) { pack_rows_of_a<bytes>(from, to); }       \
    target static void pack_columns(const PanelSource& from, float* to) { pack_columns_of_b<bytes>(from, to); } \
    target static void multiply_block(const PanelBlock& block) { multiply<bytes, rows, vectors>(block); }       \
    static constexpr PanelLoops kLoops{pack_rows, pack_columns, multiply_block};                                \
  };

#if defined(__x86_64__)
LENTO_PANEL_LOOPS(Avx512Panels, [[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,fma")]], 64, 12, 2)
LENTO_PANEL_LOOPS(Avx2Panels, [[gnu::target("avx2,fma")]], 32, 6, 2)
#else
LENTO_PANEL_LOOPS(PlainPanels, , 16, 6, 4)
#endif

}  // namespace

const PanelLoops& panel_loops([[maybe_unused]] bool wide) {
#if defined(__x86_64__)
  return wide ? Avx512Panels::kLoops : Avx2Panels::kLoops;
#else
  return PlainPanels::kLoops;
#endif
}

const PanelLoops& panel_loops() {
  static const PanelLoops& loops = panel_loops(has_wide_vectors());
  return loops;
}

}  // namespace lento::cpu
