#include "backends/cpu/fft/fft.h"

#include "backends/cpu/arena.h"
#include "backends/cpu/fft/complex.h"
#include "backends/cpu/libraries/convert_half.h"
#include "backends/cpu/threads.h"

#include <algorithm>
#include <concepts>
#include <functional>

namespace lento::cpu {

namespace {

constexpr double kGrainNanoseconds = 10'000;
constexpr std::int64_t kConvertGrain = 1 << 15;
/// From this length on a line uses all threads, below that lines are handed out.
constexpr std::int64_t kLongLine = 1 << 15;

/// Transforms of lines of one length, whose real and imaginary parts are T while they are computed.
template <class T>
class Fft final : public PreparedFft {
 public:
  explicit Fft(const FftProblem& problem)
      : problem_(problem),
        lines_(problem.outer * problem.inner),
        halved_(problem.kind != FftKind::complex && problem.size % 2 == 0),
        spectrum_(problem.kind == FftKind::complex ? problem.size : problem.size / 2 + 1),
        transform_(halved_ ? problem.size / 2 : problem.size, lines_) {
    if (halved_) {
      const std::vector<double> roots = unit_roots(problem.size, problem.size / 4 + 1);
      roots_.assign(roots.begin(), roots.end());
    }
  }

  double nanoseconds() const override { return static_cast<double>(lines_) * transform_.nanoseconds_per_line(); }

  void run(const void* x, void* y) const override {
    if (problem_.dtype == DType::float16) return run_half(static_cast<const float16*>(x), y);
    if (problem_.dtype == DType::bfloat16) return run_half(static_cast<const bfloat16*>(x), y);
    run_lines(static_cast<const T*>(x), static_cast<T*>(y));
  }

 private:
  template <class Half>
  void run_half(const Half* x, void* y) const {
    if constexpr (std::same_as<T, float>) {
      const std::int64_t count = lines_ * problem_.size;
      const Scratch wide(static_cast<std::size_t>(count) * sizeof(float));
      parallel_for(count, kConvertGrain, [&](std::int64_t begin, std::int64_t end) {
        to_float(x + begin, wide.as<float>() + begin, end - begin);
      });
      run_lines(wide.as<float>(), static_cast<float*>(y));
    }
  }

  void run_lines(const T* x, T* y) const {
    const double each = transform_.nanoseconds_per_line();
    const auto per_grain = static_cast<std::int64_t>(kGrainNanoseconds / each);
    if (transform_.in_lanes()) {
      const std::int64_t lanes = kFftLanes<T>;
      parallel_for((lines_ + lanes - 1) / lanes, per_grain / lanes + 1, [&](std::int64_t begin, std::int64_t end) {
        const std::size_t bytes = transform_.buffer_elements() * sizeof(T);
        const Scratch buffer(bytes), spare(transform_.needs_spare() ? bytes : 0);
        for (std::int64_t set = begin; set < end; ++set) run_set(x, y, set * lanes, buffer.as<T>(), spare.as<T>());
      });
    } else if (problem_.size >= kLongLine) {
      for (std::int64_t line = 0; line < lines_; ++line) run_line(x + offset(line, in()), y + offset(line, out()));
    } else {
      parallel_for(lines_, per_grain + 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t line = begin; line < end; ++line) run_line(x + offset(line, in()), y + offset(line, out()));
      });
    }
  }

  /// A side of the transform: how many elements a line has, of how many numbers each.
  struct Side {
    std::int64_t extent;
    std::int64_t numbers;
  };
  Side in() const { return problem_.kind == FftKind::real_to_complex ? Side{problem_.size, 1} : Side{spectrum_, 2}; }
  Side out() const { return problem_.kind == FftKind::complex_to_real ? Side{problem_.size, 1} : Side{spectrum_, 2}; }
  std::int64_t offset(std::int64_t line, const Side& side) const {
    return (line / problem_.inner * side.extent * problem_.inner + line % problem_.inner) * side.numbers;
  }

