#include "backends/cpu/libraries/matmul.h"

#include "backends/cpu/arena.h"
#include "backends/cpu/divide_up.h"
#include "backends/cpu/libraries/convert_half.h"
#include "backends/cpu/libraries/gemm.h"
#include "backends/cpu/libraries/library_calls.h"
#include "backends/cpu/native/panel_product.h"
#include "backends/cpu/threads.h"

#include "backends/reference/blas_memory.h"
#include "base/dispatch.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace lento::cpu {

namespace {

// A tile has at least this many products, some 20 µs of float32.
constexpr std::int64_t kTileProducts = std::int64_t{1} << 20;
// Large tiles are up to 10 % faster, since each packs (or converts) whole rows of a and columns of b; but many threads
// should have something to do.
constexpr std::int64_t kLargestTile = 512;
constexpr std::int64_t kFewestRows = 128;
constexpr std::int64_t kFewestColumns = 256;
constexpr std::int64_t kEnoughTiles = 32;
// One row times a matrix reads that once, row by row: parts of rows should not be too short for it.
constexpr std::int64_t kFewestColumnsOfVector = 2048;
// Below this OpenBLAS is faster than oneDNN, whose primitives cost 2 µs a call.
constexpr std::int64_t kSmallProducts = 48 * 48 * 48;
// Packing b for so few rows takes longer than the product.
constexpr std::int64_t kFewRows = 8;
// Nor do so few terms pay for packing, unless there are many products.
constexpr std::int64_t kFewTerms = 16;
constexpr std::int64_t kManyProducts = std::int64_t{1} << 20;
// What is worth handing to another thread: some 5 µs.
constexpr std::int64_t kGrainProducts = std::int64_t{1} << 18;

constexpr std::int64_t kLargestExtent = std::numeric_limits<std::int32_t>::max();

/// a * b, or the largest number.
std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

/// Copies a matrix of `lines` lines of `length` elements, close together; halves become float32.
template <class T, class To>
void copy_lines(const T* from, std::int64_t lines, std::int64_t length, std::int64_t line_stride, std::int64_t stride,
                To* to) {
  for (std::int64_t line = 0; line < lines; ++line, from += line_stride, to += length) {
    if constexpr (!std::same_as<T, To>) {
      if (stride == 1) {
        to_float(from, to, length);
        continue;
      }
    }
    for (std::int64_t i = 0; i < length; ++i) to[i] = static_cast<To>(from[i * stride]);
  }
}

}  // namespace

/// One tile of one matrix of the result.
struct PreparedMatmul::Tile {
  const std::byte* a;  // its first row of A
  const std::byte* b;  // its first column of B
  std::byte* c;
  std::int64_t m;
  std::int64_t n;
  bool last_m;
  bool last_n;
};

PreparedMatmul::Side PreparedMatmul::side_of(const MatrixStrides& strides, std::int64_t rows, std::int64_t columns) {
  const auto in_lines = [](std::int64_t lines, std::int64_t length, std::int64_t line_stride, std::int64_t stride) {
    return (length == 1 || stride == 1) && (lines == 1 || (line_stride >= length && line_stride <= kLargestExtent));
  };
  Side side{strides.row, strides.column, false, true};
  if (in_lines(rows, columns, strides.row, strides.column)) {
    if (rows == 1) side.row = columns;
    side.column = 1;
  } else if (in_lines(columns, rows, strides.column, strides.row)) {
    if (columns == 1) side.column = rows;
    side.row = 1;
    side.transposed = true;
  } else {
    side.direct = false;
    side.transposed = strides.row == 1;
  }
  return side;
}

PreparedMatmul::PreparedMatmul(const MatmulProblem& problem) : problem_(problem) {
  problem_.merge_batch();
  batch_count_ = element_count(problem_.batch.span());
  a_ = side_of(problem_.a, problem_.m, problem_.k);
  b_ = side_of(problem_.b, problem_.k, problem_.n);
}

void PreparedMatmul::choose_tiles() {
  tile_m_ = std::min(problem_.m, kLargestTile);
  const bool is_vector = problem_.m == 1 && !b_.transposed;
  const std::int64_t fewest_columns = is_vector ? kFewestColumnsOfVector : kFewestColumns;
  tile_n_ = std::min(problem_.n, std::max(kLargestTile, fewest_columns));
  const auto tiles = [&] { return divide_up(problem_.m, tile_m_) * divide_up(problem_.n, tile_n_); };
  while (tile_m_ > kFewestRows && tiles() < kEnoughTiles) tile_m_ = std::max(tile_m_ / 2, kFewestRows);
  while (tile_n_ > fewest_columns && tiles() < kEnoughTiles) tile_n_ = std::max(tile_n_ / 2, fewest_columns);
  const auto products = [&] { return saturating_product(tile_m_ * tile_n_, problem_.k); };
  while (tile_n_ < problem_.n && products() < kTileProducts) tile_n_ = std::min(2 * tile_n_, problem_.n);
  while (tile_m_ < problem_.m && products() < kTileProducts) tile_m_ = std::min(2 * tile_m_, problem_.m);
  // Tiles of nearly the same size, in whole vectors.
  const auto even_out = [](std::int64_t extent, std::int64_t& tile, std::int64_t& tiles) {
    tile = divide_up(divide_up(extent, divide_up(extent, tile)), 16) * 16;
    tile = std::min(tile, extent);
    tiles = divide_up(extent, tile);
  };
  even_out(problem_.m, tile_m_, tiles_m_);
  even_out(problem_.n, tile_n_, tiles_n_);
}

