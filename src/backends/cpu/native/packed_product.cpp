#include "backends/cpu/native/packed_product.h"

#include "backends/cpu/native/elements.h"
#include "backends/cpu/processors.h"
#include "backends/cpu/threads.h"

#include <algorithm>
#include <iterator>

namespace lento::cpu {

namespace {

constexpr std::int64_t kPanel = PackedMatrix::kPanel;

/// A row of a panel: one vector, or a few where vectors are shorter.
template <class T>
struct Lanes {
  typedef T Type __attribute__((vector_size(kPanel * sizeof(T)), aligned(alignof(T)), may_alias));
};

/// Terms that are summed before the next rows of a: a part of a panel that stays in the first cache.
constexpr std::int64_t kDepth = 256;

/// `rows` × `panels` vectors of sums, which stay in registers.
template <class T, int rows, int panels>
[[gnu::always_inline]] inline void multiply_tile(std::int64_t depth, const T* a, std::int64_t a_row, const T* b,
                                                 std::int64_t panel, T* c, std::int64_t c_row, bool first) {
  using V = typename Lanes<T>::Type;
  V sums[rows][panels];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < panels; ++j) {
      if (first) {
        sums[i][j] = V{};
      } else {
        sums[i][j] = *reinterpret_cast<const V*>(c + i * c_row + j * kPanel);
      }
    }
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    V terms[panels];
#pragma GCC unroll 4
    for (int j = 0; j < panels; ++j) terms[j] = *reinterpret_cast<const V*>(b + j * panel + k * kPanel);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const T factor = a[i * a_row + k];
#pragma GCC unroll 4
      for (int j = 0; j < panels; ++j) sums[i][j] += terms[j] * factor;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < panels; ++j) *reinterpret_cast<V*>(c + i * c_row + j * kPanel) = sums[i][j];
  }
}

/// What a tile is called with.
template <class T>
struct Tile {
  std::int64_t rows;
  std::int64_t panels;
  std::int64_t depth;
  const T* a;
  std::int64_t a_row;
  const T* b;
  std::int64_t panel;
  T* c;
  std::int64_t c_row;
  bool first;
};

template <class T, int panels, int rows>
[[gnu::always_inline]] inline void run_tile(const Tile<T>& t) {
  if constexpr (rows > 0) {
    if (t.rows == rows) {
      return multiply_tile<T, rows, panels>(t.depth, t.a, t.a_row, t.b, t.panel, t.c, t.c_row, t.first);
    }
    return run_tile<T, panels, rows - 1>(t);
  }
}

template <class T>
[[gnu::always_inline]] inline void run_any_tile(const Tile<T>& t) {
  if (t.panels == 4) return run_tile<T, 4, 2>(t);
  if (t.panels == 2) return run_tile<T, 2, 6>(t);
  run_tile<T, 1, 12>(t);
}

LENTO_FOR_EVERY_PROCESSOR void run_tile_on(const Tile<float>& tile) { run_any_tile(tile); }
LENTO_FOR_EVERY_PROCESSOR void run_tile_on(const Tile<double>& tile) { run_any_tile(tile); }

/// Rows of a tile that is one, two or four panels wide, so that its sums have registers.
std::int64_t most_rows(std::int64_t panels) {
  static const bool wide = has_wide_vectors();
  return panels == 4 ? 2 : panels == 2 ? (wide ? 6 : 3) : (wide ? 12 : 6);
}

template <class T>
void multiply_panels(std::int64_t rows, std::int64_t depth, const T* a, std::int64_t a_row, const T* panels,
                     std::int64_t first, std::int64_t end, T* c, std::int64_t c_row) {
  const std::int64_t at_once = rows <= 2 ? 4 : rows <= 6 ? 2 : 1;
  for (std::int64_t k = 0; k < depth; k += kDepth) {
    for (std::int64_t column = first; column < end;) {
      const std::int64_t panels_left = (end - column) / kPanel;
      std::int64_t width = at_once;
      while (width > 1 && panels_left < width) width /= 2;
      const std::int64_t groups = (rows + most_rows(width) - 1) / most_rows(width);
      Tile<T> tile{.rows = 0,
                   .panels = width,
                   .depth = std::min(kDepth, depth - k),
                   .a = a + k,
                   .a_row = a_row,
                   .b = panels + column * depth + k * kPanel,
                   .panel = kPanel * depth,
                   .c = nullptr,
                   .c_row = c_row,
                   .first = k == 0};
      // The last columns, fewer than a panel, are summed beside c.
      T rest[12 * kPanel];
      const bool is_rest = panels_left == 0;
      if (is_rest) std::fill(std::begin(rest), std::end(rest), T{});
      for (std::int64_t group = 0; group < groups; ++group) {
        const std::int64_t row = rows * group / groups;
        tile.rows = rows * (group + 1) / groups - row;
        tile.a = a + row * a_row + k;
        tile.c = c + row * c_row + column - first;
        tile.c_row = c_row;
        if (is_rest) {
          tile.c = rest;
          tile.c_row = kPanel;
          for (std::int64_t i = 0; i < tile.rows && k != 0; ++i)
            std::copy_n(c + (row + i) * c_row + column - first, end - column, rest + i * kPanel);
        }
        run_tile_on(tile);
        for (std::int64_t i = 0; i < tile.rows && is_rest; ++i)
          std::copy_n(rest + i * kPanel, end - column, c + (row + i) * c_row + column - first);
      }
      column = is_rest ? end : column + width * kPanel;
    }
  }
}

template <class T>
void pack_panel(const T* data, std::int64_t depth, std::int64_t columns, std::int64_t row, std::int64_t column, T* to) {
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t j = 0; j < columns; ++j) to[k * kPanel + j] = data[k * row + j * column];
    std::fill(to + k * kPanel + columns, to + (k + 1) * kPanel, T{});
  }
}

template <class F>
void for_floats(DType dtype, const F& f) {
  if (dtype == DType::float32) {
    f.template operator()<float>();
  } else {
    f.template operator()<double>();
  }
}

std::int64_t panel_count(std::int64_t columns) { return (columns + kPanel - 1) / kPanel; }

}  // namespace

PackedMatrix::PackedMatrix(DType dtype, const std::byte* data, std::int64_t depth, std::int64_t columns,
                           std::int64_t row, std::int64_t column)
    : dtype_(dtype),
      depth_(depth),
      panels_(static_cast<std::size_t>(panel_count(columns) * kPanel * depth) * size_of(dtype)) {
  for_floats(dtype, [&]<class T>() {
    const T* const from = reinterpret_cast<const T*>(data);
    constexpr std::int64_t kGrainElements = std::int64_t{1} << 14;
    const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / std::max<std::int64_t>(1, kPanel * depth));
    parallel_for(panel_count(columns), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t panel = begin; panel < end; ++panel) {
        const std::int64_t first = panel * kPanel;
        pack_panel(from + first * column, depth, std::min(kPanel, columns - first), row, column,
                   panels_.as<T>() + first * depth);
      }
    });
  });
}

void PackedMatrix::multiply(std::int64_t rows, const std::byte* a, std::int64_t a_row, std::int64_t first,
                            std::int64_t end, std::byte* c, std::int64_t c_row) const {
  for_floats(dtype_, [&]<class T>() {
    multiply_panels(rows, depth_, reinterpret_cast<const T*>(a), a_row, panels_.as<T>(), first, end,
                    reinterpret_cast<T*>(c), c_row);
  });
}

}  // namespace lento::cpu
