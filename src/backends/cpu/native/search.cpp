// Positions found by looking: where values belong in a sorted tensor, and where elements differ from zero.
#include "backend/node_call.h"
#include "backends/cpu/native/elements.h"
#include "backends/cpu/prepared_call.h"
#include "backends/cpu/threads.h"
#include "backends/reference/arithmetic.h"
#include "base/dispatch.h"
#include "base/fail.h"
#include "ir/attrs_sort.gen.h"
#include "ir/bad_values.h"
#include "ir/op_sort.gen.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <vector>

namespace lento::cpu {

namespace {

/// Values that are looked for side by side: each step of a search waits for memory, and the others need not.
constexpr int kSide = 8;

/// What std::lower_bound (or upper_bound, when `right`) finds, by the same steps, for `count` values.
template <class T, bool right>
void search_group(const T* sorted, std::int64_t size, const T* values, int count, std::int64_t* out) {
  std::int64_t first[kSide] = {}, length[kSide];
  T value[kSide];
  for (int j = 0; j < kSide; ++j) {
    length[j] = size;
    value[j] = values[std::min(j, count - 1)];
  }
  const int steps = std::bit_width(static_cast<std::uint64_t>(size));
  for (int step = 0; step < steps; ++step) {
    for (int j = 0; j < kSide; ++j) {
      const std::int64_t half = length[j] / 2;
      const T& element = sorted[std::min(first[j] + half, size - 1)];
      const bool behind =
          right ? !reference::comes_before(value[j], element) : reference::comes_before(element, value[j]);
      const bool moves = behind && length[j] > 0;
      first[j] = moves ? first[j] + half + 1 : first[j];
      length[j] = moves ? length[j] - half - 1 : half;
    }
  }
  for (int j = 0; j < count; ++j) out[j] = first[j];
}

class SearchSortedCall final : public PreparedCall {
 public:
  SearchSortedCall(DType dtype, std::int64_t size, std::int64_t count, bool right)
      : dtype_(dtype), size_(size), count_(count), right_(right) {}

  void run(const CallArguments& arguments) const override {
    auto* const out = static_cast<std::int64_t*>(arguments.results[0]);
    dispatch(dtype_, [&]<class T>() {
      if constexpr (!reference::Complex<T>) {
        const T* sorted = static_cast<const T*>(arguments.operands[0]);
        const T* values = static_cast<const T*>(arguments.operands[1]);
        const auto search = right_ ? &search_group<T, true> : &search_group<T, false>;
        parallel_for(count_, 1024, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; i += kSide) {
            search(sorted, size_, values + i, static_cast<int>(std::min<std::int64_t>(kSide, end - i)), out + i);
          }
        });
      }
    });
  }

  double nanoseconds() const override {
    return static_cast<double>(count_) * 3 * std::bit_width(static_cast<std::uint64_t>(size_));
  }

 private:
  DType dtype_;
  std::int64_t size_;
  std::int64_t count_;
  bool right_;
};

/// How many of these differ from zero.
template <class T>
std::int64_t count_nonzero(const T* x, std::int64_t count) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) found += reference::is_nonzero(x[i]) ? 1 : 0;
  return found;
}

/// A mask is bytes that are 0 and 1: of 255 of them the sum is a byte.
LENTO_FOR_EVERY_PROCESSOR std::int64_t count_ones(const std::uint8_t* x, std::int64_t count) {
  constexpr std::int64_t kLanes = 64;
  std::int64_t found = 0;
  std::int64_t at = 0;
  while (at + kLanes <= count) {
    std::uint8_t sums[kLanes] = {};
    for (const std::int64_t end = std::min(count, at + 255 * kLanes); at + kLanes <= end; at += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        sums[lane] = static_cast<std::uint8_t>(sums[lane] + x[at + lane]);
    }
    for (const std::uint8_t sum : sums) found += sum;
  }
  for (; at < count; ++at) found += x[at];
  return found;
}
std::int64_t count_nonzero(const bool* x, std::int64_t count) {
  return count_ones(reinterpret_cast<const std::uint8_t*>(x), count);
}

/// Elements that are passed over at once if they are zero: bytes of a mask, which often has long runs of them. So many
/// that among random ones there is hardly ever such a run: nobody could predict where.
constexpr std::int64_t kStep = 32;
template <class T>
bool are_zero(const T* x) {
  if constexpr (!std::same_as<T, bool>) return false;
  std::uint64_t bytes[kStep / 8];
  std::memcpy(bytes, x, sizeof bytes);
  return (bytes[0] | bytes[1] | bytes[2] | bytes[3]) == 0;
}

class NonzeroCall final : public PreparedCall {
 public:
  NonzeroCall(DType dtype, std::int64_t count, std::int64_t expected)
      : dtype_(dtype), count_(count), expected_(expected) {}

  void run(const CallArguments& arguments) const override {
    dispatch(dtype_, [&]<class T>() { find(arguments, static_cast<const T*>(arguments.operands[0])); });
  }

  double nanoseconds() const override { return static_cast<double>(count_) * 2; }

 private:
  static constexpr std::int64_t kPart = std::int64_t{1} << 14;

  template <class T>
  void find(const CallArguments& arguments, const T* x) const {
    const std::int64_t parts = (count_ + kPart - 1) / kPart;
    std::vector<std::int64_t> first(static_cast<std::size_t>(parts));
    parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t begins = p * kPart;
        first[static_cast<std::size_t>(p)] = count_nonzero(x + begins, std::min(kPart, count_ - begins));
      }
    });
    std::int64_t total = 0;
    for (std::int64_t& part : first) total += std::exchange(part, total);
    if (total != expected_) {
      const NodeContext context(op::flat_nonzero);
      const BadValue bad = bad_value(op::flat_nonzero, count_word(total), {}, Shape{expected_});
      Error::raise(bad.kind, complete_message(bad.message));
    }
    auto* const out = static_cast<std::int64_t*>(arguments.results[0]);
    parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        // Without a branch that nobody could predict: what is not wanted is written over. Through a small buffer, since
        // behind a part's last position there is another part's first one.
        constexpr std::int64_t kBlock = 512;
        std::int64_t positions[kBlock];
        std::int64_t at = first[static_cast<std::size_t>(p)];
        const std::int64_t last = std::min(count_, (p + 1) * kPart);
        for (std::int64_t block = p * kPart; block < last; block += kBlock) {
          std::int64_t found = 0;
          const std::int64_t end = std::min(last, block + kBlock);
          for (std::int64_t i = block; i < end;) {
            const std::int64_t next = std::min(end, i + kStep);
            if (next - i == kStep && are_zero(x + i)) {
              i = next;
              continue;
            }
            for (; i < next; ++i) {
              positions[found] = i;
              found += reference::is_nonzero(x[i]) ? 1 : 0;
            }
          }
          std::copy_n(positions, found, out + at);
          at += found;
        }
      }
    });
  }

  DType dtype_;
  std::int64_t count_;
  std::int64_t expected_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_search_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  const std::span<const OperandRef> operands = graph.operands(node);
  const Meta x = graph.meta_of(operands[0]);
  if (node.op == op::flat_nonzero) {
    return std::make_unique<NonzeroCall>(x.dtype, element_count(x.shape), decode_flat_nonzero(node.attrs).size);
  }
  const std::int64_t count = element_count(graph.meta_of(operands[1]).shape);
  return std::make_unique<SearchSortedCall>(x.dtype, element_count(x.shape), count,
                                            decode_search_sorted(node.attrs).right);
}

}  // namespace lento::cpu
