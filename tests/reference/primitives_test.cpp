// Primitives through the public functions: recording, inference, the interpreter and the kernel together.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace lento::testing {
namespace {

using Int64s = std::vector<std::int64_t>;

template <class T>
Tensor make(const Shape& shape, const std::vector<T>& values) {
  return tensor(values, shape);
}

Tensor counting(const Shape& shape) {
  return prim::reshape(prim::iota(element_count(shape), 0, 1, DType::int64, {}), shape);
}

template <class E, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

TEST(Primitives, ComputeThroughThePublicFunctions) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(prim::permute_dims(x, {1, 0}).to_vector<std::int64_t>(), (Int64s{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(prim::reduce_sum(x, {1}, false).to_vector<std::int64_t>(), (Int64s{3, 12}));
  EXPECT_EQ(prim::reduce_max(x, {0}, true).shape(), (Shape{1, 3}));
  EXPECT_EQ(prim::arg_max(x, 1, false).to_vector<std::int64_t>(), (Int64s{2, 2}));
  EXPECT_EQ(prim::scan_sum(x, 1).to_vector<std::int64_t>(), (Int64s{0, 1, 3, 3, 7, 12}));
  EXPECT_EQ(prim::broadcast_to(x, {2, 2, 3}).size(), 12);
  EXPECT_EQ(prim::strided_slice(x, {2}, {1}, {3}, {-1}).to_vector<std::int64_t>(), (Int64s{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(prim::pad_constant(x, -1, {0, 1}, {0, 0}).to_vector<std::int64_t>(), (Int64s{-1, 0, 1, 2, -1, 3, 4, 5}));
  EXPECT_EQ(prim::concatenate({x, x}, 0).shape(), (Shape{4, 3}));
  EXPECT_EQ(prim::take_axis(x, make<std::int64_t>({2}, {-1, 0}), 1).to_vector<std::int64_t>(), (Int64s{2, 0, 5, 3}));
  EXPECT_EQ(
      prim::gather_nd(x, {make<std::int64_t>({2}, {1, 0}), make<std::int64_t>({2}, {2, 1})}).to_vector<std::int64_t>(),
      (Int64s{5, 1}));
  EXPECT_EQ(prim::sort_indices(x, 1, true).to_vector<std::int64_t>(), (Int64s{2, 1, 0, 2, 1, 0}));
  const auto [values, indices] = prim::top_k(x, 1, 0, true);
  EXPECT_EQ(values.to_vector<std::int64_t>(), (Int64s{3, 4, 5}));
  EXPECT_EQ(indices.to_vector<std::int64_t>(), (Int64s{1, 1, 1}));
  EXPECT_EQ(prim::flat_nonzero(x, 5).to_vector<std::int64_t>(), (Int64s{1, 2, 3, 4, 5}));
  EXPECT_EQ(prim::astype(x, DType::float16).dtype(), DType::float16);
  EXPECT_EQ(prim::full({2}, 1.5, DType::float64, {}).to_vector<double>(), (std::vector<double>{1.5, 1.5}));
}

TEST(Primitives, UpdatesLeaveTheirOperandAlone) {
  const Tensor x = counting({4});
  EXPECT_EQ(x.to_vector<std::int64_t>(), (Int64s{0, 1, 2, 3}));
  const Tensor updated = prim::strided_update(x, make<std::int64_t>({2}, {8, 9}), {3}, {0}, {-2});
  const Tensor added =
      prim::scatter_axis(x, make<std::int64_t>({2}, {1, 1}), make<std::int64_t>({2}, {10, 20}), 0, "add");
  const Tensor set = prim::scatter_nd(x, make<std::int64_t>({2}, {5, 6}), {make<std::int64_t>({2}, {0, 0})}, "set");
  EXPECT_EQ(updated.to_vector<std::int64_t>(), (Int64s{0, 9, 2, 8}));
  EXPECT_EQ(added.to_vector<std::int64_t>(), (Int64s{0, 31, 2, 3}));
  EXPECT_EQ(set.to_vector<std::int64_t>(), (Int64s{6, 1, 2, 3}));
  EXPECT_EQ(x.to_vector<std::int64_t>(), (Int64s{0, 1, 2, 3}));
  // A value that is its own update: the operand may not be overwritten while it is read.
  const Tensor reversed = prim::strided_update(x, x, {3}, {0}, {-1});
  EXPECT_EQ(reversed.to_vector<std::int64_t>(), (Int64s{3, 2, 1, 0}));
}

TEST(Primitives, T2_ErrorsNameTheOpTheShapesAndTheLine) {
  const Tensor x = counting({2, 3});
  const int line = __LINE__ + 1;
  const std::string message = message_of<ShapeError>([&] { prim::reshape(x, {4}); });
  EXPECT_EQ(message.rfind("reshape: int64(2, 3) has 6 elements, shape (4,) has 4", 0), 0U) << message;
  EXPECT_NE(message.find("primitives_test.cpp:" + std::to_string(line)), std::string::npos) << message;
  EXPECT_NE(message_of<DTypeError>([&] { prim::reduce_sum(prim::astype(x, DType::bool_), {0}, false); }), "");
  EXPECT_NE(message_of<ValueError>([&] { prim::scatter_axis(x, x, x, 0, "subtract"); }), "");
}

TEST(Primitives, T10_AnIndexOutOfRangePoisonsExactlyWhatDependsOnIt) {
  const Tensor x = counting({3});
  const int line = __LINE__ + 1;
  const Tensor bad = prim::take_axis(x, make<std::int64_t>({2}, {0, 3}), 0);
  const Tensor worse = prim::reduce_sum(bad, {0}, false);
  const Tensor good = prim::reduce_sum(x, {0}, false);
  for (const Tensor& each : {bad, worse, bad}) {
    const std::string message = message_of<IndexError>([&] { each.to_vector<std::int64_t>(); });
    EXPECT_EQ(message.rfind("take_axis: index 3 is out of range for axis 0 of length 3, at ", 0), 0U) << message;
    EXPECT_NE(message.find("primitives_test.cpp:" + std::to_string(line)), std::string::npos) << message;
  }
  EXPECT_EQ(good.item<std::int64_t>(), 3);
}

TEST(Primitives, DataErrorsOfOtherKinds) {
  const Tensor x = counting({3});
  EXPECT_NE(message_of<ValueError>([&] { prim::flat_nonzero(x, 3).to_vector<std::int64_t>(); }), "");
  EXPECT_NE(message_of<IndexError>([&] { prim::strided_slice(x, {2}, {0}, {2}, {1}).to_vector<std::int64_t>(); }), "");
}

TEST(Primitives, EmptyTensorsGoThroughEverything) {
  const Tensor x = prim::full({0, 3}, 1, DType::float32, {});
  EXPECT_EQ(prim::reduce_sum(x, {0}, false).to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(prim::reduce_prod(x, {0}, false).to_vector<float>(), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(prim::sort_values(x, 0, false).to_vector<float>().size(), 0U);
  EXPECT_EQ(prim::reduce_max(x, {1}, false).to_vector<float>().size(), 0U);
  EXPECT_NE(message_of<ValueError>([&] { prim::reduce_max(x, {0}, false); }), "");
  EXPECT_EQ(prim::concatenate({x, x}, 1).to_vector<float>().size(), 0U);
  EXPECT_EQ(prim::pad_constant(x, 2, {1, 0}, {0, 0}).to_vector<float>(), (std::vector<float>{2, 2, 2}));
}

}  // namespace
}  // namespace lento::testing
