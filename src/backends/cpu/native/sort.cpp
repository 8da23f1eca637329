// Sorting along an axis, and the positions that sort: stable. Many short lines are sorted side by side
// (sort_network.h), others one by one (sort_line.h); then lines that are not contiguous are brought together first, as
// many at a time as share cache lines.
#include "backends/cpu/arena.h"
#include "backends/cpu/native/elements.h"
#include "backends/cpu/native/sort_line.h"
#include "backends/cpu/native/sort_network.h"
#include "backends/cpu/prepared_call.h"
#include "backends/cpu/threads.h"
#include "backends/reference/array.h"
#include "base/dispatch.h"
#include "ir/attrs_sort.gen.h"
#include "ir/op_sort.gen.h"

#include <algorithm>

namespace lento::cpu {

namespace {

/// Lines along an axis that is not the last one are sorted this many at a time.
constexpr std::int64_t kColumns = 16;

class SortCall final : public PreparedCall {
 public:
  SortCall(DType dtype, const Shape& shape, std::int64_t axis, bool descending, bool indices)
      : dtype_(dtype), view_(shape, axis), descending_(descending), indices_(indices) {}

  void run(const CallArguments& arguments) const override {
    dispatch(dtype_, [&]<class T>() {
      if constexpr (kHasKey<T>) {
        const auto* x = static_cast<const BitsOf<T>*>(arguments.operands[0]);
        if (runs_in_lanes<T>()) {
          descending_ ? sort_in_lanes<T, true>(x, arguments.results[0])
                      : sort_in_lanes<T, false>(x, arguments.results[0]);
        } else if (indices_) {
          const auto sort = descending_ ? &sort_indices_of_line<T, true> : &sort_indices_of_line<T, false>;
          sort_lines(x, static_cast<std::int64_t*>(arguments.results[0]), sort, index_scratch_bytes<T>(view_.extent));
        } else {
          const auto sort = descending_ ? &sort_values_of_line<T, true> : &sort_values_of_line<T, false>;
          sort_lines(x, static_cast<BitsOf<T>*>(arguments.results[0]), sort, value_scratch_bytes<T>(view_.extent));
        }
      }
    });
  }

  double nanoseconds() const override { return static_cast<double>(view_.outer * view_.extent * view_.inner) * 8; }

 private:
  template <class U, class R>
  using LineSort = void (*)(const U*, R*, std::int64_t, void*);

  /// Whether lines are short, and enough to fill the lanes of vectors.
  template <class T>
  bool runs_in_lanes() const {
    const std::int64_t most = !indices_ ? kNetworkValues : sizeof(T) <= 4 ? kNetworkIndices : 0;
    const std::int64_t side_by_side = view_.inner == 1 ? view_.outer : view_.inner;
    return view_.extent <= most && side_by_side >= (indices_ ? kIndexLanes : kValueLanes<T>) / 2;
  }

  template <class T, bool descending>
  void sort_in_lanes(const BitsOf<T>* x, void* result) const {
    if (view_.outer * view_.extent * view_.inner == 0) return;
    const std::int64_t lanes = indices_ ? kIndexLanes : kValueLanes<T>;
    const std::int64_t side_by_side = view_.inner == 1 ? view_.outer : view_.inner;
    const std::int64_t tiles = (side_by_side + lanes - 1) / lanes;
    const std::int64_t units = view_.inner == 1 ? tiles : view_.outer * tiles;
    const std::int64_t grain = std::max<std::int64_t>(1, 4096 / (view_.extent * lanes));
    parallel_for(units, grain, [&](std::int64_t begin, std::int64_t end) {
      const Scratch keys(static_cast<std::size_t>(view_.extent) * 64);
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t first = unit % tiles * lanes;
        LaneLayout lines{view_.extent, std::min(lanes, side_by_side - first), view_.inner,
                         view_.inner == 1 ? view_.extent : 1};
        const std::int64_t start = unit / tiles * view_.extent * view_.inner + first * lines.line_step;
        if (indices_) {
          if constexpr (sizeof(T) <= 4) {
            auto* out = static_cast<std::int64_t*>(result) + start;
            sort_indices_in_lanes<T, descending>(x + start, out, lines, keys.as<std::uint64_t>());
          }
          continue;
        }
        auto* out = static_cast<BitsOf<T>*>(result) + start;
        if (!sort_values_in_lanes<T, descending>(x + start, out, lines, keys.as<LaneKey<T>>())) {
          sort_one_by_one<T, descending>(x + start, out, lines);
        }
      }
    });
  }

