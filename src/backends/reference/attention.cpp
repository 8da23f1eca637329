// Attention and its gradient, score by score.
#include "backends/reference/array.h"
#include "backends/reference/sum_of_products.h"
#include "base/dispatch.h"
#include "ir/attrs_contraction.gen.h"
#include "reference/kernels_contraction.gen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lento::reference {

namespace {

/// The operands of one head as matrices: where each begins, in elements.
struct Head {
  std::int64_t number;      // among all heads of the result
  std::int64_t key_number;  // among all key heads of a gradient
  std::vector<std::int64_t> begins;
};

/// The shapes of a call, and its heads one after the other.
struct Heads {
  Ints batch;
  std::int64_t heads, key_heads, queries, keys, features, values;

  Heads(const Shape& result, const Array& query, const Array& key, const Array& value)
      : batch(result.span().first(result.size() - 3)),
        heads(query.extent(query.rank() - 3)),
        key_heads(key.extent(key.rank() - 3)),
        queries(query.extent(query.rank() - 2)),
        keys(key.extent(key.rank() - 2)),
        features(query.extent(query.rank() - 1)),
        values(value.extent(value.rank() - 1)) {}

  /// Calls visit(head) for each, with the matrices of these operands; key heads serve `heads / key_heads` in a row.
  template <class Visit>
  void for_each(std::span<const Array* const> operands, Visit visit) const {
    std::vector<Ints> strides;
    for (const Array* x : operands)
      strides.push_back(broadcast_strides(x->shape().span().first(x->shape().size() - 3), batch));
    for_each_position(batch, [&](std::int64_t matrix, const Ints& position) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t key_head = h / (heads / key_heads);
        Head head{matrix * heads + h, matrix * key_heads + key_head, {}};
        for (std::size_t i = 0; i < operands.size(); ++i) {
          const Array& x = *operands[i];
          std::int64_t at = 0;
          for (std::size_t axis = 0; axis < batch.size(); ++axis) at += position[axis] * strides[i][axis];
          const std::int64_t own = x.extent(x.rank() - 3);
          const std::int64_t begin = at * own + (own == heads ? h : key_head);
          head.begins.push_back(begin * x.extent(x.rank() - 2) * x.extent(x.rank() - 1));
        }
        visit(head);
      }
    });
  }
};

/// The mask over all scores of a call: what is added to each, -inf where there is none to see.
class Mask {
 public:
  Mask(std::span<const Array> mask, const Heads& of, bool causal) : of_(of), causal_(causal) {
    if (mask.empty()) return;
    Shape scores = of.batch;
    scores.append(Ints{of.heads, of.queries, of.keys});
    dispatch(mask[0].dtype(), [&]<class T>() {
      if constexpr (std::same_as<T, bool> || Half<T> || std::floating_point<T>) {
        for_each_offset(scores, broadcast_strides(mask[0].shape(), scores), [&](std::int64_t, std::int64_t at) {
          const T element = mask[0].as<T>()[at];
          if constexpr (std::same_as<T, bool>) {
            added_.push_back(element ? 0 : -std::numeric_limits<double>::infinity());
          } else {
            added_.push_back(static_cast<double>(widen(element)));
          }
        });
      }
    });
  }

  bool hides(std::int64_t i, std::int64_t j) const { return causal_ && j > i; }
  double added(const Head& head, std::int64_t i, std::int64_t j) const {
    return added_.empty() ? 0 : added_[static_cast<std::size_t>((head.number * of_.queries + i) * of_.keys + j)];
  }

 private:
  const Heads& of_;
  bool causal_;
  std::vector<double> added_;
};

/// The dot product of two rows.
template <class T>
SumType<T> dot(const T* a, const T* b, std::int64_t count) {
  SumType<T> sum{};
  for (std::int64_t i = 0; i < count; ++i) add_product(sum, a[i], b[i]);
  return sum;
}

/// The score of a query and a key; -inf where the key is not seen.
template <class T>
SumType<T> score(const Heads& of, const Mask& mask, const Head& head, const T* query, const T* key, std::int64_t i,
                 std::int64_t j, double scale) {
  using W = SumType<T>;
  const W added = static_cast<W>(mask.added(head, i, j));
  if (mask.hides(i, j) || added == -std::numeric_limits<W>::infinity()) return -std::numeric_limits<W>::infinity();
  return dot(query + i * of.features, key + j * of.features, of.features) * static_cast<W>(scale) + added;
}

}  // namespace

