#include "backends/cpu/fft/complex.h"

#include "backends/cpu/arena.h"
#include "backends/cpu/threads.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lento::cpu {

namespace {

// A buffer of lanes should lie in the second cache.
constexpr std::int64_t kLongestInLanes = 8192;
// Below this the ways of a matrix cost more than lanes that stay empty.
constexpr std::int64_t kShortestMatrix = 64;
// Long lines use all threads each.
constexpr std::int64_t kGrainElements = 1 << 13;

std::int64_t largest_prime_factor(std::int64_t n) {
  std::int64_t largest = 1;
  for (std::int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

/// The least number of at least n whose prime factors are 2, 3 and 5, the factor 2 at least thrice.
std::int64_t next_fast_length(std::int64_t n) {
  std::int64_t best = 8;
  while (best < n) best *= 2;
  for (std::int64_t fives = 1; fives < best; fives *= 5) {
    for (std::int64_t threes = fives; threes < best; threes *= 3) {
      std::int64_t length = 8 * threes;
      while (length < n) length *= 2;
      best = std::min(best, length);
    }
  }
  return best;
}

/// The divisor of n next to its root.
std::int64_t middle_divisor(std::int64_t n) {
  auto divisor = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % divisor != 0) --divisor;
  return divisor;
}

template <class T>
std::vector<T> rounded(const std::vector<double>& numbers) {
  return {numbers.begin(), numbers.end()};
}

}  // namespace

template <class T>
ComplexTransform<T>::ComplexTransform(std::int64_t length, std::int64_t lines) : length_(length), computed_(length) {
  by_convolution_ = largest_prime_factor(length) > kLargestRadix;
  if (by_convolution_) computed_ = next_fast_length(2 * length - 1);
  const bool is_many = lines >= kFftLanes<T> / 2;
  in_lanes_ = computed_ < kShortestMatrix || (is_many && computed_ <= kLongestInLanes);
  if (in_lanes_) {
    lanes_ = LaneTransform<T>::make(computed_);
  } else {
    make_matrix();
  }
  if (by_convolution_) make_convolution();
}

template <class T>
void ComplexTransform<T>::make_matrix() {
  rows_ = middle_divisor(computed_);
  columns_ = computed_ / rows_;
  column_ = LaneTransform<T>::make(rows_);
  row_ = LaneTransform<T>::make(columns_);
  const std::vector<double> roots = unit_roots(computed_, computed_);
  constexpr std::int64_t kLanes = kFftLanes<T>;
  for (std::int64_t first = 0; first < columns_; first += kLanes) {
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (const std::int64_t part : {0, 1}) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
          const std::int64_t column = std::min(first + lane, columns_ - 1);
          twiddles_.push_back(static_cast<T>(roots[static_cast<std::size_t>(2 * row * column + part)]));
        }
      }
    }
  }
}

template <class T>
void ComplexTransform<T>::make_convolution() {
  const std::vector<double> roots = unit_roots(2 * length_, 2 * length_);
  std::vector<double> chirp, unchirp;
  std::int64_t square = 0;  // k^2 modulo 2 length
  for (std::int64_t k = 0; k < length_; ++k) {
    const double re = roots[static_cast<std::size_t>(2 * square)];
    const double im = roots[static_cast<std::size_t>(2 * square + 1)];
    chirp.insert(chirp.end(), {re, im});
    const auto scale = static_cast<double>(computed_);
    unchirp.insert(unchirp.end(), {re / scale, -im / scale});
    square = (square + 2 * k + 1) % (2 * length_);
  }
  std::vector<double> kernel(static_cast<std::size_t>(2 * computed_));
  for (std::int64_t k = 0; k < length_; ++k) {
    for (const std::int64_t at : {k, (computed_ - k) % computed_}) {
      kernel[static_cast<std::size_t>(2 * at)] = chirp[static_cast<std::size_t>(2 * k)];
      kernel[static_cast<std::size_t>(2 * at + 1)] = -chirp[static_cast<std::size_t>(2 * k + 1)];
    }
  }
  const FftLine<double> line{kernel.data(), kernel.data() + 1, 2};
  ComplexTransform<double>(computed_, 1).transform_line({line.re, line.im, 2}, line);
  chirp_ = rounded<T>(chirp);
  unchirp_ = rounded<T>(unchirp);
  kernel_ = rounded<T>(kernel);
  natural_.resize(static_cast<std::size_t>(length_));
  std::iota(natural_.begin(), natural_.end(), 0);
}

template <class T>
std::size_t ComplexTransform<T>::buffer_elements() const {
  return static_cast<std::size_t>(2 * kFftLanes<T> * std::max(computed_, length_ + 1));
}

template <class T>
std::span<const std::int64_t> ComplexTransform<T>::transform_lanes(T* buffer, T* spare) const {
  const LaneLoops<T>& loops = lane_loops<T>();
  if (!by_convolution_) {
    loops.transform(lanes_, buffer);
    return lanes_.order;
  }
  loops.scale(natural_, chirp_.data(), buffer);
  std::fill(buffer + 2 * kFftLanes<T> * length_, buffer + 2 * kFftLanes<T> * computed_, T(0));
  loops.transform(lanes_, buffer);
  // The transform of what was exchanged is the inverse transform, exchanged.
  loops.multiply_exchanged(lanes_.order, kernel_.data(), buffer, spare);
  loops.transform(lanes_, spare);
  loops.multiply_exchanged(std::span(lanes_.order).first(natural_.size()), unchirp_.data(), spare, buffer);
  return natural_;
}