bool PreparedMatmul::make_primitives() {
  const auto extent = [](std::int64_t whole, std::int64_t tile, std::int64_t tiles, bool last) {
    return last ? whole - (tiles - 1) * tile : tile;
  };
  for (const bool last_m : {false, true}) {
    if (!last_m && tiles_m_ == 1) continue;
    for (const bool last_n : {false, true}) {
      if (!last_n && tiles_n_ == 1) continue;
      const std::int64_t m = extent(problem_.m, tile_m_, tiles_m_, last_m);
      const std::int64_t n = extent(problem_.n, tile_n_, tiles_n_, last_n);
      const OperandLayout a{problem_.dtype, {m, problem_.k}, {a_.row, a_.column}};
      const OperandLayout b{problem_.dtype, {problem_.k, n}, {b_.row, b_.column}};
      const OperandLayout c{problem_.dtype, {m, n}, {problem_.n, 1}};
      primitives_[last_m][last_n] = MatmulPrimitive::get(a, b, c);
      if (primitives_[last_m][last_n] == nullptr) return false;
    }
  }
  return true;
}

bool PreparedMatmul::panels_pay() const {
  if (problem_.m == 1 || problem_.n == 1) return false;
  if (problem_.m <= kFewRows && b_.column != 1) return false;
  return problem_.k >= kFewTerms || saturating_product(problem_.m * problem_.n, problem_.k) >= kManyProducts;
}

std::unique_ptr<const PreparedMatmul> PreparedMatmul::make(const MatmulProblem& problem) {
  std::unique_ptr<PreparedMatmul> prepared(new PreparedMatmul(problem));
  const MatmulProblem& own = prepared->problem_;
  if (own.m == 0 || own.n == 0 || own.k == 0 || prepared->batch_count_ == 0) {
    prepared->method_ = Method::zeros;
    return prepared;
  }
  if (own.m > kLargestExtent || own.n > kLargestExtent || own.k > kLargestExtent) return nullptr;
  const DType dtype = own.dtype;
  const bool direct = prepared->a_.direct && prepared->b_.direct;
  const bool small = saturating_product(own.m * own.n, own.k) <= kSmallProducts;
  if (is_integer(dtype) || is_bool(dtype)) {
    prepared->method_ = Method::plain;
  } else if (dtype == DType::float32 && !small && prepared->panels_pay()) {
    prepared->method_ = Method::panels;
  } else if (dtype == DType::bfloat16 && direct && !small && has_bfloat16_products()) {
    prepared->method_ = Method::primitive;
  } else if (is_half(dtype) || !direct) {
    prepared->method_ = Method::converted;
  } else if (small) {
    prepared->method_ = Method::small_gemm;
  }
  prepared->choose_tiles();
  if (prepared->method_ == Method::primitive && !prepared->make_primitives()) {
    prepared->method_ = Method::converted;
    prepared->choose_tiles();
  }
  return prepared;
}

double PreparedMatmul::products() const {
  return static_cast<double>(batch_count_) * static_cast<double>(problem_.m) * static_cast<double>(problem_.n) *
         static_cast<double>(problem_.k);
}

void PreparedMatmul::run_tile(const Tile& tile) const {
  const auto leading = [](const Side& side) { return side.transposed ? side.column : side.row; };
  switch (method_) {
    case Method::zeros:
      return;
    case Method::gemm:
    case Method::small_gemm:
      return gemm(problem_.dtype, tile.m, tile.n, problem_.k, {tile.a, leading(a_), a_.transposed},
                  {tile.b, leading(b_), b_.transposed}, tile.c, problem_.n, method_ == Method::small_gemm);
    case Method::converted:
      return run_converted(tile);
    case Method::panels:  // has no tiles
      return;
    case Method::primitive:
      return primitives_[tile.last_m][tile.last_n]->run(tile.a, tile.b, tile.c);
    case Method::plain:
      return plain_product(problem_.dtype, tile.m, tile.n, problem_.k, {tile.a, a_.row, a_.column},
                           {tile.b, b_.row, b_.column}, tile.c, problem_.n);
  }
}

