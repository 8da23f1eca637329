#include "backends/cpu/fft/lanes.h"

#include "backends/cpu/fft/lane_memory.h"

#include <cmath>
#include <numbers>
#include <type_traits>
#include <utility>

namespace lento::cpu {

namespace {

using lanes::Vectors;

template <class V>
struct Pair {
  V re;
  V im;
};

template <class V>
LENTO_INLINE Pair<V> operator+(const Pair<V>& a, const Pair<V>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
LENTO_INLINE Pair<V> operator-(const Pair<V>& a, const Pair<V>& b) {
  return {a.re - b.re, a.im - b.im};
}
/// Times a complex number that all lanes share, or that is a vector.
template <class V, class N>
LENTO_INLINE Pair<V> times(const Pair<V>& a, const N& re, const N& im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}
template <class V>
LENTO_INLINE Pair<V> times_minus_i(const Pair<V>& a) {
  return {a.im, -a.re};
}

/// One part of the lanes of a buffer.
template <class T, int bytes>
struct Part {
  using V = typename Vectors<T, bytes>::Vector;
  T* data;

  LENTO_INLINE Pair<V> get(std::int64_t k) const {
    const T* at = data + k * 2 * kFftLanes<T>;
    return {*reinterpret_cast<const V*>(at), *reinterpret_cast<const V*>(at + kFftLanes<T>)};
  }
  LENTO_INLINE void set(std::int64_t k, const Pair<V>& value) const {
    T* at = data + k * 2 * kFftLanes<T>;
    *reinterpret_cast<V*>(at) = value.re;
    *reinterpret_cast<V*>(at + kFftLanes<T>) = value.im;
  }
};

template <class V>
LENTO_INLINE void dft4(Pair<V>& a, Pair<V>& b, Pair<V>& c, Pair<V>& d) {
  const Pair<V> sum02 = a + c, difference02 = a - c;
  const Pair<V> sum13 = b + d, difference13 = times_minus_i(b - d);
  a = sum02 + sum13;
  b = difference02 + difference13;
  c = sum02 - sum13;
  d = difference02 - difference13;
}

template <class T, class V>
LENTO_INLINE void dft8(Pair<V>* x) {
  dft4(x[0], x[2], x[4], x[6]);
  dft4(x[1], x[3], x[5], x[7]);
  const T half = std::numbers::sqrt2_v<T> / 2;
  const Pair<V> odd0 = x[1];
  const Pair<V> odd1 = {(x[3].re + x[3].im) * half, (x[3].im - x[3].re) * half};
  const Pair<V> odd2 = times_minus_i(x[5]);
  const Pair<V> odd3 = {(x[7].im - x[7].re) * half, (x[7].re + x[7].im) * -half};
  const Pair<V> even0 = x[0], even1 = x[2], even2 = x[4], even3 = x[6];
  x[0] = even0 + odd0;
  x[1] = even1 + odd1;
  x[2] = even2 + odd2;
  x[3] = even3 + odd3;
  x[4] = even0 - odd0;
  x[5] = even1 - odd1;
  x[6] = even2 - odd2;
  x[7] = even3 - odd3;
}

/// Any odd radix by the definition, elements m and radix - m together.
template <std::int64_t radix, class T, class V>
LENTO_INLINE void dft_odd(Pair<V>* x, const T* roots) {
  constexpr std::int64_t half = (radix - 1) / 2;
  Pair<V> sum[half + 1];
  Pair<V> difference[half + 1];
  Pair<V> total = x[0];
  LENTO_UNROLL
  for (std::int64_t m = 1; m <= half; ++m) {
    sum[m] = x[m] + x[radix - m];
    difference[m] = x[m] - x[radix - m];
    total = total + sum[m];
  }
  LENTO_UNROLL
  for (std::int64_t k = 1; k <= half; ++k) {
    Pair<V> even = x[0];
    Pair<V> odd = {};
    std::int64_t at = 0;
    LENTO_UNROLL
    for (std::int64_t m = 1; m <= half; ++m) {
      at += k;
      if (at >= radix) at -= radix;
      const T cosine = roots[2 * at], sine = -roots[2 * at + 1];
      even = {even.re + sum[m].re * cosine, even.im + sum[m].im * cosine};
      odd = {odd.re + difference[m].re * sine, odd.im + difference[m].im * sine};
    }
    x[k] = {even.re + odd.im, even.im - odd.re};
    x[radix - k] = {even.re - odd.im, even.im + odd.re};
  }
  x[0] = total;
}

/// One stage over one block: `radix` parts of `part` elements.
template <std::int64_t radix, class T, int bytes>
LENTO_INLINE void run_block(Part<T, bytes> block, std::int64_t part, const T* twiddles, const T* roots) {
  using V = typename Vectors<T, bytes>::Vector;
  for (std::int64_t j = 0; j < part; ++j) {
    Pair<V> x[radix];
    LENTO_UNROLL
    for (std::int64_t q = 0; q < radix; ++q) x[q] = block.get(j + q * part);
    if constexpr (radix == 2) {
      const Pair<V> first = x[0];
      x[0] = first + x[1];
      x[1] = first - x[1];
    } else if constexpr (radix == 4) {
      dft4(x[0], x[1], x[2], x[3]);
    } else if constexpr (radix == 8) {
      dft8<T>(x);
    } else {
      dft_odd<radix>(x, roots);
    }
    block.set(j, x[0]);
    const T* twiddle = twiddles + j * (radix - 1) * 2;
    LENTO_UNROLL
    for (std::int64_t q = 1; q < radix; ++q) {
      // Blocks of the last stage have one element a part, and nothing to turn.
      block.set(j + q * part, part == 1 ? x[q] : times(x[q], twiddle[2 * q - 2], twiddle[2 * q - 1]));
    }
  }
}

template <class T, int bytes>
LENTO_INLINE void run_stage(const LaneTransform<T>& transform, const typename LaneTransform<T>::Stage& stage,
                            std::int64_t begin, std::int64_t end, T* data) {
  const T* twiddles = transform.numbers.data() + stage.twiddles;
  const T* roots = transform.numbers.data() + stage.radix_roots;
  const auto blocks =
      [&]<std::int64_t radix>(std::integral_constant<std::int64_t, radix>) __attribute__((always_inline)) {
        for (std::int64_t at = begin; at < end; at += stage.length) {
          run_block<radix>(Part<T, bytes>{data + at * 2 * kFftLanes<T>}, stage.length / radix, twiddles, roots);
        }
      };
  switch (stage.radix) {
    case 2:
      return blocks(std::integral_constant<std::int64_t, 2>{});
    case 3:
      return blocks(std::integral_constant<std::int64_t, 3>{});
    case 4:
      return blocks(std::integral_constant<std::int64_t, 4>{});
    case 5:
      return blocks(std::integral_constant<std::int64_t, 5>{});
    case 7:
      return blocks(std::integral_constant<std::int64_t, 7>{});
    case 8:
      return blocks(std::integral_constant<std::int64_t, 8>{});
    case 11:
      return blocks(std::integral_constant<std::int64_t, 11>{});
    default:
      return blocks(std::integral_constant<std::int64_t, 13>{});
  }
}

/// Blocks of this many elements are transformed to the end one after the other: they lie in the nearest cache.
constexpr std::int64_t kBlockElements = 256;

template <class T, int bytes>
LENTO_INLINE void run_transform(const LaneTransform<T>& transform, T* buffer) {
  std::size_t first = 0;  // the first stage whose blocks are small
  while (first < transform.stages.size() && transform.stages[first].length > kBlockElements) ++first;
  for (std::int64_t part = 0; part < Vectors<T, bytes>::kParts; ++part) {
    T* data = buffer + part * Vectors<T, bytes>::kLanes;
    for (std::size_t s = 0; s < first; ++s) {
      run_stage<T, bytes>(transform, transform.stages[s], 0, transform.length, data);
    }
    if (first == transform.stages.size()) continue;
    const std::int64_t block = transform.stages[first].length;
    for (std::int64_t at = 0; at < transform.length; at += block) {
      for (std::size_t s = first; s < transform.stages.size(); ++s) {
        run_stage<T, bytes>(transform, transform.stages[s], at, at + block, data);
      }
    }
  }
}

template <class T, int bytes>
LENTO_INLINE void run_scale(std::span<const std::int64_t> order, const T* factors, T* buffer) {
  for (std::int64_t part = 0; part < Vectors<T, bytes>::kParts; ++part) {
    const Part<T, bytes> lanes{buffer + part * Vectors<T, bytes>::kLanes};
    for (std::size_t k = 0; k < order.size(); ++k) {
      lanes.set(order[k], times(lanes.get(order[k]), factors[2 * k], factors[2 * k + 1]));
    }
  }
}

template <class T, int bytes>
LENTO_INLINE void run_scale_lanes(std::span<const std::int64_t> order, const T* factors, T* buffer) {
  using V = typename Vectors<T, bytes>::Vector;
  using Unaligned = typename Vectors<T, bytes>::Unaligned;
  constexpr std::int64_t kRow = kFftLanes<T>;
  for (std::int64_t part = 0; part < Vectors<T, bytes>::kParts; ++part) {
    const std::int64_t offset = part * Vectors<T, bytes>::kLanes;
    const Part<T, bytes> lanes{buffer + offset};
    const T* factor = factors + offset;
    for (const std::int64_t at : order) {
      const V re = *reinterpret_cast<const Unaligned*>(factor), im = *reinterpret_cast<const Unaligned*>(factor + kRow);
      lanes.set(at, times(lanes.get(at), re, im));
      factor += 2 * kRow;
    }
  }
}

template <class T, int bytes>
LENTO_INLINE void run_multiply_exchanged(std::span<const std::int64_t> order, const T* factors, const T* from, T* to) {
  for (std::int64_t part = 0; part < Vectors<T, bytes>::kParts; ++part) {
    const std::int64_t offset = part * Vectors<T, bytes>::kLanes;
    const Part<T, bytes> source{const_cast<T*>(from) + offset}, target{to + offset};
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto product = times(source.get(order[k]), factors[2 * k], factors[2 * k + 1]);
      target.set(static_cast<std::int64_t>(k), {product.im, product.re});
    }
  }
}

template <class T, int bytes>
LENTO_INLINE void run_split_real(std::span<const std::int64_t> order, const T* roots, T* buffer) {
  const auto half = static_cast<std::int64_t>(order.size());
  using V = typename Vectors<T, bytes>::Vector;
  for (std::int64_t part = 0; part < Vectors<T, bytes>::kParts; ++part) {
    const Part<T, bytes> lanes{buffer + part * Vectors<T, bytes>::kLanes};
    const Pair<V> first = lanes.get(order[0]);
    const V zero = {};
    lanes.set(order[0], {first.re + first.im, zero});
    lanes.set(half, {first.re - first.im, zero});
    for (std::int64_t k = 1; k <= half - k; ++k) {
      const auto at = order[static_cast<std::size_t>(k)], mirror = order[static_cast<std::size_t>(half - k)];
      const Pair<V> a = lanes.get(at), b = lanes.get(mirror);
      // The transforms of the elements at even and at odd places, doubled.
      const Pair<V> even = {a.re + b.re, a.im - b.im};
      const Pair<V> odd = times(Pair<V>{a.im + b.im, b.re - a.re}, roots[2 * k], roots[2 * k + 1]);
      lanes.set(at, {(even.re + odd.re) * T(0.5), (even.im + odd.im) * T(0.5)});
      lanes.set(mirror, {(even.re - odd.re) * T(0.5), (odd.im - even.im) * T(0.5)});
    }
  }
}

template <class T, int bytes>
LENTO_INLINE void run_join_real(std::int64_t half, const T* roots, T* buffer) {
  using V = typename Vectors<T, bytes>::Vector;
  for (std::int64_t part = 0; part < Vectors<T, bytes>::kParts; ++part) {
    const Part<T, bytes> lanes{buffer + part * Vectors<T, bytes>::kLanes};
    const V first = lanes.get(0).re, last = lanes.get(half).re;
    lanes.set(0, {first - last, first + last});
    for (std::int64_t k = 1; k <= half - k; ++k) {
      const Pair<V> a = lanes.get(k), b = lanes.get(half - k);
      const Pair<V> even = {a.re + b.re, a.im - b.im};
      const Pair<V> odd = times(Pair<V>{a.re - b.re, a.im + b.im}, roots[2 * k], -roots[2 * k + 1]);
      lanes.set(k, {even.im + odd.re, even.re - odd.im});
      lanes.set(half - k, {odd.re - even.im, even.re + odd.im});
    }
  }
}

// One set of functions for each instruction set, without repeating their signatures.
#define LENTO_LANE_LOOPS(name, bytes, target)                                                                   \
  template <class T>                                                                                            \
  struct name {                                                                                                 \
    target static void load(const LineSet<const T>& lines, std::int64_t count, T* buffer) {                     \
      lanes::run_load<T, bytes>(lines, count, buffer);                                                          \
    }                                                                                                           \
    target static void store(const LineSet<T>& lines, std::span<const std::int64_t> order, const T* buffer) {   \
      lanes::run_store<T, bytes>(lines, order, buffer);                                                         \
    }                                                                                                           \
    target static void transform(const LaneTransform<T>& transform, T* buffer) {                                \
      run_transform<T, bytes>(transform, buffer);                                                               \
    }                                                                                                           \
    target static void scale(std::span<const std::int64_t> order, const T* factors, T* buffer) {                \
      run_scale<T, bytes>(order, factors, buffer);                                                              \
    }                                                                                                           \
    target static void scale_lanes(std::span<const std::int64_t> order, const T* factors, T* buffer) {          \
      run_scale_lanes<T, bytes>(order, factors, buffer);                                                        \
    }                                                                                                           \
    target static void split_real(std::span<const std::int64_t> order, const T* roots, T* buffer) {             \
      run_split_real<T, bytes>(order, roots, buffer);                                                           \
    }                                                                                                           \
    target static void join_real(std::int64_t half, const T* roots, T* buffer) {                                \
      run_join_real<T, bytes>(half, roots, buffer);                                                             \
    }                                                                                                           \
    target static void multiply_exchanged(std::span<const std::int64_t> order, const T* factors, const T* from, \
                                          T* to) {                                                              \
      run_multiply_exchanged<T, bytes>(order, factors, from, to);                                               \
    }                                                                                                           \
    static constexpr LaneLoops<T> kLoops = {load,        store,      transform, scale,                          \
                                            scale_lanes, split_real, join_real, multiply_exchanged};            \
  };

#if defined(__x86_64__)
LENTO_LANE_LOOPS(Avx512Loops, 64, [[gnu::target("avx512f,avx512dq,avx512bw,avx512vl")]])
LENTO_LANE_LOOPS(Avx2Loops, 32, [[gnu::target("avx2")]])
#else
LENTO_LANE_LOOPS(PlainLoops, 16, )
#endif

}  // namespace

template <class T>
const LaneLoops<T>& lane_loops([[maybe_unused]] bool wide) {
#if defined(__x86_64__)
  return wide ? Avx512Loops<T>::kLoops : Avx2Loops<T>::kLoops;
#else
  return PlainLoops<T>::kLoops;
#endif
}

template const LaneLoops<float>& lane_loops(bool);
template const LaneLoops<double>& lane_loops(bool);

std::vector<double> unit_roots(std::int64_t n, std::int64_t count) {
  std::vector<double> roots(static_cast<std::size_t>(2 * count));
  for (std::int64_t k = 0; k < count; ++k) {
    // The angle is reduced to an eighth of the circle first: the axes and diagonals are exact.
    const std::int64_t eighth = 8 * k / n;
    const std::int64_t into = 8 * k - eighth * n;
    const std::int64_t rest = eighth % 2 != 0 ? n - into : into;
    const double angle = std::numbers::pi / 4 * static_cast<double>(rest) / static_cast<double>(n);
    double cosine = std::cos(angle), sine = std::sin(angle);
    if (eighth % 4 == 1 || eighth % 4 == 2) std::swap(cosine, sine);
    if (eighth >= 2 && eighth < 6) cosine = -cosine;
    if (eighth >= 4) sine = -sine;
    roots[static_cast<std::size_t>(2 * k)] = cosine;
    roots[static_cast<std::size_t>(2 * k + 1)] = -sine;
  }
  return roots;
}

template <class T>
LaneTransform<T> LaneTransform<T>::make(std::int64_t length) {
  LaneTransform transform;
  transform.length = length;
  std::vector<std::int64_t> radices;
  std::int64_t rest = length;
  int twos = 0;
  for (; rest % 2 == 0; rest /= 2) ++twos;
  // Eights, then fours: two fours are better than an eight and a two.
  while (twos >= 3 && twos != 4) radices.push_back(8), twos -= 3;
  for (; twos >= 2; twos -= 2) radices.push_back(4);
  if (twos == 1) radices.push_back(2);
  for (std::int64_t radix = 3; rest > 1; radix += 2) {
    for (; rest % radix == 0; rest /= radix) radices.push_back(radix);
  }
  const std::vector<double> roots = unit_roots(length, length);
  const auto add_root = [&](std::int64_t k, std::int64_t n) {  // exp(-2 pi i k / n) for n that divides the length
    const auto at = static_cast<std::size_t>(2 * (k % n) * (length / n));
    transform.numbers.push_back(static_cast<T>(roots[at]));
    transform.numbers.push_back(static_cast<T>(roots[at + 1]));
  };
  transform.order = {0};
  std::int64_t block = length;
  std::int64_t results = 1;
  for (const std::int64_t radix : radices) {
    const std::int64_t part = block / radix;
    Stage stage{radix, block, transform.numbers.size(), 0};
    for (std::int64_t j = 0; j < part; ++j) {
      for (std::int64_t q = 1; q < radix; ++q) add_root(j * q, block);
    }
    stage.radix_roots = transform.numbers.size();
    for (std::int64_t k = 0; k < radix; ++k) add_root(k, radix);
    transform.stages.push_back(stage);
    // Result k = q + radix * (…) lies in part q.
    std::vector<std::int64_t> order(static_cast<std::size_t>(results * radix));
    for (std::int64_t q = 0; q < radix; ++q) {
      for (std::int64_t k = 0; k < results; ++k)
        order[static_cast<std::size_t>(q * results + k)] = transform.order[static_cast<std::size_t>(k)] + q * part;
    }
    transform.order = std::move(order);
    results *= radix;
    block = part;
  }
  return transform;
}

template struct LaneTransform<float>;
template struct LaneTransform<double>;

}  // namespace lento::cpu
