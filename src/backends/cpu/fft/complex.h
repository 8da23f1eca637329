// Transforms of complex lines of one length, in lanes or line by line.
#pragma once

#include "backends/cpu/fft/lanes.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lento::cpu {

/// A line in memory: element k is (re[k * stride], im[k * stride]); `im` may be null as in LineSet.
template <class T>
struct FftLine {
  T* re;
  T* im;
  std::int64_t stride;

  FftLine exchanged() const { return {im, re, stride}; }
};

template <class T>
class ComplexTransform {
 public:
  /// Of lines that come in numbers of `lines`, which decides how they are best transformed.
  ComplexTransform(std::int64_t length, std::int64_t lines);

  std::int64_t length() const { return length_; }
  /// Whether lines are transformed several at once, by transform_lanes, or one by one.
  bool in_lanes() const { return in_lanes_; }

  /// Elements of type T that each of the two buffers of transform_lanes has. There is room for length + 1 elements.
  std::size_t buffer_elements() const;
  /// Transforms the buffer and says where in it each element of the result lies. Uses the spare one only if
  /// needs_spare.
  std::span<const std::int64_t> transform_lanes(T* buffer, T* spare) const;
  bool needs_spare() const { return by_convolution_; }

  /// Transforms one line, on the team of threads when it is long. `from` and `to` may be the same line.
  void transform_line(const FftLine<const T>& from, const FftLine<T>& to) const;

  double nanoseconds_per_line() const;

 private:
  void make_matrix();
  void make_convolution();
  void transform_matrix(const FftLine<const T>& from, const FftLine<T>& to) const;
  void convolve_line(const FftLine<const T>& from, const FftLine<T>& to) const;

  std::int64_t length_;
  std::int64_t computed_;        // the length of the transforms that are computed
  bool by_convolution_ = false;  // Bluestein's method: computed_ is at least 2 length_ - 1
  bool in_lanes_ = true;

  LaneTransform<T> lanes_;  // in_lanes_: of computed_ elements

  // Else the line is a matrix of rows_ rows, row by row, and so is its transform, column by column.
  std::int64_t rows_ = 1;
  std::int64_t columns_ = 1;
  LaneTransform<T> column_;  // of rows_ elements
  LaneTransform<T> row_;     // of columns_ elements
  std::vector<T> twiddles_;  // for each set of columns, for each row, what its lanes are multiplied by

  // by_convolution_: with chirp[k] = exp(-pi i k^2 / length), result[k] = chirp[k] * sum of (x[j] chirp[j]) conj
  // chirp[k - j].
  std::vector<T> chirp_;
  std::vector<T> unchirp_;             // conj(chirp) / computed_
  std::vector<T> kernel_;              // the transform of conj(chirp)
  std::vector<std::int64_t> natural_;  // 0, 1, …
};

}  // namespace lento::cpu