  /// A line as the complex numbers that are transformed: a side's own, pairs of its real numbers, or these alone.
  template <class Number>
  FftLine<Number> line_at(Number* first, const Side& side) const {
    if (side.numbers == 2) return {first, first + 1, 2 * problem_.inner};
    if (halved_) return {first, first + problem_.inner, 2 * problem_.inner};
    return {first, nullptr, problem_.inner};
  }

  template <class Number>
  LineSet<Number> set_at(const FftLine<Number>& line, std::int64_t first, const Side& side) const {
    LineSet<Number> set{line.re, line.im, line.stride, {}, std::min(kFftLanes<T>, lines_ - first)};
    for (std::int64_t lane = 0; lane < kFftLanes<T>; ++lane)
      set.lanes[lane] = offset(std::min(first + lane, lines_ - 1), side);
    return set;
  }

  void run_set(const T* x, T* y, std::int64_t first, T* buffer, T* spare) const {
    const LaneLoops<T>& loops = lane_loops<T>();
    FftLine<const T> from = line_at(x, in());
    FftLine<T> to = line_at(y, out());
    if (problem_.kind == FftKind::complex && problem_.inverse) {
      from = from.exchanged();
      to = to.exchanged();
    }
    const bool to_real = problem_.kind == FftKind::complex_to_real;
    loops.load(set_at(from, first, in()), to_real ? spectrum_ : transform_.length(), buffer);
    if (to_real && halved_) {
      loops.join_real(transform_.length(), roots_.data(), buffer);
      to = to.exchanged();
    } else if (to_real) {
      mirror(buffer);
    }
    std::span<const std::int64_t> order = transform_.transform_lanes(buffer, spare);
    if (problem_.kind != FftKind::real_to_complex) return loops.store(set_at(to, first, out()), order, buffer);
    if (!halved_) {
      order = order.first(static_cast<std::size_t>(spectrum_));
    } else {
      loops.split_real(order, roots_.data(), buffer);
      // The last element lies behind those of the transform.
      const std::int64_t last = transform_.length();
      LineSet<T> behind = set_at(to, first, out());
      behind.re += last * to.stride;
      behind.im += last * to.stride;
      loops.store(behind, std::span(&last, 1), buffer);
    }
    loops.store(set_at(to, first, out()), order, buffer);
  }

  /// Makes the conjugate of the whole Hermitian sequence of its first half: its transform is the inverse one's.
  void mirror(T* buffer) const {
    const std::int64_t n = problem_.size;
    const auto row = [&](std::int64_t k, std::int64_t part) { return buffer + (2 * k + part) * kFftLanes<T>; };
    std::fill_n(row(0, 1), kFftLanes<T>, T(0));
    for (std::int64_t k = 1; k < spectrum_; ++k) {
      std::copy_n(row(k, 0), 2 * kFftLanes<T>, row(n - k, 0));
      std::transform(row(k, 1), row(k, 1) + kFftLanes<T>, row(k, 1), std::negate<T>());
    }
  }

  void run_line(const T* x, T* y) const {
    FftLine<const T> from = line_at(x, in());
    FftLine<T> to = line_at(y, out());
    if (problem_.kind == FftKind::complex) {
      if (problem_.inverse) return transform_.transform_line(from.exchanged(), to.exchanged());
      return transform_.transform_line(from, to);
    }
    if (problem_.kind == FftKind::real_to_complex && halved_) {
      transform_.transform_line(from, to);
      return split_line(to);
    }
    const std::int64_t n = problem_.size;
    const Scratch whole(static_cast<std::size_t>(2 * n) * sizeof(T));
    const FftLine<T> own{whole.as<T>(), whole.as<T>() + n, 1};
    if (problem_.kind == FftKind::real_to_complex) {
      transform_.transform_line(from, own);
      for (std::int64_t k = 0; k < spectrum_; ++k) {
        to.re[k * to.stride] = own.re[k];
        to.im[k * to.stride] = own.im[k];
      }
    } else if (halved_) {
      join_line(from, own);
      transform_.transform_line({own.re, own.im, 1}, to.exchanged());
    } else {
      for (std::int64_t k = 0; k < spectrum_; ++k) {
        const T re = from.re[k * from.stride], im = k == 0 ? T(0) : from.im[k * from.stride];
        own.re[k] = own.re[(n - k) % n] = re;
        own.im[(n - k) % n] = im;
        own.im[k] = -im;
      }
      transform_.transform_line({own.re, own.im, 1}, to);
    }
  }