template <class T>
void ComplexTransform<T>::transform_line(const FftLine<const T>& from, const FftLine<T>& to) const {
  if (by_convolution_ && !in_lanes_) return convolve_line(from, to);
  if (!in_lanes_) return transform_matrix(from, to);
  const Scratch buffer(buffer_elements() * sizeof(T)), spare(needs_spare() ? buffer_elements() * sizeof(T) : 0);
  const LaneLoops<T>& loops = lane_loops<T>();
  loops.load({from.re, from.im, from.stride, {}, 1}, length_, buffer.as<T>());
  const std::span<const std::int64_t> order = transform_lanes(buffer.as<T>(), spare.as<T>());
  loops.store({to.re, to.im, to.stride, {}, 1}, order, buffer.as<T>());
}

template <class T>
void ComplexTransform<T>::transform_matrix(const FftLine<const T>& from, const FftLine<T>& to) const {
  constexpr std::int64_t kLanes = kFftLanes<T>;
  const LaneLoops<T>& loops = lane_loops<T>();
  // Between the two: real and imaginary parts apart, rows a little longer, so that they do not share their cache lines'
  // places.
  const std::int64_t sets = (columns_ + kLanes - 1) / kLanes;
  const std::int64_t distance = (sets + 1) * kLanes;
  const Scratch between(static_cast<std::size_t>(2 * rows_ * distance) * sizeof(T));
  T* const re = between.as<T>();
  T* const im = re + rows_ * distance;
  const auto grain = [](std::int64_t length) { return std::max<std::int64_t>(kGrainElements / (length * kLanes), 1); };
  parallel_for(sets, grain(rows_), [&](std::int64_t begin, std::int64_t end) {
    const Scratch buffer(column_.buffer_elements() * sizeof(T));
    for (std::int64_t set = begin; set < end; ++set) {
      LineSet<const T> in{from.re, from.im, columns_ * from.stride, {}, std::min(kLanes, columns_ - set * kLanes)};
      LineSet<T> out{re, im, distance, {}, kLanes};
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        in.lanes[lane] = std::min(set * kLanes + lane, columns_ - 1) * from.stride;
        out.lanes[lane] = set * kLanes + lane;
      }
      loops.load(in, rows_, buffer.as<T>());
      loops.transform(column_, buffer.as<T>());
      loops.scale_lanes(column_.order, twiddles_.data() + set * rows_ * 2 * kLanes, buffer.as<T>());
      loops.store(out, column_.order, buffer.as<T>());
    }
  });
  parallel_for((rows_ + kLanes - 1) / kLanes, grain(columns_), [&](std::int64_t begin, std::int64_t end) {
    const Scratch buffer(row_.buffer_elements() * sizeof(T));
    for (std::int64_t set = begin; set < end; ++set) {
      LineSet<const T> in{re, im, 1, {}, std::min(kLanes, rows_ - set * kLanes)};
      LineSet<T> out{to.re, to.im, rows_ * to.stride, {}, in.count};
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const std::int64_t row = std::min(set * kLanes + lane, rows_ - 1);
        in.lanes[lane] = row * distance;
        out.lanes[lane] = row * to.stride;
      }
      loops.load(in, columns_, buffer.as<T>());
      loops.transform(row_, buffer.as<T>());
      loops.store(out, row_.order, buffer.as<T>());
    }
  });
}

template <class T>
void ComplexTransform<T>::convolve_line(const FftLine<const T>& from, const FftLine<T>& to) const {
  const Scratch line(static_cast<std::size_t>(2 * computed_) * sizeof(T));
  const FftLine<T> own{line.as<T>(), line.as<T>() + computed_, 1};
  // own[k] = (re, im) * factors[k], real and imaginary parts exchanged or not.
  const auto multiply = [&](std::int64_t count, const FftLine<const T>& x, const std::vector<T>& factors,
                            const FftLine<T>& result) {
    parallel_for(count, kGrainElements, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        const T x_re = x.re[k * x.stride], x_im = x.im == nullptr ? T(0) : x.im[k * x.stride];
        const T re = factors[static_cast<std::size_t>(2 * k)], im = factors[static_cast<std::size_t>(2 * k + 1)];
        result.re[k * result.stride] = x_re * re - x_im * im;
        if (result.im != nullptr) result.im[k * result.stride] = x_re * im + x_im * re;
      }
    });
  };
  const FftLine<const T> seen{own.re, own.im, 1};
  multiply(length_, from, chirp_, own);
  std::fill(own.re + length_, own.re + computed_, T(0));
  std::fill(own.im + length_, own.im + computed_, T(0));
  transform_matrix(seen, own);
  multiply(computed_, seen, kernel_, own);
  // The transform of what is exchanged is the inverse one, exchanged.
  transform_matrix(seen.exchanged(), own.exchanged());
  const std::vector<T>& unchirp = unchirp_;
  parallel_for(length_, kGrainElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const T re = unchirp[static_cast<std::size_t>(2 * k)], im = -unchirp[static_cast<std::size_t>(2 * k + 1)];
      to.re[k * to.stride] = own.re[k] * re - own.im[k] * im;
      if (to.im != nullptr) to.im[k * to.stride] = own.re[k] * im + own.im[k] * re;
    }
  });
}

template <class T>
double ComplexTransform<T>::nanoseconds_per_line() const {
  const auto n = static_cast<double>(computed_);
  return (by_convolution_ ? 2 : 1) * n * (1 + std::log2(n) / 5);
}

template class ComplexTransform<float>;
template class ComplexTransform<double>;

}  // namespace lento::cpu