void attention(const Array& output, const Array& log_sum_exp, const Array& query, const Array& key, const Array& value,
               const Scalar& scale, std::span<const Array> mask_list, const AttentionAttrs& attrs) {
  const Heads of(output.shape(), query, key, value);
  const Mask mask(mask_list, of, attrs.causal);
  dispatch(query.dtype(), [&]<class T>() {
    if constexpr (Half<T> || std::floating_point<T>) {
      using W = SumType<T>;
      constexpr W kNothing = -std::numeric_limits<W>::infinity();
      const Array* const operands[] = {&query, &key, &value};
      of.for_each(operands, [&](const Head& head) {
        const T* values = value.as<T>() + head.begins[2];
        std::vector<W> scores(static_cast<std::size_t>(of.keys));
        std::vector<W> sums(static_cast<std::size_t>(of.values));
        for (std::int64_t i = 0; i < of.queries; ++i) {
          W largest = kNothing;
          for (std::int64_t j = 0; j < of.keys; ++j) {
            W& s = scores[static_cast<std::size_t>(j)];
            s = score(of, mask, head, query.as<T>() + head.begins[0], key.as<T>() + head.begins[1], i, j,
                      scale.to<double>());
            if (s > largest || std::isnan(s)) largest = s;  // nan for good
          }
          std::fill(sums.begin(), sums.end(), W{});
          W total{};
          for (std::int64_t j = 0; j < of.keys; ++j) {
            if (scores[static_cast<std::size_t>(j)] == kNothing) continue;
            const W weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
            total += weight;
            for (std::int64_t v = 0; v < of.values; ++v)
              sums[static_cast<std::size_t>(v)] += weight * static_cast<W>(values[j * of.values + v]);
          }
          const bool sees = largest != kNothing;
          const std::int64_t row = head.number * of.queries + i;
          for (std::int64_t v = 0; v < of.values; ++v) {
            output.as<T>()[row * of.values + v] =
                static_cast<T>(sees ? sums[static_cast<std::size_t>(v)] / total : W{});
          }
          const W logarithm = sees ? largest + std::log(total) : kNothing;
          if constexpr (Half<T>) {
            log_sum_exp.as<float>()[row] = logarithm;
          } else {
            log_sum_exp.as<T>()[row] = static_cast<T>(logarithm);
          }
        }
      });
    }
  });
}

void attention_grad(const Array& query_grad, const Array& key_grad, const Array& value_grad, const Array& query,
                    const Array& key, const Array& value, const Array& grad_output, const Array& log_sum_exp,
                    const Array& shift, const Scalar& scale, std::span<const Array> mask_list,
                    const AttentionGradAttrs& attrs) {
  const Heads of(query_grad.shape(), query, key, value);
  const Mask mask(mask_list, of, attrs.causal);
  dispatch(query.dtype(), [&]<class T>() {
    if constexpr (Half<T> || std::floating_point<T>) {
      using W = SumType<T>;
      using Row = std::conditional_t<Half<T>, float, T>;
      std::vector<W> by_query(static_cast<std::size_t>(query_grad.size()));
      std::vector<W> by_key(static_cast<std::size_t>(key_grad.size()));
      std::vector<W> by_value(static_cast<std::size_t>(value_grad.size()));
      const Array* const operands[] = {&query, &key, &value, &grad_output, &log_sum_exp, &shift};
      of.for_each(operands, [&](const Head& head) {
        const T* q = query.as<T>() + head.begins[0];
        const T* k = key.as<T>() + head.begins[1];
        const T* v = value.as<T>() + head.begins[2];
        const T* grad = grad_output.as<T>() + head.begins[3];
        W* dq = by_query.data() + head.number * of.queries * of.features;
        W* dk = by_key.data() + head.key_number * of.keys * of.features;
        W* dv = by_value.data() + head.key_number * of.keys * of.values;
        for (std::int64_t i = 0; i < of.queries; ++i) {
          const Row logarithm = log_sum_exp.as<Row>()[head.begins[4] + i];
          for (std::int64_t j = 0; j < of.keys; ++j) {
            const W s = score(of, mask, head, q, k, i, j, scale.to<double>());
            if (s == -std::numeric_limits<W>::infinity() || logarithm == -std::numeric_limits<Row>::infinity())
              continue;
            const W p = std::exp(s - static_cast<W>(logarithm));
            const W d = p *
                        (dot(grad + i * of.values, v + j * of.values, of.values) -
                         static_cast<W>(shift.as<Row>()[head.begins[5] + i])) *
                        static_cast<W>(scale.to<double>());
            for (std::int64_t e = 0; e < of.features; ++e) {
              dq[i * of.features + e] += d * static_cast<W>(k[j * of.features + e]);
              dk[j * of.features + e] += d * static_cast<W>(q[i * of.features + e]);
            }
            for (std::int64_t e = 0; e < of.values; ++e)
              dv[j * of.values + e] += p * static_cast<W>(grad[i * of.values + e]);
          }
        }
      });
      const auto store = [](const std::vector<W>& sums, const Array& out) {
        for (std::size_t i = 0; i < sums.size(); ++i) out.as<T>()[i] = static_cast<T>(sums[i]);
      };
      store(by_query, query_grad);
      store(by_key, key_grad);
      store(by_value, value_grad);
    }
  });
}

}  // namespace lento::reference
