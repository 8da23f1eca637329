// Tensors made from numbers alone: evenly spaced ones and random bits. Every element is computed from its position.
#include "backends/cpu/native/elements.h"
#include "backends/cpu/prepared_call.h"
#include "backends/cpu/threads.h"
#include "backends/reference/convert.h"
#include "backends/reference/philox.h"
#include "base/dispatch.h"
#include "ir/op_creation.gen.h"

#include <algorithm>
#include <complex>

namespace lento::cpu {

namespace {

/// Elements of an iota that share the high part of their number: the rest fits 32 bits, which processors convert to
/// floating point several at a time.
constexpr std::int64_t kIotaBlock = 4096;

template <class T>
void iota_block(T* out, std::int64_t first, std::int64_t count, const Scalar& start, const Scalar& step) {
  const bool integers = !start.is_floating() && !start.is_complex() && !step.is_floating() && !step.is_complex();
  const auto offset = static_cast<double>(first);  // exact, and so are its sums with what is below kIotaBlock
  if (std::integral<T> && integers) {
    const auto from = start.to<std::uint64_t>() + static_cast<std::uint64_t>(first) * step.to<std::uint64_t>();
    const auto by = step.to<std::uint64_t>();
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = reference::convert<T>(from + static_cast<std::uint64_t>(i) * by);
    }
  } else if (reference::Complex<T>) {
    const auto from = start.to<std::complex<double>>();
    const auto by = step.to<std::complex<double>>();
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = reference::convert<T>(from + (offset + static_cast<double>(i)) * by);
    }
  } else {
    const auto from = start.to<double>();
    const auto by = step.to<double>();
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i) {
      out[i] = reference::convert<T>(from + (offset + static_cast<double>(i)) * by);
    }
  }
}

class IotaCall final : public PreparedCall {
 public:
  IotaCall(DType dtype, std::int64_t count) : dtype_(dtype), count_(count) {}

  void run(const CallArguments& arguments) const override {
    const Scalar& start = arguments.numbers[0]->value;
    const Scalar& step = arguments.numbers[1]->value;
    dispatch(dtype_, [&]<class T>() {
      parallel_for(count_, kIotaBlock * 4, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end; at += kIotaBlock) {
          iota_block(static_cast<T*>(arguments.results[0]) + at, at, std::min(kIotaBlock, end - at), start, step);
        }
      });
    });
  }
  double nanoseconds() const override { return static_cast<double>(count_) * 0.5; }

 private:
  DType dtype_;
  std::int64_t count_;
};

/// Blocks of Philox that are made side by side, one in each lane of a vector.
constexpr int kLanes = 16;

/// kLanes blocks of the stream, from number `first` on: their words in order. The same rounds as philox.h.
LENTO_FOR_EVERY_PROCESSOR void philox_lanes(std::uint64_t key, std::uint64_t first, std::uint32_t* out) {
  std::uint32_t c0[kLanes], c1[kLanes], c2[kLanes] = {}, c3[kLanes] = {};
  for (int i = 0; i < kLanes; ++i) {
    const std::uint64_t block = first + static_cast<std::uint64_t>(i);
    c0[i] = static_cast<std::uint32_t>(block);
    c1[i] = static_cast<std::uint32_t>(block >> 32);
  }
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const std::uint64_t product0 = std::uint64_t{0xD2511F53} * c0[i];
      const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * c2[i];
      c0[i] = static_cast<std::uint32_t>(product1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(product1);
      c2[i] = static_cast<std::uint32_t>(product0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(product0);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  for (int i = 0; i < kLanes; ++i) {
    out[4 * i] = c0[i];
    out[4 * i + 1] = c1[i];
    out[4 * i + 2] = c2[i];
    out[4 * i + 3] = c3[i];
  }
}

/// The words of all blocks one after the other are the result for both dtypes: the low half of a uint64 comes first.
class RandomBitsCall final : public PreparedCall {
 public:
  explicit RandomBitsCall(std::int64_t words) : words_(words) {}

  void run(const CallArguments& arguments) const override {
    const auto key = arguments.numbers[0]->value.to<std::uint64_t>();
    const auto counter = arguments.numbers[1]->value.to<std::uint64_t>();
    auto* const out = static_cast<std::uint32_t*>(arguments.results[0]);
    constexpr std::int64_t kWords = 4 * kLanes;
    parallel_for((words_ + kWords - 1) / kWords, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t group = begin; group < end; ++group) {
        const std::uint64_t block = counter + static_cast<std::uint64_t>(group) * kLanes;
        const std::int64_t count = std::min(kWords, words_ - group * kWords);
        if (count == kWords) {
          philox_lanes(key, block, out + group * kWords);
          continue;
        }
        std::uint32_t words[kWords];
        philox_lanes(key, block, words);
        std::copy_n(words, count, out + group * kWords);
      }
    });
  }
  double nanoseconds() const override { return static_cast<double>(words_) * 0.7; }

 private:
  std::int64_t words_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_creation_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  const std::int64_t count = element_count(shape_of(node.shape));
  if (node.op == op::iota) return std::make_unique<IotaCall>(node.dtype, count);
  return std::make_unique<RandomBitsCall>(node.dtype == DType::uint64 ? 2 * count : count);
}

}  // namespace lento::cpu
