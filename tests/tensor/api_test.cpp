// The C++ API as its users see it: indexing, reading, printing, and what does not compile.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace lento {
namespace {

// --- wrong use that types can say is a compile error ---

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };
static_assert(Addable<Tensor, Tensor>);
static_assert(Addable<Tensor, double>);
static_assert(Addable<int, Tensor>);
static_assert(Addable<Tensor, std::complex<float>>);
static_assert(!Addable<Tensor, const char*>);
static_assert(!Addable<Tensor, std::string>);
static_assert(!Addable<Tensor, std::vector<float>>);

template <class T>
concept Readable = requires(const Tensor& x) { x.item<T>(); };
static_assert(Readable<float>);
static_assert(!Readable<std::string>);
static_assert(!Readable<void*>);

static_assert(!std::is_constructible_v<bool, Tensor>, "a tensor's truth is a read: ask for item<bool>()");
template <class T>
concept AddableInPlace = requires(Tensor x, T value) { x += value; };
static_assert(AddableInPlace<float>);
static_assert(!AddableInPlace<const char*>);

std::vector<float> floats(const Tensor& x) { return x.to_vector<float>(); }

Tensor grid() { return tensor({{1.0F, 2.0F, 3.0F}, {4.0F, 5.0F, 6.0F}}); }

