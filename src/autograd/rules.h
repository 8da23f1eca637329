// Derivatives that are too long for a line of the catalogue; its `vjp` entries call these. All take the cotangent of
// the result first and give that of one operand. They are linear in the cotangents and made of ops that have
// derivatives themselves, so that they can be differentiated again, by the cotangent too (which is how forward mode
// works).
#pragma once

#include "autograd/rules.calls.gen.h"

#include <string_view>
#include <vector>

namespace lento::rules {

/// The conjugate; `x` itself when it is real.
Tensor conjugated(const Tensor& x);

/// x / (x² + y²), and 0 where both are 0.
Tensor over_squares(const Tensor& x, const Tensor& y);

// --- reductions and scans ---

/// What was reduced over `axes`, repeated along them.
Tensor spread(const Tensor& grad, const Tensor& x, const Ints& axes, bool keepdims);
Tensor reduce_prod(const Tensor& grad, const Tensor& x, const Ints& axes, bool keepdims);
/// Of a maximum or minimum: shared evenly by the elements that equal it.
Tensor reduce_extreme(const Tensor& grad, const Tensor& x, const Tensor& result, const Ints& axes, bool keepdims);
/// Sums from each position to the end.
Tensor reverse_sum(const Tensor& grad, std::int64_t axis);
/// Without a division, so that zeros are no trouble for derivatives of any order.
Tensor scan_prod(const Tensor& grad, const Tensor& x, std::int64_t axis);
/// Of a running maximum or minimum: to the last position that had it.
Tensor scan_extreme(const Tensor& grad, const Tensor& x, const Tensor& result, std::int64_t axis);

// --- index maps ---

Tensor permute_back(const Tensor& grad, const Ints& axes);
Tensor as_strided(const Tensor& grad, const Tensor& x, const Scalar& offset, const Ints& sizes, const Ints& strides);
Tensor unslice(const Tensor& grad, const Tensor& x, const std::vector<Scalar>& starts, const Ints& axes,
               const Ints& steps);
Tensor reslice(const Tensor& grad, const Tensor& value, const std::vector<Scalar>& starts, const Ints& axes,
               const Ints& steps);
Tensor unpad(const Tensor& grad, const Ints& low, const Ints& high);
std::vector<Tensor> split_like(const Tensor& grad, const std::vector<Tensor>& parts, std::int64_t axis);

// --- gather, scatter, sort ---

Tensor take_axis(const Tensor& grad, const Tensor& x, const Tensor& indices, std::int64_t axis);
Tensor take_along_axis(const Tensor& grad, const Tensor& x, const Tensor& indices, std::int64_t axis);
Tensor scatter_axis_base(const Tensor& grad, const Tensor& x, const Tensor& indices, const Tensor& value,
                         const Tensor& result, std::int64_t axis, std::string_view mode);
Tensor scatter_axis_value(const Tensor& grad, const Tensor& x, const Tensor& indices, const Tensor& value,
                          const Tensor& result, std::int64_t axis, std::string_view mode);
Tensor scatter_nd_base(const Tensor& grad, const Tensor& x, const Tensor& value, const std::vector<Tensor>& indices,
                       const Tensor& result, std::string_view mode);
Tensor scatter_nd_value(const Tensor& grad, const Tensor& x, const Tensor& value, const std::vector<Tensor>& indices,
                        const Tensor& result, std::string_view mode);
Tensor sort_values(const Tensor& grad, const Tensor& x, std::int64_t axis, bool descending);

// --- contractions, windows, transforms ---

/// Of the right (left) factor of a matrix product; one product where the factor has no batch.
/// With `across` the cotangent is computed the other way round, so that its transposed one lies in memory row by row.
Tensor matrix_multiply_left(const Tensor& grad, const Tensor& x1, const Tensor& x2, bool across = false);
Tensor matrix_multiply_right(const Tensor& grad, const Tensor& x1, const Tensor& x2, bool across = false);
/// The lengths of the spatial axes of (N, C, *S).
Ints spatial(const Tensor& x);
/// The first elements of each spatial axis of `x`, as many as `like` has.
Tensor as_far_as(const Tensor& x, const Tensor& like);
Tensor max_window(const Tensor& grad, const Tensor& x, const Tensor& indices);
Tensor sum_window(const Tensor& grad, const Tensor& x, const Ints& kernel, const Ints& stride, const Ints& padding_low,
                  const Ints& dilation);
/// Of query, key and value. Cotangents are undefined where nothing came back, here and below.
std::vector<Tensor> attention(const Tensor& grad_output, const Tensor& grad_log_sum_exp, const Tensor& output,
                              const Tensor& log_sum_exp, const Tensor& query, const Tensor& key, const Tensor& value,
                              const Scalar& scale, const std::vector<Tensor>& mask, bool causal);
Tensor attention_mask(const Tensor& grad_output, const Tensor& grad_log_sum_exp, const Tensor& output,
                      const Tensor& log_sum_exp, const Tensor& query, const Tensor& key, const Tensor& value,
                      const Scalar& scale, const std::vector<Tensor>& mask, bool causal);
/// Of the tensors of attention_grad except its mask, in their order.
std::vector<Tensor> attention_grad(const Tensor& grad_query_grad, const Tensor& grad_key_grad,
                                   const Tensor& grad_value_grad, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const Tensor& grad_output, const Tensor& log_sum_exp,
                                   const Tensor& shift, const Scalar& scale, const std::vector<Tensor>& mask,
                                   bool causal);
Tensor attention_grad_mask(const Tensor& grad_query_grad, const Tensor& grad_key_grad, const Tensor& grad_value_grad,
                           const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& grad_output,
                           const Tensor& log_sum_exp, const Tensor& shift, const Scalar& scale,
                           const std::vector<Tensor>& mask, bool causal);
Tensor fft_r2c(const Tensor& grad, const Tensor& x, std::int64_t axis);
Tensor fft_c2r(const Tensor& grad, const Tensor& x, std::int64_t axis, std::int64_t size);

// --- recurrences: cotangents of several results are undefined where nothing came back; one is given per operand, in
// their order ---

std::vector<Tensor> rnn_states(const Tensor& grad, const Tensor& states, const Tensor& h, const Tensor& weight,
                               const std::vector<Tensor>& mask, std::string_view nonlinearity, bool reverse);
std::vector<Tensor> rnn_states_grad(const Tensor& grad_of_inputs, const Tensor& grad_of_h, const Tensor& cotangent,
                                    const Tensor& states, const Tensor& weight, const std::vector<Tensor>& mask,
                                    std::string_view nonlinearity, bool reverse);
std::vector<Tensor> gru_states(const Tensor& grad_states, const Tensor& grad_gates, const Tensor& states,
                               const Tensor& gates, const Tensor& inputs, const Tensor& h, const Tensor& weight,
                               const Tensor& bias, const std::vector<Tensor>& mask, bool reverse);
std::vector<Tensor> gru_states_grad(const Tensor& grad_of_inputs, const Tensor& grad_of_products,
                                    const Tensor& grad_of_h, const Tensor& cotangent, const Tensor& gates,
                                    const Tensor& states, const Tensor& h, const Tensor& weight,
                                    const std::vector<Tensor>& mask, bool reverse);
std::vector<Tensor> lstm_states(const Tensor& grad_states, const Tensor& grad_cells, const Tensor& grad_gates,
                                const Tensor& states, const Tensor& cells, const Tensor& gates, const Tensor& inputs,
                                const Tensor& h, const Tensor& c, const Tensor& weight, const std::vector<Tensor>& mask,
                                bool reverse);
std::vector<Tensor> lstm_states_grad(const Tensor& grad_of_inputs, const Tensor& grad_of_h, const Tensor& grad_of_c,
                                     const Tensor& cotangent, const Tensor& cell_cotangent, const Tensor& gates,
                                     const Tensor& cells, const Tensor& c, const Tensor& weight,
                                     const std::vector<Tensor>& mask, bool reverse);

// --- linear algebra: cotangents of several results are undefined where nothing came back ---

Tensor cholesky(const Tensor& grad, const Tensor& factor);
Tensor qr(const Tensor& grad_q, const Tensor& grad_r, const Tensor& q, const Tensor& r, const Tensor& x, bool complete);
Tensor svd(const Tensor& grad_u, const Tensor& grad_s, const Tensor& grad_vh, const Tensor& u, const Tensor& s,
           const Tensor& vh, bool full_matrices);
Tensor eigh(const Tensor& grad_w, const Tensor& grad_v, const Tensor& w, const Tensor& v);
Tensor eig(const Tensor& grad_w, const Tensor& grad_v, const Tensor& w, const Tensor& v);
Tensor lu(const Tensor& grad_lu, const Tensor& lu, const Tensor& x);
/// Of the right-hand side; that of the matrix is -(this) @ conjugated(result).T, in a triangle for a triangular one.
Tensor solve_right(const Tensor& grad, const Tensor& a);
Tensor solve_matrix(const Tensor& grad, const Tensor& a, const Tensor& result);
Tensor triangular_right(const Tensor& grad, const Tensor& a, bool upper, bool transpose, bool unit_diagonal);
Tensor triangular_matrix(const Tensor& grad, const Tensor& a, const Tensor& result, bool upper, bool transpose,
                         bool unit_diagonal);

}  // namespace lento::rules
