// Running sums, products, maxima and minima along an axis, in the order of ir/scan_order.h.
//
// Each addition waits for the one before it, so several lines, or several blocks of one line, are gone over side by
// side. A long line is cut into chunks of blocks: threads take them in turn, make the local results of all their
// blocks, wait for what the chunk before it carries over, and combine.
#include "backends/cpu/native/elements.h"
#include "backends/cpu/prepared_call.h"
#include "backends/cpu/threads.h"
#include "backends/reference/arithmetic.h"
#include "backends/reference/array.h"
#include "base/dispatch.h"
#include "ir/attrs_scan.gen.h"
#include "ir/op_scan.gen.h"
#include "ir/scan_order.h"

#include <algorithm>
#include <atomic>
#include <concepts>
#include <thread>

namespace lento::cpu {

namespace {

using reference::ComputeType;
using reference::widen;

/// Lines side by side: more would only fight for the sets of the first cache level, being a power of two apart.
constexpr int kSide = 4;

/// Whether a line may be cut into blocks: all scans but products of floating point numbers.
template <class T, class Combine>
constexpr bool kBlocked = std::integral<T> || !std::same_as<Combine, reference::Multiply>;

/// Scans kSide runs of elements, each from left to right.
template <class T, class Result, class Combine>
void scan_runs(const T* from, std::int64_t from_stride, Result* to, std::int64_t to_stride, std::int64_t count,
               Combine combine) {
  ComputeType<T> running[kSide] = {};
  for (int j = 0; j < kSide; ++j) {
    running[j] = widen(from[j * from_stride]);
    to[j * to_stride] = static_cast<Result>(running[j]);
  }
  for (std::int64_t k = 1; k < count; ++k) {
#pragma GCC unroll 4
    for (int j = 0; j < kSide; ++j) {
      running[j] = combine(running[j], widen(from[j * from_stride + k]));
      to[j * to_stride + k] = static_cast<Result>(running[j]);
    }
  }
}

template <class T, class Result, class Combine>
void scan_run(const T* from, Result* to, std::int64_t count, Combine combine) {
  ComputeType<T> running = widen(from[0]);
  to[0] = static_cast<Result>(running);
  for (std::int64_t k = 1; k < count; ++k) {
    running = combine(running, widen(from[k]));
    to[k] = static_cast<Result>(running);
  }
}

/// Local results of blocks, and room between them so that they do not lie in the same sets of a cache.
template <class A>
struct Chunk {
  static constexpr std::int64_t kBlocks = 65536 / (kScanBlock * static_cast<std::int64_t>(sizeof(A)));
  static constexpr std::int64_t kLength = kBlocks * kScanBlock;
  static constexpr std::int64_t kStride = kScanBlock + 64 / static_cast<std::int64_t>(sizeof(A));

  alignas(64) A local[kBlocks * kStride];
};

template <class T, class Combine>
void scan_chunk_locally(const T* from, std::int64_t count, Chunk<ComputeType<T>>& chunk, Combine combine) {
  using C = Chunk<ComputeType<T>>;
  std::int64_t at = 0;
  std::int64_t block = 0;
  for (; at + kSide * kScanBlock <= count; at += kSide * kScanBlock, block += kSide) {
    scan_runs(from + at, kScanBlock, chunk.local + block * C::kStride, C::kStride, kScanBlock, combine);
  }
  for (; at < count; at += kScanBlock, ++block) {
    scan_run(from + at, chunk.local + block * C::kStride, std::min(kScanBlock, count - at), combine);
  }
}

/// One line of any length, in chunks that the threads take in turn.
template <class T, class Combine>
void scan_line(const T* from, T* to, std::int64_t extent, Stores stores, Combine combine) {
  using A = ComputeType<T>;
  using C = Chunk<A>;
  const std::int64_t chunks = (extent + C::kLength - 1) / C::kLength;
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> carried{0};  // chunks whose last element is known: `carry` is that of the last of them
  A carry{};
  const auto work = [&](std::int64_t, std::int64_t) {
    C chunk;
    while (true) {
      const std::int64_t c = next.fetch_add(1, std::memory_order_relaxed);
      if (c >= chunks) break;
      const std::int64_t first = c * C::kLength;
      const std::int64_t count = std::min(C::kLength, extent - first);
      scan_chunk_locally(from + first, count, chunk, combine);
      // The chunk before this one was taken earlier, by a thread that is at it.
      for (int spin = 0; carried.load(std::memory_order_acquire) != c; ++spin) {
        if (spin > 1000) std::this_thread::yield();
      }
      A carries[C::kBlocks];
      const std::int64_t blocks = (count + kScanBlock - 1) / kScanBlock;
      for (std::int64_t b = 0; b < blocks; ++b) {
        carries[b] = carry;
        const A last = chunk.local[b * C::kStride + std::min(kScanBlock, count - b * kScanBlock) - 1];
        carry = c == 0 && b == 0 ? last : combine(carry, last);
      }
      carried.store(c + 1, std::memory_order_release);
      for (std::int64_t b = 0; b < blocks; ++b) {
        A* local = chunk.local + b * C::kStride;
        T* out = to + first + b * kScanBlock;
        const std::int64_t length = std::min(kScanBlock, count - b * kScanBlock);
        const A before = carries[b];
        if (c != 0 || b != 0) {
          for (std::int64_t i = 0; i < length; ++i) local[i] = combine(before, local[i]);
        }
        if constexpr (std::same_as<A, T>) {
          copy_bytes(out, local, static_cast<std::size_t>(length) * sizeof(T), stores);
        } else {
          for (std::int64_t i = 0; i < length; ++i) out[i] = static_cast<T>(local[i]);
        }
      }
    }
    finish_streaming();
  };
  parallel_for(std::min<std::int64_t>(get_num_threads(), chunks), 1, work);
}

/// Lines that follow each other in memory.
template <class T, class Combine>
void scan_rows(const T* x, T* out, std::int64_t lines, std::int64_t extent, Combine combine) {
  if (extent == 0) return;
  constexpr bool blocked = kBlocked<T, Combine>;
  const Stores stores = stores_for(lines * extent * static_cast<std::int64_t>(sizeof(T)));
  if (blocked && extent > kScanBlock && lines < 4 * get_num_threads()) {
    for (std::int64_t o = 0; o < lines; ++o) scan_line(x + o * extent, out + o * extent, extent, stores, combine);
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 14) / extent);
  parallel_for(lines, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t o = begin;
    for (; (!blocked || extent <= kScanBlock) && o + kSide <= end; o += kSide) {
      scan_runs(x + o * extent, extent, out + o * extent, extent, extent, combine);
    }
    for (; o < end; ++o) {
      if (blocked && extent > kScanBlock) {
        scan_line(x + o * extent, out + o * extent, extent, stores, combine);
      } else {
        scan_run(x + o * extent, out + o * extent, extent, combine);
      }
    }
  });
}

