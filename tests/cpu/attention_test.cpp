// Attention and its gradient against the reference kernels: layouts, lengths around the blocks, masks, threads.
#include "backends/cpu/attention/attention.h"
#include "against_reference.h"
#include "backends/cpu/attention/blocks.h"
#include "backends/cpu/threads.h"
#include "backends/reference/arithmetic.h"
#include "backends/reference/array.h"
#include "base/dispatch.h"
#include "ir/attrs_contraction.gen.h"
#include "reference/kernels_contraction.gen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace lento::cpu {
namespace {

constexpr double kScale = 0.25;
constexpr std::int64_t kBatch = 2;

struct Sizes {
  std::int64_t heads, key_heads, queries, keys, features, values;
  bool causal;
};

const Sizes kSizes[] = {
    {2, 2, 1, 1, 1, 1, false},
    {4, 2, 5, 7, 3, 2, true},
    {2, 1, kQueryBlock + 1, kKeyBlock + 1, 8, 4, false},
    {1, 1, 2 * kQueryBlock + 3, 2 * kKeyBlock + 5, 16, 16, true},
    {1, 1, 3, 3 * kKeyBlock, 4, 4, true},
    {2, 2, 3 * kQueryBlock, 9, 4, 4, true},
    {1, 1, 4, 0, 2, 3, false},
};

/// Random elements (batch, heads, rows, columns), row by row or with the heads inside of the rows.
template <class T>
struct Operand {
  Shape shape;
  std::vector<T> plain;   // row by row
  std::vector<T> placed;  // as `operand` says
  AttentionOperand operand;

  Operand(std::int64_t heads, std::int64_t rows, std::int64_t columns, unsigned seed, bool inside)
      : shape{kBatch, heads, rows, columns}, operand{dtype_of<T>(), {}, 0, 0, 1} {
    plain = random_elements<T>(element_count(shape), seed);
    placed = plain;
    const std::int64_t gap = inside ? 3 : 0;
    operand.row = inside ? heads * columns + gap : columns;
    operand.head = inside ? columns : rows * columns;
    operand.batch = {inside ? rows * operand.row : heads * rows * columns};
    if (!inside) return;
    placed.assign(static_cast<std::size_t>(kBatch * rows * operand.row), T(0));
    std::size_t i = 0;
    for (std::int64_t b = 0; b < kBatch; ++b) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t c = 0; c < columns; ++c)
            placed[static_cast<std::size_t>(b * operand.batch[0] + h * operand.head + r * operand.row + c)] =
                plain[i++];
        }
      }
    }
  }

  reference::Array array() { return {plain.data(), dtype_of<T>(), shape}; }
};

template <class T>
struct Results {
  using Row = std::conditional_t<kIsHalf<T>, float, T>;
  std::vector<T> output, query_grad, key_grad, value_grad;
  std::vector<Row> log_sum_exp;

  explicit Results(const Sizes& s) {
    const auto room = [](std::int64_t heads, std::int64_t rows, std::int64_t columns) {
      return static_cast<std::size_t>(kBatch * heads * rows * columns);
    };
    output.resize(room(s.heads, s.queries, s.values));
    log_sum_exp.resize(room(s.heads, s.queries, 1));
    query_grad.resize(room(s.heads, s.queries, s.features));
    key_grad.resize(room(s.key_heads, s.keys, s.features));
    value_grad.resize(room(s.key_heads, s.keys, s.values));
  }
};

template <class T>
class Call {
 public:
  using Row = typename Results<T>::Row;

  Call(const Sizes& sizes, bool inside, bool masked)
      : sizes_(sizes),
        query_(sizes.heads, sizes.queries, sizes.features, 1, inside),
        key_(sizes.key_heads, sizes.keys, sizes.features, 2, inside),
        value_(sizes.key_heads, sizes.keys, sizes.values, 3, inside),
        grad_(sizes.heads, sizes.queries, sizes.values, 4, inside),
        shift_(sizes.heads, sizes.queries, 1, 5, false),
        masked_(masked) {
    mask_shape_ = {sizes.queries, sizes.keys};
    for (std::int64_t i = 0; i < element_count(mask_shape_); ++i) mask_.push_back(i % 5 == 0 ? 0 : 1);
    // Somebody sees nothing.
    if (masked)
      std::fill_n(mask_.begin(), std::min<std::size_t>(mask_.size(), static_cast<std::size_t>(sizes.keys)), 0);
  }

