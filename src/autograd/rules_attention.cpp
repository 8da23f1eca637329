// Derivatives of attention: the first ones by attention_grad, those of attention_grad itself with the scores in memory.
#include "autograd/rules.h"
#include "autograd/rules_attention.calls.gen.h"
#include "ops/attention_parts.h"
#include "ops/composite_helpers.h"

#include <limits>
#include <optional>

namespace lento::rules {

namespace {

using composite::repeat_heads;
using composite::swap_last;
using composite::widen;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

std::int64_t heads_of(const Tensor& x) { return x.shape()[x.shape().size() - 3]; }
Tensor product(const Tensor& a, const Tensor& b) { return prim::matrix_multiply(a, b); }
Tensor sum_of_rows(const Tensor& x) { return composite::sum_over(x, {x.rank() - 1}, true); }

/// Sums the heads that share one: the derivative of repeat_heads.
Tensor join_heads(const Tensor& x, std::int64_t heads) {
  if (heads_of(x) == heads) return x;
  const std::size_t axis = x.shape().size() - 3;
  Shape shape = x.shape();
  shape[axis] = heads;
  shape.insert(axis + 1, heads_of(x) / heads);
  return composite::sum_over(composite::reshaped(x, shape), {static_cast<std::int64_t>(axis) + 1});
}

/// exp(scores - log_sum_exp), which is 0 for a query that sees nothing.
Tensor weights_of(const Tensor& query, const Tensor& key, const Tensor& log_sum_exp, const Scalar& scale,
                  const std::vector<Tensor>& mask, bool causal) {
  const std::optional<Tensor> added = mask.empty() ? std::nullopt : std::optional(mask[0]);
  const Tensor scores = composite::attention_scores(query, key, scale, added, causal);
  return exp(subtract(scores, where(equal(log_sum_exp, kMinusInfinity), 0.0, log_sum_exp)));
}

/// What is subtracted from the products of grad_output and the values.
Tensor shift_of(const Tensor& grad, const Tensor& grad_log_sum_exp, const Tensor& output) {
  const Tensor shift = sum_of_rows(multiply(widen(grad), widen(output)));
  return grad_log_sum_exp.defined() ? subtract(shift, grad_log_sum_exp) : shift;
}

/// The sum of those that are defined.
template <class... More>
Tensor sum_of(const Tensor& a, const Tensor& b, const More&... more) {
  Tensor sum = !a.defined() ? b : b.defined() ? add(a, b) : a;
  if constexpr (sizeof...(more) == 0) {
    return sum;
  } else {
    return sum_of(sum, more...);
  }
}

/// The gradients are linear in P, in T = g v^T - shift and in q and k. With W = scale (a k^T + q b^T) and U = g c^T,
/// the products of the gradients and their cotangents a, b and c add up to the sum of P (W T + U) over all scores.
struct SecondOrder {
  Tensor q, k, v, g;   // wide, with all heads
  Tensor a, b, c;      // likewise; undefined where nothing came back
  Tensor by_scores;    // P (W T + U): the cotangent of the scores
  Tensor by_rest;      // P W: that of T
  Tensor score_grads;  // P T
  Tensor weights;      // P

  SecondOrder(const Tensor& by_query, const Tensor& by_key, const Tensor& by_value, const Tensor& query,
              const Tensor& key, const Tensor& value, const Tensor& grad_output, const Tensor& log_sum_exp,
              const Tensor& shift, const Scalar& scale, const std::vector<Tensor>& mask, bool causal) {
    const auto prepared = [&](const Tensor& x) {
      return x.defined() ? repeat_heads(widen(x), heads_of(query)) : Tensor();
    };
    q = prepared(query);
    k = prepared(key);
    v = prepared(value);
    g = prepared(grad_output);
    a = prepared(by_query);
    b = prepared(by_key);
    c = prepared(by_value);
    weights = weights_of(q, k, log_sum_exp, scale, mask, causal);
    const Tensor rest = subtract(product(g, swap_last(v)), shift);
    score_grads = multiply(weights, rest);
    const Tensor w =
        sum_of(a.defined() ? product(a, swap_last(k)) : Tensor(), b.defined() ? product(q, swap_last(b)) : Tensor());
    by_rest = w.defined() ? multiply(weights, multiply(w, scale)) : zeros_like(weights);
    by_scores = sum_of(multiply(by_rest, rest), c.defined() ? multiply(weights, product(g, swap_last(c))) : Tensor());
  }
};

}  // namespace

std::vector<Tensor> attention(const Tensor& grad_output, const Tensor& grad_log_sum_exp, const Tensor& output,
                              const Tensor& log_sum_exp, const Tensor& query, const Tensor& key, const Tensor& value,
                              const Scalar& scale, const std::vector<Tensor>& mask, bool causal) {
  const Tensor grad = grad_output.defined() ? grad_output : zeros_like(output);
  const auto [by_query, by_key, by_value] = prim::attention_grad(
      query, key, value, grad, log_sum_exp, shift_of(grad, grad_log_sum_exp, output), scale, mask, causal);
  return {by_query, by_key, by_value};
}

Tensor attention_mask(const Tensor& grad_output, const Tensor& grad_log_sum_exp, const Tensor& output,
                      const Tensor& log_sum_exp, const Tensor& query, const Tensor& key, const Tensor& value,
                      const Scalar& scale, const std::vector<Tensor>& mask, bool causal) {
  const Tensor grad = grad_output.defined() ? grad_output : zeros_like(output);
  const Tensor weights = weights_of(query, repeat_heads(key, heads_of(query)), log_sum_exp, scale, mask, causal);
  const Tensor values = repeat_heads(widen(value), heads_of(query));
  return multiply(weights, subtract(product(widen(grad), swap_last(values)), shift_of(grad, grad_log_sum_exp, output)));
}

std::vector<Tensor> attention_grad(const Tensor& grad_query_grad, const Tensor& grad_key_grad,
                                   const Tensor& grad_value_grad, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const Tensor& grad_output, const Tensor& log_sum_exp,
                                   const Tensor& shift, const Scalar& scale, const std::vector<Tensor>& mask,
                                   bool causal) {
  const SecondOrder of(grad_query_grad, grad_key_grad, grad_value_grad, query, key, value, grad_output, log_sum_exp,
                       shift, scale, mask, causal);
  const Tensor by_query =
      sum_of(product(of.by_scores, of.k), of.b.defined() ? product(of.score_grads, of.b) : Tensor());
  const Tensor by_key = sum_of(product(swap_last(of.by_scores), of.q),
                               of.a.defined() ? product(swap_last(of.score_grads), of.a) : Tensor());
  return {multiply(by_query, scale),
          multiply(join_heads(by_key, heads_of(key)), scale),
          join_heads(product(swap_last(of.by_rest), of.g), heads_of(value)),
          sum_of(product(of.by_rest, of.v), of.c.defined() ? product(of.weights, of.c) : Tensor()),
          negative(sum_of_rows(of.by_scores)),
          negative(sum_of_rows(of.by_rest))};
}

Tensor attention_grad_mask(const Tensor& grad_query_grad, const Tensor& grad_key_grad, const Tensor& grad_value_grad,
                           const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& grad_output,
                           const Tensor& log_sum_exp, const Tensor& shift, const Scalar& scale,
                           const std::vector<Tensor>& mask, bool causal) {
  return SecondOrder(grad_query_grad, grad_key_grad, grad_value_grad, query, key, value, grad_output, log_sum_exp,
                     shift, scale, mask, causal)
      .by_scores;
}

}  // namespace lento::rules