/// Columns of a matrix of `extent` × `inner` elements, as many of them at a time as a vector of running values holds.
template <class T, class Combine>
void scan_columns(const T* x, T* out, const reference::AxisView& view, Combine combine) {
  using A = ComputeType<T>;
  constexpr std::int64_t kMostColumns = 512;
  const std::int64_t parts = 4 * get_num_threads() / std::max<std::int64_t>(1, view.outer) + 1;
  const std::int64_t width = std::clamp<std::int64_t>((view.inner / parts + 63) / 64 * 64, 64, kMostColumns);
  const std::int64_t tiles = (view.inner + width - 1) / width;
  const std::int64_t block = std::same_as<Combine, reference::Add> ? kScanBlock : view.extent;
  const std::int64_t tile_work = view.extent * std::min(width, view.inner);
  parallel_for(view.outer * tiles,
               std::max<std::int64_t>(1, (std::int64_t{1} << 14) / std::max<std::int64_t>(1, tile_work)),
               [&](std::int64_t begin, std::int64_t end) {
                 A local[kMostColumns], carry[kMostColumns];
                 for (std::int64_t unit = begin; unit < end; ++unit) {
                   const std::int64_t first = unit % tiles * width;
                   const std::int64_t count = std::min(width, view.inner - first);
                   const T* from = x + view.start(unit / tiles, first);
                   T* to = out + view.start(unit / tiles, first);
                   for (std::int64_t k = 0; k < view.extent; ++k, from += view.inner, to += view.inner) {
                     if (k % block == 0) {
                       for (std::int64_t i = 0; i < count; ++i) {
                         if (k != 0) carry[i] = k == block ? local[i] : combine(carry[i], local[i]);
                         local[i] = widen(from[i]);
                       }
                     } else {
                       for (std::int64_t i = 0; i < count; ++i) local[i] = combine(local[i], widen(from[i]));
                     }
                     if (k < block) {
                       for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(local[i]);
                     } else {
                       for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(combine(carry[i], local[i]));
                     }
                   }
                 }
               });
}

template <class Combine>
class ScanCall final : public PreparedCall {
 public:
  ScanCall(DType dtype, const Shape& shape, std::int64_t axis) : dtype_(dtype), view_(shape, axis) {}

  void run(const CallArguments& arguments) const override {
    dispatch(dtype_, [&]<class T>() {
      const T* x = static_cast<const T*>(arguments.operands[0]);
      T* out = static_cast<T*>(arguments.results[0]);
      if (view_.inner == 1) {
        scan_rows(x, out, view_.outer, view_.extent, Combine{});
      } else {
        scan_columns(x, out, view_, Combine{});
      }
    });
  }

  double nanoseconds() const override { return static_cast<double>(view_.outer * view_.extent * view_.inner); }

 private:
  DType dtype_;
  reference::AxisView view_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_scan_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  const Shape& shape = shape_of(node.shape);
  switch (node.op) {
    case op::scan_sum:
      return std::make_unique<ScanCall<reference::Add>>(node.dtype, shape, decode_scan_sum(node.attrs).axis);
    case op::scan_prod:
      return std::make_unique<ScanCall<reference::Multiply>>(node.dtype, shape, decode_scan_prod(node.attrs).axis);
    case op::scan_max:
      return std::make_unique<ScanCall<reference::Maximum>>(node.dtype, shape, decode_scan_max(node.attrs).axis);
    default:
      return std::make_unique<ScanCall<reference::Minimum>>(node.dtype, shape, decode_scan_min(node.attrs).axis);
  }
}

}  // namespace lento::cpu