  Results<T> expected() {
    Results<T> r(sizes_);
    const Shape out{kBatch, sizes_.heads, sizes_.queries, sizes_.values};
    const Shape rows{kBatch, sizes_.heads, sizes_.queries, 1};
    const reference::Array log_sum_exp(r.log_sum_exp.data(), dtype_of<Row>(), rows);
    std::vector<reference::Array> mask;
    if (masked_) mask.emplace_back(mask_.data(), DType::bool_, mask_shape_);
    reference::attention({r.output.data(), dtype_of<T>(), out}, log_sum_exp, query_.array(), key_.array(),
                         value_.array(), Scalar(kScale), mask, AttentionAttrs{sizes_.causal});
    reference::attention_grad(
        {r.query_grad.data(), dtype_of<T>(), query_.shape}, {r.key_grad.data(), dtype_of<T>(), key_.shape},
        {r.value_grad.data(), dtype_of<T>(), value_.shape}, query_.array(), key_.array(), value_.array(), grad_.array(),
        log_sum_exp, shift_.array(), Scalar(kScale), mask, AttentionGradAttrs{sizes_.causal});
    return r;
  }

  /// The gradient is that for `log_sum_exp`, so that only its own errors are seen.
  Results<T> found(const std::vector<Row>& log_sum_exp) {
    Results<T> r(sizes_);
    AttentionProblem problem;
    problem.batch = {kBatch};
    problem.heads = sizes_.heads;
    problem.key_heads = sizes_.key_heads;
    problem.queries = sizes_.queries;
    problem.keys = sizes_.keys;
    problem.features = sizes_.features;
    problem.values = sizes_.values;
    problem.causal = sizes_.causal;
    problem.query = query_.operand;
    problem.key = key_.operand;
    problem.value = value_.operand;
    problem.grad_output = grad_.operand;
    problem.shift = shift_.operand;
    problem.log_sum_exp = shift_.operand;
    if (masked_) problem.mask = AttentionOperand{DType::bool_, {0}, 0, sizes_.keys, 1};
    run_attention(problem, {query_.placed.data(), key_.placed.data(), value_.placed.data(), mask_.data(), kScale,
                            r.output.data(), r.log_sum_exp.data()});
    run_attention_grad(problem, {query_.placed.data(), key_.placed.data(), value_.placed.data(), grad_.placed.data(),
                                 log_sum_exp.data(), shift_.placed.data(), mask_.data(), kScale, r.query_grad.data(),
                                 r.key_grad.data(), r.value_grad.data()});
    return r;
  }

 private:
  Sizes sizes_;
  Operand<T> query_, key_, value_, grad_;
  Operand<Row> shift_;
  bool masked_;
  Shape mask_shape_;
  std::vector<std::uint8_t> mask_;
};

template <class T>
void expect_close(const std::vector<T>& found, const std::vector<T>& expected, double bound, const char* what) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (reference::widen(found[i]) == reference::widen(expected[i])) continue;  // also both -inf
    ASSERT_LE(distance(found[i], expected[i]), bound) << what << " " << i;
  }
}

template <class T>
void expect_as_reference() {
  for (const Sizes& s : kSizes) {
    for (const bool inside : {false, true}) {
      for (const bool masked : {false, true}) {
        SCOPED_TRACE(testing::Message() << s.queries << " queries, " << s.keys << " keys, inside " << inside
                                        << ", masked " << masked);
        Call<T> call(s, inside, masked);
        const Results<T> expected = call.expected();
        const Results<T> found = call.found(expected.log_sum_exp);
        // Elements are at most 1, and so are weights. A weight is wrong by the error of its score, of the difference
        // and of the exponential; results are sums of such weights times elements, or times products of `values`
        // elements and the shift.
        using Row = typename Results<T>::Row;
        const double score = error_bound<Row>(s.features) + 4 * std::numeric_limits<Row>::epsilon() * (s.features + 8);
        const auto longest = static_cast<double>(std::max(s.queries * s.heads / s.key_heads, s.keys));
        const double product = static_cast<double>(s.values) + 1;
        const double rounding = kIsHalf<T> ? error_bound<T>(1) : 0;
        const double sum = error_bound<Row>(std::max<std::int64_t>(s.queries * s.heads / s.key_heads, s.keys));
        expect_close(found.output, expected.output, 2 * score + sum / std::max(longest, 1.0) * 2 + rounding, "output");
        expect_close(found.log_sum_exp, expected.log_sum_exp, 2 * score + sum, "log_sum_exp");
        const double gradient = (longest * score + sum) * product + longest * error_bound<Row>(s.values);
        const double magnitude = longest * product;
        expect_close(found.query_grad, expected.query_grad, gradient + rounding * magnitude, "query_grad");
        expect_close(found.key_grad, expected.key_grad, gradient + rounding * magnitude, "key_grad");
        expect_close(found.value_grad, expected.value_grad, gradient + rounding * magnitude, "value_grad");
      }
    }
  }
}