bool PreparedMatmul::calls_blas() const {
  if (method_ == Method::small_gemm) return true;
  return (method_ == Method::gemm || method_ == Method::converted) &&
         (problem_.dtype == DType::float64 || is_complex(problem_.dtype));
}

void PreparedMatmul::run_converted(const Tile& tile) const {
  const std::int64_t k = problem_.k;
  dispatch(problem_.dtype, [&]<class T>() {
    if constexpr (!std::integral<T>) {
      using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
      const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(Wide); };
      const Scratch a(bytes(tile.m * k));
      const Scratch b(bytes(k * tile.n));
      const auto copy = [](const Side& side, const std::byte* from, std::int64_t rows, std::int64_t columns, void* to) {
        if (side.transposed) {
          copy_lines(reinterpret_cast<const T*>(from), columns, rows, side.column, side.row, static_cast<Wide*>(to));
          return GemmOperand{to, rows, true};
        }
        copy_lines(reinterpret_cast<const T*>(from), rows, columns, side.row, side.column, static_cast<Wide*>(to));
        return GemmOperand{to, columns, false};
      };
      const GemmOperand left = copy(a_, tile.a, tile.m, k, a.data());
      const GemmOperand right = copy(b_, tile.b, k, tile.n, b.data());
      const bool small = tile.m * tile.n * k <= kSmallProducts;
      if constexpr (std::same_as<T, Wide>) {
        gemm(problem_.dtype, tile.m, tile.n, k, left, right, tile.c, problem_.n, small);
      } else {
        const Scratch c(bytes(tile.m * tile.n));
        gemm(DType::float32, tile.m, tile.n, k, left, right, c.data(), tile.n, small);
        for (std::int64_t i = 0; i < tile.m; ++i)
          from_float(c.as<float>() + i * tile.n, reinterpret_cast<T*>(tile.c) + i * problem_.n, tile.n);
      }
    }
  });
}

PreparedMatmul::Offsets PreparedMatmul::offsets_of(std::int64_t matrix) const {
  Offsets offsets{0, 0, matrix * problem_.m * problem_.n};
  for (std::size_t axis = problem_.batch.size(); axis-- > 0;) {
    const std::int64_t position = matrix % problem_.batch[axis];
    matrix /= problem_.batch[axis];
    offsets.a += position * problem_.a.batch[axis];
    offsets.b += position * problem_.b.batch[axis];
  }
  return offsets;
}

void PreparedMatmul::run_panels(const float* a, const float* b, float* c) const {
  const PanelShape shape{problem_.m,        problem_.n,     problem_.k,       problem_.a.row,
                         problem_.a.column, problem_.b.row, problem_.b.column};
  multiply_in_panels(shape, batch_count_, [&](std::int64_t matrix) {
    const Offsets offsets = offsets_of(matrix);
    return PanelOperands{a + offsets.a, b + offsets.b, c + offsets.c};
  });
}

void PreparedMatmul::run(const void* a, const void* b, void* c) const {
  const auto element = static_cast<std::int64_t>(size_of(problem_.dtype));
  if (method_ == Method::zeros) {
    const std::int64_t count = batch_count_ * problem_.m * problem_.n;
    if (count != 0) std::memset(c, 0, static_cast<std::size_t>(count * element));
    return;
  }
  if (method_ == Method::panels) {
    return run_panels(static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(c));
  }
  const std::int64_t tiles = tiles_m_ * tiles_n_;
  const auto some_tiles = [&](std::int64_t begin, std::int64_t end) {
    const OneThread one;
    std::optional<reference::BlasCall> call;
    if (calls_blas()) call.emplace();  // once for all tiles
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t tile = task % tiles;
      const Offsets offsets = offsets_of(task / tiles);
      const std::int64_t at_m = tile / tiles_n_;
      const std::int64_t at_n = tile % tiles_n_;
      const std::int64_t row = at_m * tile_m_;
      const std::int64_t column = at_n * tile_n_;
      run_tile({static_cast<const std::byte*>(a) + (offsets.a + row * a_.row) * element,
                static_cast<const std::byte*>(b) + (offsets.b + column * b_.column) * element,
                static_cast<std::byte*>(c) + (offsets.c + row * problem_.n + column) * element,
                std::min(tile_m_, problem_.m - row), std::min(tile_n_, problem_.n - column), at_m == tiles_m_ - 1,
                at_n == tiles_n_ - 1});
    }
  };
  const std::int64_t products = std::max<std::int64_t>(saturating_product(tile_m_ * tile_n_, problem_.k), 1);
  parallel_for(batch_count_ * tiles, divide_up(kGrainProducts, products), some_tiles);
}

}  // namespace lento::cpu
