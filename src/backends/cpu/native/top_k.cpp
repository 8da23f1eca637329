// The k first elements of a line in order, and their positions. What cannot be among them is left behind by comparing
// with the last of the best k so far; only what remains is sorted.
#include "backends/cpu/arena.h"
#include "backends/cpu/native/sort_key.h"
#include "backends/cpu/native/sort_line.h"
#include "backends/cpu/prepared_call.h"
#include "backends/cpu/threads.h"
#include "backends/reference/array.h"
#include "base/dispatch.h"
#include "ir/attrs_sort.gen.h"

#include <algorithm>
#include <vector>

namespace lento::cpu {

namespace {

/// Elements of a part of a long line.
constexpr std::int64_t kPart = std::int64_t{1} << 18;

/// The k first entries of a part of a line, in any order. `entries` has room for 2 k + kSlack; returns how many there
/// are.
constexpr std::int64_t kSlack = 64;

template <class T, bool descending>
std::int64_t select(const BitsOf<T>* x, std::int64_t stride, std::int64_t begin, std::int64_t end, std::int64_t k,
                    WideEntry* entries) {
  const std::int64_t most = 2 * k + kSlack;
  std::int64_t found = 0;
  std::uint64_t limit = ~std::uint64_t{0};  // keys from here on are out; until there are k, none is
  bool limited = false;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::uint64_t key = sort_key<T, descending>(x[i * stride]);
    if (limited && key >= limit) continue;  // among equals the earlier ones stay
    entries[found++] = {key, static_cast<std::uint64_t>(i)};
    if (found < most) continue;
    std::nth_element(entries, entries + k - 1, entries + found);
    found = k;
    limit = entries[k - 1].key;
    limited = true;
  }
  if (found > k) {
    std::nth_element(entries, entries + k - 1, entries + found);
    found = k;
  }
  return found;
}

class TopKCall final : public PreparedCall {
 public:
  TopKCall(DType dtype, const Shape& shape, const TopKAttrs& attrs)
      : dtype_(dtype), view_(shape, attrs.axis), k_(attrs.k), largest_(attrs.largest) {}

  void run(const CallArguments& arguments) const override {
    dispatch(dtype_, [&]<class T>() {
      if constexpr (kHasKey<T>) largest_ ? run_lines<T, true>(arguments) : run_lines<T, false>(arguments);
    });
  }

  double nanoseconds() const override { return static_cast<double>(view_.outer * view_.extent * view_.inner) * 2; }

 private:
  template <class T, bool descending>
  void run_lines(const CallArguments& arguments) const {
    const std::int64_t lines = view_.outer * view_.inner;
    if (lines * k_ == 0) return;
    const auto* x = static_cast<const BitsOf<T>*>(arguments.operands[0]);
    if (lines < 2 * get_num_threads() && view_.extent >= 2 * kPart && k_ <= kPart / 16) {
      for (std::int64_t line = 0; line < lines; ++line) run_long_line<T, descending>(arguments, x, line);
      return;
    }
    parallel_for(lines, std::max<std::int64_t>(1, (std::int64_t{1} << 13) / view_.extent),
                 [&](std::int64_t begin, std::int64_t end) {
                   const Scratch entries(entry_bytes());
                   for (std::int64_t line = begin; line < end; ++line) {
                     const BitsOf<T>* start = x + view_.start(line / view_.inner, line % view_.inner);
                     select<T, descending>(start, view_.inner, 0, view_.extent, k_, entries.as<WideEntry>());
                     write(arguments, start, line, entries.as<WideEntry>(), k_);
                   }
                 });
  }

  template <class T, bool descending>
  void run_long_line(const CallArguments& arguments, const BitsOf<T>* x, std::int64_t line) const {
    const BitsOf<T>* start = x + view_.start(line / view_.inner, line % view_.inner);
    const std::int64_t parts = (view_.extent + kPart - 1) / kPart;
    const Scratch best(static_cast<std::size_t>(parts * k_) * sizeof(WideEntry));
    std::vector<std::int64_t> found(static_cast<std::size_t>(parts), 0);
    parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      const Scratch entries(entry_bytes());
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t count = select<T, descending>(
            start, view_.inner, p * kPart, std::min(view_.extent, (p + 1) * kPart), k_, entries.as<WideEntry>());
        std::copy_n(entries.as<WideEntry>(), count, best.as<WideEntry>() + p * k_);
        found[static_cast<std::size_t>(p)] = count;
      }
    });
    WideEntry* const all = best.as<WideEntry>();
    std::int64_t total = 0;
    for (std::int64_t p = 0; p < parts; ++p) {
      std::copy_n(all + p * k_, found[static_cast<std::size_t>(p)], all + total);
      total += found[static_cast<std::size_t>(p)];
    }
    std::nth_element(all, all + k_ - 1, all + total);
    write(arguments, start, line, all, k_);
  }

  std::size_t entry_bytes() const { return static_cast<std::size_t>(2 * k_ + kSlack) * sizeof(WideEntry); }

  template <class U>
  void write(const CallArguments& arguments, const U* start, std::int64_t line, WideEntry* entries,
             std::int64_t count) const {
    std::sort(entries, entries + count);
    const std::int64_t at = line / view_.inner * k_ * view_.inner + line % view_.inner;
    auto* const values = static_cast<U*>(arguments.results[0]);
    auto* const indices = static_cast<std::int64_t*>(arguments.results[1]);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<std::int64_t>(entries[i].index);
      if (values != nullptr) values[at + i * view_.inner] = start[index * view_.inner];
      if (indices != nullptr) indices[at + i * view_.inner] = index;
    }
  }

  DType dtype_;
  reference::AxisView view_;
  std::int64_t k_;
  bool largest_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_top_k_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  const Meta x = graph.meta_of(graph.operands(node)[0]);
  if (is_complex(x.dtype)) return nullptr;
  return std::make_unique<TopKCall>(x.dtype, x.shape, decode_top_k(node.attrs));
}

}  // namespace lento::cpu