  /// Lines with elements that keys do not tell apart.
  template <class T, bool descending>
  static void sort_one_by_one(const BitsOf<T>* x, BitsOf<T>* out, const LaneLayout& lines) {
    using U = BitsOf<T>;
    const Scratch scratch(static_cast<std::size_t>(value_scratch_bytes<T>(lines.count)));
    U line[kNetworkValues], sorted[kNetworkValues];
    for (std::int64_t j = 0; j < lines.lines; ++j) {
      const std::int64_t at = j * lines.line_step;
      for (std::int64_t k = 0; k < lines.count; ++k) line[k] = x[at + k * lines.step];
      sort_values_of_line<T, descending>(line, sorted, lines.count, scratch.data());
      for (std::int64_t k = 0; k < lines.count; ++k) out[at + k * lines.step] = sorted[k];
    }
  }

  /// Calls body for the lines (or columns of lines) 0 … units - 1: on several threads, unless there are so few that the
  /// work within a line is better shared out.
  template <class Body>
  void for_units(std::int64_t units, std::int64_t elements, Body body) const {
    if (units < 2 * get_num_threads() && view_.extent >= kLongLine) {
      body(0, units);
    } else {
      parallel_for(units, std::max<std::int64_t>(1, 4096 / elements), body);
    }
  }

  template <class U, class R>
  void sort_lines(const U* x, R* out, LineSort<U, R> sort, std::int64_t scratch_bytes) const {
    const std::int64_t extent = view_.extent;
    if (view_.outer * extent * view_.inner == 0) return;
    if (view_.inner == 1) {
      for_units(view_.outer, extent, [&](std::int64_t begin, std::int64_t end) {
        const Scratch scratch(static_cast<std::size_t>(scratch_bytes));
        for (std::int64_t o = begin; o < end; ++o) {
          sort(x + o * extent, out + o * extent, extent, scratch.data());
        }
      });
      return;
    }
    const std::int64_t tiles = (view_.inner + kColumns - 1) / kColumns;
    for_units(view_.outer * tiles, extent * std::min(kColumns, view_.inner), [&](std::int64_t begin, std::int64_t end) {
      const Scratch scratch(static_cast<std::size_t>(scratch_bytes));
      // Lines lie one cache line apart from a multiple of the extent, so that they do not share its sets.
      const std::int64_t from_stride = padded<U>(extent);
      const std::int64_t to_stride = padded<R>(extent);
      const Scratch lines(static_cast<std::size_t>(kColumns * from_stride) * sizeof(U));
      const Scratch sorted(static_cast<std::size_t>(kColumns * to_stride) * sizeof(R));
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t first = unit % tiles * kColumns;
        const std::int64_t columns = std::min(kColumns, view_.inner - first);
        const std::int64_t start = view_.start(unit / tiles, first);
        for (std::int64_t k = 0; k < extent; ++k) {
          const U* row = x + start + k * view_.inner;
          for (std::int64_t j = 0; j < columns; ++j) lines.as<U>()[j * from_stride + k] = row[j];
        }
        for (std::int64_t j = 0; j < columns; ++j) {
          sort(lines.as<U>() + j * from_stride, sorted.as<R>() + j * to_stride, extent, scratch.data());
        }
        for (std::int64_t k = 0; k < extent; ++k) {
          R* row = out + start + k * view_.inner;
          for (std::int64_t j = 0; j < columns; ++j) row[j] = sorted.as<R>()[j * to_stride + k];
        }
      }
    });
  }

  template <class E>
  static std::int64_t padded(std::int64_t extent) {
    constexpr auto kLine = static_cast<std::int64_t>(64 / sizeof(E));
    return (extent + kLine - 1) / kLine * kLine + kLine;
  }

  DType dtype_;
  reference::AxisView view_;
  bool descending_;
  bool indices_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_sort_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  const Meta x = graph.meta_of(graph.operands(node)[0]);
  if (is_complex(x.dtype)) return nullptr;
  if (node.op == op::sort_values) {
    const SortValuesAttrs attrs = decode_sort_values(node.attrs);
    return std::make_unique<SortCall>(x.dtype, x.shape, attrs.axis, attrs.descending, false);
  }
  const SortIndicesAttrs attrs = decode_sort_indices(node.attrs);
  return std::make_unique<SortCall>(x.dtype, x.shape, attrs.axis, attrs.descending, true);
}

}  // namespace lento::cpu