  /// As LaneLoops::split_real, for a line in memory.
  void split_line(const FftLine<T>& line) const {
    const std::int64_t half = transform_.length();
    const auto re = [&](std::int64_t k) -> T& { return line.re[k * line.stride]; };
    const auto im = [&](std::int64_t k) -> T& { return line.im[k * line.stride]; };
    const T first_re = re(0), first_im = im(0);
    re(0) = first_re + first_im;
    re(half) = first_re - first_im;
    im(0) = im(half) = T(0);
    parallel_for(half / 2, kLongLine / 2, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin + 1; k <= end; ++k) {
        const T a_re = re(k), a_im = im(k), b_re = re(half - k), b_im = im(half - k);
        const T root_re = roots_[static_cast<std::size_t>(2 * k)],
                root_im = roots_[static_cast<std::size_t>(2 * k + 1)];
        const T even_re = a_re + b_re, even_im = a_im - b_im;
        const T odd_re = (a_im + b_im) * root_re - (b_re - a_re) * root_im;
        const T odd_im = (a_im + b_im) * root_im + (b_re - a_re) * root_re;
        re(k) = (even_re + odd_re) * T(0.5);
        im(k) = (even_im + odd_im) * T(0.5);
        re(half - k) = (even_re - odd_re) * T(0.5);
        im(half - k) = (odd_im - even_im) * T(0.5);
      }
    });
  }

  /// As LaneLoops::join_real.
  void join_line(const FftLine<const T>& from, const FftLine<T>& to) const {
    const std::int64_t half = transform_.length();
    const auto re = [&](std::int64_t k) { return from.re[k * from.stride]; };
    const auto im = [&](std::int64_t k) { return from.im[k * from.stride]; };
    to.im[0] = re(0) + re(half);
    to.re[0] = re(0) - re(half);
    parallel_for(half / 2, kLongLine / 2, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin + 1; k <= end; ++k) {
        const T a_re = re(k), a_im = im(k), b_re = re(half - k), b_im = im(half - k);
        const T root_re = roots_[static_cast<std::size_t>(2 * k)];
        const T root_im = -roots_[static_cast<std::size_t>(2 * k + 1)];
        const T even_re = a_re + b_re, even_im = a_im - b_im;
        const T odd_re = (a_re - b_re) * root_re - (a_im + b_im) * root_im;
        const T odd_im = (a_re - b_re) * root_im + (a_im + b_im) * root_re;
        to.re[k] = even_im + odd_re;
        to.im[k] = even_re - odd_im;
        to.re[half - k] = odd_re - even_im;
        to.im[half - k] = even_re + odd_im;
      }
    });
  }

  FftProblem problem_;
  std::int64_t lines_;
  bool halved_;            // a real line of even length: two numbers are one complex one
  std::int64_t spectrum_;  // elements of the complex side
  ComplexTransform<T> transform_;
  std::vector<T> roots_;  // halved_: exp(-2 pi i k / size), k = 0 … size / 4
};

}  // namespace

std::unique_ptr<const PreparedFft> PreparedFft::make(const FftProblem& problem) {
  const bool wide = problem.dtype == DType::float64 || problem.dtype == DType::complex128;
  if (wide) return std::make_unique<Fft<double>>(problem);
  return std::make_unique<Fft<float>>(problem);
}

}  // namespace lento::cpu
