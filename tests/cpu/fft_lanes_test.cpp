// The inner loops of Fourier transforms: those for shorter vectors give the same bits as those for long ones, wherever
// lines lie in memory.
#include "against_reference.h"
#include "backends/cpu/arena.h"
#include "backends/cpu/fft/lanes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>

namespace lento::cpu {
namespace {

/// Ways for lines to lie in memory: where the imaginary parts are, and the distances of elements and of lanes.
struct Lines {
  std::int64_t im;
  std::int64_t stride;
  std::int64_t lane;
  std::int64_t count;
};

template <class T>
LineSet<T> line_set(T* data, const Lines& lines) {
  LineSet<T> set{data, data + lines.im, lines.stride, {}, lines.count};
  if (lines.im < 0) set = {data - lines.im, data, lines.stride, {}, lines.count};
  for (std::int64_t lane = 0; lane < kFftLanes<T>; ++lane)
    set.lanes[lane] = std::min(lane, lines.count - 1) * lines.lane;
  return set;
}

template <class T>
void expect_same_bits(std::int64_t n) {
  constexpr std::int64_t kLanes = kFftLanes<T>;
  const LaneTransform<T> transform = LaneTransform<T>::make(n);
  const std::int64_t plane = 2 * kLanes * (n + 1);
  const Lines kinds[] = {{1, 2, 2 * n, kLanes},      {-1, 2, 2 * n, kLanes},      {1, 2, 2 * n + 2, kLanes - 3},
                         {1, 2 * kLanes, 2, kLanes}, {-1, 2 * kLanes, 2, kLanes}, {1, 2 * kLanes, 2, kLanes - 1},
                         {plane, 1, n, kLanes},      {plane, kLanes, 1, kLanes},  {plane, 3, 3 * n, 1}};
  const auto x = random_elements<T>(4 * plane + 8 * kLanes, static_cast<unsigned>(n));
  const auto factors = random_elements<T>(2 * kLanes * n + 2, 3);
  for (const Lines& lines : kinds) {
    std::vector<T> results[2];
    for (const bool wide : {false, true}) {
      const LaneLoops<T>& loops = lane_loops<T>(wide);
      const std::size_t bytes = static_cast<std::size_t>(2 * kLanes * (n + 1)) * sizeof(T);
      const Scratch buffer(bytes), spare(bytes);
      std::memset(buffer.data(), 0, bytes);
      std::memset(spare.data(), 0, bytes);
      const LineSet<T> set = line_set(const_cast<T*>(x.data()), lines);
      LineSet<const T> from{set.re, set.im, set.stride, {}, set.count};
      std::copy_n(set.lanes, kLanes, from.lanes);
      loops.load(from, n, buffer.as<T>());
      loops.join_real(n - 1, factors.data(), buffer.as<T>());
      loops.transform(transform, buffer.as<T>());
      loops.scale(transform.order, factors.data(), buffer.as<T>());
      loops.scale_lanes(transform.order, factors.data(), buffer.as<T>());
      loops.split_real(transform.order, factors.data(), buffer.as<T>());
      loops.multiply_exchanged(transform.order, factors.data(), buffer.as<T>(), spare.as<T>());
      results[wide].assign(x.size(), T(0));
      loops.store(line_set(results[wide].data(), lines), transform.order, spare.as<T>());
    }
    EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), x.size() * sizeof(T)), 0)
        << n << " elements, " << lines.im << " " << lines.stride << " " << lines.lane << " " << lines.count;
  }
}

TEST(FftLanes, GiveTheSameBitsWithVectorsOfAnyLength) {
  if (!has_wide_vectors()) GTEST_SKIP() << "this processor has one length of vectors only";
  for (const std::int64_t n : {2, 3, 4, 5, 7, 8, 11, 13, 16, 30, 64, 105, 128, 512, 1001}) {
    expect_same_bits<float>(n);
    expect_same_bits<double>(n);
  }
}

}  // namespace
}  // namespace lento::cpu