TEST(Indexing, IntegersSlicesEllipsisAndNewAxes) {
  const Tensor x = grid();
  EXPECT_EQ(floats(x[{1}]), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(floats(x[{-1, -1}]), (std::vector<float>{6}));
  EXPECT_EQ(floats(x[{ellipsis, 0}]), (std::vector<float>{1, 4}));
  EXPECT_EQ(floats(x[{Slice{}, Slice{{}, {}, -1}}]), (std::vector<float>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ((x[{newaxis, ellipsis, newaxis}].shape()), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(floats(x.slice(1, 1, {})), (std::vector<float>{2, 3, 5, 6}));
  EXPECT_EQ(floats(x.slice(-1, {}, {}, 2)), (std::vector<float>{1, 3, 4, 6}));
}

TEST(Indexing, T10_IntegerTensorsAndMasks) {
  const Tensor x = grid();
  EXPECT_EQ(floats(x[{tensor({1, 0, -1})}]), (std::vector<float>{4, 5, 6, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(floats(x[{tensor({0, 1}), tensor({2, 0})}]), (std::vector<float>{3, 4}));
  EXPECT_EQ(floats(x[{x > 2.5F}]), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ((x[{scalar_tensor(std::int64_t{1}), 2}].item<float>()), 6.0F);
}

TEST(Indexing, T6_AssignmentOfEveryKind) {
  Tensor x = grid();
  x[{0}] = 0.0F;
  x[{Slice{}, 2}] = tensor({30.0F, 60.0F});
  x[{tensor({1}), tensor({0})}] = 40.0F;
  EXPECT_EQ(floats(x), (std::vector<float>{0, 0, 30, 40, 5, 60}));
  x[{x == 0.0F}] = -1.0F;
  EXPECT_EQ(floats(x), (std::vector<float>{-1, -1, 30, 40, 5, 60}));
  x[{0}] += 1.0F;
  EXPECT_EQ(floats(x), (std::vector<float>{0, 0, 31, 40, 5, 60}));
  x[{1}] = x[{0}];
  EXPECT_EQ(floats(x), (std::vector<float>{0, 0, 31, 0, 0, 31}));
}

TEST(Indexing, T10_AssigningAScalarThroughAMaskNeedsNoSync) {
  Tensor x = grid();
  const Tensor mask = x > 3.0F;
  const std::uint64_t before = metrics::counter("sync.implicit");
  x[{mask}] = 0.0F;
  EXPECT_EQ(metrics::counter("sync.implicit"), before);
  EXPECT_EQ(floats(x), (std::vector<float>{1, 2, 3, 0, 0, 0}));
}

TEST(Indexing, PartsTakePartInExpressions) {
  Tensor x = grid();
  const Tensor y = x[{0}] + x[{1}] * 10.0F;
  EXPECT_EQ(floats(y), (std::vector<float>{41, 52, 63}));
  EXPECT_EQ(floats(exp(x[{0, Slice{0, 0}}])), std::vector<float>{});
}

TEST(Indexing, T2_ErrorsAreRaisedByTheCall) {
  const Tensor x = grid();
  EXPECT_THROW((void)(x[{2}]), IndexError);
  EXPECT_THROW((void)(x[{0, 0, 0}]), IndexError);
  EXPECT_THROW((void)(x[{ellipsis, ellipsis}]), IndexError);
  EXPECT_THROW((void)(x[{tensor({true, false, true})}]), IndexError);
  EXPECT_THROW((void)(x[{tensor({0.5F})}]), IndexError);
  EXPECT_THROW((void)x.slice(5, 0, 1), IndexError);
}

TEST(Reading, T2_AskingForAnotherTypeIsAnError) {
  const Tensor x = grid();
  EXPECT_THROW((void)x.to_vector<double>(), DTypeError);
  EXPECT_THROW((void)x.item<float>(), ValueError);
  EXPECT_EQ((x[{0, 0}].item<int>()), 1);
}

TEST(Reading, ErrorsNameTheFunctionAndTheLine) {
  const auto expect_error = [](auto&& read, const std::string& start) {
    try {
      read();
      ADD_FAILURE() << "expected " << start;
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(start)) << text;
      EXPECT_NE(text.find(", at api_test.cpp:"), std::string::npos) << text;
    }
  };
  expect_error([] { (void)grid().to_vector<double>(); }, "to_vector: the elements are float32, not float64");
  expect_error([] { (void)Tensor().shape(); }, "shape: the tensor handle is empty");
  expect_error([] { (void)Tensor().size(); }, "shape: the tensor handle is empty");
  expect_error([] { (void)Tensor().dtype(); }, "dtype: the tensor handle is empty");
  expect_error([] { (void)Tensor().device(); }, "device: the tensor handle is empty");
}

TEST(Reading, AnIntegerThatCannotHoldTheNumberIsAnError) {
  EXPECT_THROW((void)tensor(-1).item<unsigned>(), OverflowError);
  EXPECT_THROW((void)tensor(300).item<std::int8_t>(), OverflowError);
  EXPECT_THROW((void)tensor(~std::uint64_t{0}).item<std::int64_t>(), OverflowError);
  EXPECT_THROW((void)tensor(-1.0F).item<std::size_t>(), OverflowError);
  EXPECT_THROW((void)tensor(std::numeric_limits<float>::quiet_NaN()).item<int>(), OverflowError);
  EXPECT_THROW((void)tensor(0x1p63).item<std::int64_t>(), OverflowError);
  EXPECT_EQ(tensor(-0x1p63).item<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(tensor(-0.5F).item<unsigned>(), 0U);
  EXPECT_EQ(tensor(255).item<std::uint8_t>(), 255);
  EXPECT_EQ(tensor(~std::uint64_t{0}).item<std::uint64_t>(), ~std::uint64_t{0});
  EXPECT_EQ(tensor(true).item<int>(), 1);
}

TEST(Reading, E8_ReadsOfPendingValuesAreCounted) {
  const Tensor y = grid() + 1.0F;
  const std::uint64_t before = metrics::counter("sync.implicit");
  (void)floats(y);
  (void)floats(y);
  EXPECT_EQ(metrics::counter("sync.implicit") - before, 1);
}

TEST(Printing, LooksLikeNumPy) {
  std::ostringstream out;
  out << grid() / 2.0F;
  EXPECT_EQ(out.str(), "[[0.5 1.  1.5]\n [2.  2.5 3. ]]");
}

TEST(Creation, RowsMustBeEquallyLong) {
  EXPECT_THROW((void)tensor({{1, 2}, {3}}), ShapeError);
  EXPECT_THROW((void)tensor(std::vector<float>{1, 2, 3}, Shape{2, 2}), ShapeError);
}

TEST(Devices, T2_AnUnknownDeviceNamesTheKnownOnes) {
  try {
    (void)Device("abacus");
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("reference:0"), std::string::npos);
  }
  EXPECT_EQ(Device("reference").to_string(), "reference:0");
}

TEST(Creation, AFillerWritesTheElements) {
  const auto count = [](void* data, std::size_t bytes) {
    auto* numbers = static_cast<std::int32_t*>(data);
    for (std::size_t i = 0; i < bytes / sizeof(std::int32_t); ++i) numbers[i] = static_cast<std::int32_t>(i);
  };
  EXPECT_EQ(from_filler(count, DType::int32, {2, 2}).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(from_filler([](void*, std::size_t) {}, DType::float32, {0, 3}).size(), 0);
  const auto fill = [](unsigned char byte) {
    return [byte](void* data, std::size_t bytes) { std::memset(data, byte, bytes); };
  };
  EXPECT_EQ(from_filler(fill(1), DType::bool_, {2}).to_string(), "[ True  True]");
  EXPECT_THROW((void)from_filler(fill(2), DType::bool_, {2}), ValueError);
  // Nothing at all, but with strides that cannot be counted.
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  for (const Shape& shape : {Shape{0, huge, huge}, Shape{huge, huge, 0}})
    EXPECT_THROW((void)from_filler(fill(0), DType::float32, shape), MemoryError);
  EXPECT_THROW((void)from_filler([](void*, std::size_t) { throw ShapeError("no"); }, DType::bool_, {2}), ShapeError);
}

TEST(Shapes, GrowByAPartOfThemselves) {
  Shape shape{1, 2, 3, 4, 5, 6};
  shape.append(shape);
  shape.append(shape.span().subspan(10));
  EXPECT_EQ(shape, (Shape{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 5, 6}));
}

TEST(Attributes, OneTensorIsDumpedAndKeyedWithoutBraces) {
  const Tensor y = exp(tensor({1.0F, 2.0F}));
  EXPECT_NE(graph_key(y), 0U);
  EXPECT_EQ(graph_key(y), graph_key({y}));
  EXPECT_NE(dump(y).find("exp("), std::string::npos);
  EXPECT_EQ(dump(y, DumpFormat::json), dump({y}, DumpFormat::json));
}

}  // namespace
}  // namespace lento
