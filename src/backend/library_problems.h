// What libraries are asked for: matrix products, convolutions and Fourier transforms of a graph as sizes and strides,
// the same for every device's libraries.
#pragma once

#include <lento/dtype.h>
#include <lento/ints.h>

#include "compiler/view.h"
#include "ir/graph.h"

#include <cstdint>
#include <optional>
#include <span>

namespace lento {

// ---- Matrix products.

/// How the matrices of an operand lie in memory; in elements, may be 0 (repeated) or negative.
struct MatrixStrides {
  Ints batch;  // one per batch axis
  std::int64_t row = 0;
  std::int64_t column = 0;
};

/// c[..., i, j] = sum over l of a[..., i, l] * b[..., l, j]; c is contiguous.
struct MatmulProblem {
  DType dtype = DType::float32;
  Ints batch;  // the batch axes of the result
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  MatrixStrides a;  // m × k
  MatrixStrides b;  // k × n

  /// Contiguous operands of these shapes, whose batch axes broadcast. An operand that is transposed in memory is had by
  /// swapping its row and column strides.
  static MatmulProblem of(DType dtype, const Shape& a, const Shape& b);
  /// Of a matrix_multiply whose operands lie as `views` say. Nothing when an operand has another dtype.
  static std::optional<MatmulProblem> of(const Graph& graph, const Record& node, std::span<const View> views);

  /// Makes batch axes fewer, for the same products at the same addresses: joins neighbouring ones that both operands
  /// walk over like one, drops those of extent 1, and takes the matrices of a as one with more rows where they lie
  /// below each other and have one b.
  void merge_batch();
};

// ---- Convolutions.

enum class ConvolutionKind : std::uint8_t { forward, input_grad, weight_grad };

/// As in the catalogue's `convolution`, `convolution_input_grad` and `convolution_weight_grad`, whose result is one of
/// the three shapes; all are contiguous.
struct ConvolutionProblem {
  ConvolutionKind kind = ConvolutionKind::forward;
  DType dtype = DType::float32;
  Shape x;       // (N, C, *S)
  Shape weight;  // (O, C / groups, *K)
  Shape y;       // (N, O, *R): the result, or grad_output
  Ints stride;
  Ints padding_low;
  Ints dilation;
  std::int64_t groups = 1;

  /// Of one of the three. Nothing when an operand has another dtype.
  static std::optional<ConvolutionProblem> of(const Graph& graph, const Record& node);
};

// ---- Fourier transforms.

enum class FftKind : std::uint8_t { complex, real_to_complex, complex_to_real };

/// Along the middle one of three axes (outer, size, inner), as in the catalogue's fft_c2c, fft_r2c and fft_c2r; a
/// complex side of a real transform has size / 2 + 1 elements there.
struct FftProblem {
  FftKind kind = FftKind::complex;
  DType dtype = DType::complex64;  // of the operand
  std::int64_t outer = 1;
  std::int64_t size = 1;
  std::int64_t inner = 1;
  bool inverse = false;  // kind complex; complex_to_real always is

  /// Of one of the three.
  static FftProblem of(const Graph& graph, const Record& node);
};

}  // namespace lento