TEST(Attention, AgreesWithTheReferenceInEveryType) {
  expect_as_reference<float>();
  expect_as_reference<double>();
  expect_as_reference<float16>();
  expect_as_reference<bfloat16>();
}

// Clause D7.
TEST(Attention, HasTheSameBitsOnAnyNumberOfThreads) {
  const int before = get_num_threads();
  for (const Sizes& s : kSizes) {
    Call<float> call(s, true, true);
    const std::vector<float> log_sum_exp = call.expected().log_sum_exp;
    set_num_threads(1);
    const Results<float> expected = call.found(log_sum_exp);
    for (const int threads : {2, 3, 5}) {
      set_num_threads(threads);
      const Results<float> found = call.found(log_sum_exp);
      EXPECT_EQ(found.output, expected.output);
      EXPECT_EQ(found.log_sum_exp, expected.log_sum_exp);
      EXPECT_EQ(found.query_grad, expected.query_grad);
      EXPECT_EQ(found.key_grad, expected.key_grad);
      EXPECT_EQ(found.value_grad, expected.value_grad);
    }
  }
  set_num_threads(before);
}

TEST(Attention, IsNoNumberWhereTheReferenceIsNone) {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t keys : {std::int64_t{2}, kKeyBlock + 1}) {
    // Of four queries one is nan, and to another one a mask shows nothing but the first key, which is nan too.
    std::vector<float> query{1, nan, 2, 3}, key(static_cast<std::size_t>(keys), 1), value = key;
    for (const bool bad_key : {false, true}) {
      key[0] = bad_key ? nan : 1;
      std::vector<std::uint8_t> mask(static_cast<std::size_t>(4 * keys), 1);
      std::fill(mask.begin() + 2 * keys + 1, mask.begin() + 3 * keys, 0);
      for (std::int64_t row : {0, 3}) mask[static_cast<std::size_t>(row * keys)] = 0;
      AttentionProblem problem;
      problem.heads = problem.key_heads = 1;
      problem.queries = 4;
      problem.keys = keys;
      problem.features = problem.values = 1;
      problem.query = {DType::float32, {}, 4, 1, 1};
      problem.key = problem.value = {DType::float32, {}, keys, 1, 1};
      problem.mask = AttentionOperand{DType::bool_, {}, 0, keys, 1};
      std::vector<float> found(4), found_log(4), expected(4), expected_log(4);
      run_attention(problem, {query.data(), key.data(), value.data(), mask.data(), 1, found.data(), found_log.data()});
      const Shape rows{1, 4, 1}, columns{1, keys, 1}, scores{4, keys};
      const auto array = [](std::vector<float>& x, const Shape& shape) {
        return reference::Array(x.data(), DType::float32, shape);
      };
      const reference::Array masks[] = {{mask.data(), DType::bool_, scores}};
      reference::attention(array(expected, rows), array(expected_log, rows), array(query, rows), array(key, columns),
                           array(value, columns), Scalar(1.0), masks, AttentionAttrs{false});
      for (std::size_t i = 0; i < 4; ++i) {
        const bool is_nan = i == 1 || (i == 2 && bad_key);
        EXPECT_EQ(std::isnan(found[i]), is_nan) << i;
        EXPECT_EQ(std::isnan(found_log[i]), is_nan) << i;
        EXPECT_EQ(std::isnan(expected[i]), is_nan) << i;
        EXPECT_EQ(std::isnan(expected_log[i]), is_nan) << i;
      }
    }
  }
}

TEST(Attention, LeavesOutWhatNobodyWants) {
  AttentionProblem problem;
  problem.batch = {};
  problem.heads = problem.key_heads = 1;
  problem.queries = problem.keys = 3;
  problem.features = problem.values = 1;
  problem.query = problem.key = problem.value = problem.grad_output = problem.shift =
      problem.log_sum_exp = {DType::float32, {}, 3, 1, 1};
  const float x[] = {1, 2, 3};
  float all[3];
  float alone[3];
  run_attention(problem, {x, x, x, nullptr, 1, all, nullptr});
  EXPECT_NE(all[0], 0);
  run_attention_grad(problem, {x, x, x, x, x, x, nullptr, 1, nullptr, all, nullptr});
  float rest[2][3];
  run_attention_grad(problem, {x, x, x, x, x, x, nullptr, 1, rest[0], alone, rest[1]});
  EXPECT_TRUE(std::equal(all, all + 3, alone));
}

}  // namespace
}  // namespace lento::cpu
