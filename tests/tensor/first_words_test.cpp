// What one writes first in C++ compiles and means what it means in Python: axes and shapes of every kind, numbers in
// braces, containers, rows, printing. And what would be a mistake does not compile.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <ranges>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace lento {
namespace {

std::vector<float> floats(const Tensor& x) { return x.to_vector<float>(); }
std::vector<int> ints(const Tensor& x) { return x.to_vector<int>(); }

/// [[1 2 3] [4 5 6]]
Tensor grid() { return tensor({{1.0F, 2.0F, 3.0F}, {4.0F, 5.0F, 6.0F}}); }

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// --- axes ---

TEST(Axes, AreAnIntegerBracesOrARange) {
  const Tensor x = grid();
  const std::size_t last = 1;
  const std::vector<float> rows = {6, 15};
  EXPECT_EQ(floats(sum(x, 1)), rows);
  EXPECT_EQ(floats(sum(x, -1)), rows);
  EXPECT_EQ(floats(sum(x, last)), rows);
  EXPECT_EQ(floats(sum(x, {1})), rows);
  EXPECT_EQ(floats(sum(x, {last})), rows);
  EXPECT_EQ(floats(sum(x, std::vector{1})), rows);
  EXPECT_EQ(floats(sum(x, std::array<unsigned, 1>{1})), rows);
  EXPECT_EQ(floats(x.sum(1)), rows);
  EXPECT_EQ(floats(x.mean({0})), (std::vector<float>{2.5F, 3.5F, 4.5F}));
  EXPECT_EQ(sum(x, {0, 1}).item<float>(), 21.0F);
  EXPECT_EQ(sum(x).item<float>(), 21.0F);
  EXPECT_EQ(sum(x, std::nullopt).item<float>(), 21.0F);
  EXPECT_EQ(sum(x, std::optional<Ints>()).item<float>(), 21.0F);
  EXPECT_EQ(floats(sum(x, std::optional<Ints>(Ints{1}))), rows);
  EXPECT_EQ(x.max(1, true).shape(), (Shape{2, 1}));
}

// Behind the axis of std and var stands a number, which a bool is not.
template <class T>
concept TakesForCorrection = requires(const Tensor& x, T value) {
  lento::std(x, 0, value);
} || requires(const Tensor& x, T value) { x.var(0, value); } || requires(Tensor& x, T value) { x[0].std(0, value); };
static_assert(!TakesForCorrection<bool>);
static_assert(TakesForCorrection<int> && TakesForCorrection<double>);

TEST(Axes, EmptyBracesAreNoAxis) {
  const Tensor x = grid();
  EXPECT_EQ(sum(x, {}).shape(), (Shape{2, 3}));
  EXPECT_EQ(floats(x.sum({})), floats(x));
  EXPECT_EQ(sum(x, Ints()).shape(), (Shape{2, 3}));
}

TEST(Axes, OfOtherFunctionsToo) {
  const Tensor x = zeros({2, 1, 3});
  EXPECT_EQ(squeeze(x, 1).shape(), (Shape{2, 3}));
  EXPECT_EQ(permute_dims(x, {2, 0, 1}).shape(), (Shape{3, 2, 1}));
  EXPECT_EQ(permute_dims(x, std::array{2, 0, 1}).shape(), (Shape{3, 2, 1}));
  EXPECT_EQ(expand_dims(x, 0).shape(), (Shape{1, 2, 1, 3}));
  EXPECT_EQ(flip(x, {0, 2}).shape(), x.shape());
  EXPECT_EQ(nn::avg_pool2d(zeros({1, 1, 4, 4}), 2).shape(), (Shape{1, 1, 2, 2}));
  EXPECT_EQ(nn::avg_pool2d(zeros({1, 1, 4, 4}), {2, 2}, 1).shape(), (Shape{1, 1, 3, 3}));
}

template <class A>
concept SumsOver = requires(const Tensor& x, A axis) { sum(x, axis), x.sum(axis); };
static_assert(SumsOver<int> && SumsOver<unsigned char> && SumsOver<long long> && SumsOver<std::nullopt_t>);
static_assert(SumsOver<std::vector<short>> && SumsOver<std::span<const unsigned>> && SumsOver<Ints>);
static_assert(!SumsOver<bool> && !SumsOver<std::nullptr_t> && !SumsOver<double> && !SumsOver<char>);
static_assert(!SumsOver<std::string> && !SumsOver<const char*> && !SumsOver<Tensor> && !SumsOver<DType>);
static_assert(!SumsOver<std::vector<double>> && !SumsOver<std::vector<bool>> && !SumsOver<std::vector<Tensor>>);

// --- shapes ---

TEST(Shapes, ComeFromEveryRangeOfIntegers) {
  const Shape expected{2, 3};
  const std::vector<std::int64_t> wide = {2, 3};
  const int array[] = {2, 3};
  EXPECT_EQ(zeros({2, 3}).shape(), expected);
  EXPECT_EQ(zeros(std::vector<int>{2, 3}).shape(), expected);
  EXPECT_EQ(zeros(std::vector<long>{2, 3}).shape(), expected);
  EXPECT_EQ(zeros(std::vector<std::size_t>{2, 3}).shape(), expected);
  EXPECT_EQ(zeros(wide).shape(), expected);
  EXPECT_EQ(zeros(std::span(wide)).shape(), expected);
  EXPECT_EQ(zeros(std::array<short, 2>{2, 3}).shape(), expected);
  EXPECT_EQ(zeros(std::list<unsigned>{2, 3}).shape(), expected);
  EXPECT_EQ(zeros(array).shape(), expected);
  EXPECT_EQ(zeros(std::views::iota(2, 4)).shape(), expected);
  EXPECT_EQ(zeros(std::views::iota(1, 4) | std::views::filter([](int n) { return n > 1; })).shape(), expected);
  EXPECT_EQ(zeros(grid().shape()).shape(), expected);
  EXPECT_EQ(reshape(arange(6), grid().shape()).shape(), expected);
}

TEST(Shapes, OfMixedIntegersOrOne) {
  const std::vector<float> values(3);
  const int rows = 2;
  enum { kColumns = 3 };
  EXPECT_EQ(zeros({rows, values.size()}).shape(), (Shape{2, 3}));
  EXPECT_EQ(zeros({rows, kColumns}).shape(), (Shape{2, 3}));
  EXPECT_EQ(zeros(3).shape(), Shape{3});
  EXPECT_EQ(zeros(values.size()).shape(), Shape{3});
  EXPECT_EQ(full(2, 7).shape(), Shape{2});
  EXPECT_EQ(zeros({}).shape(), Shape{});
  EXPECT_EQ(grid().reshape({3, -1}).shape(), (Shape{3, 2}));
  EXPECT_EQ(grid().reshape(-1).shape(), Shape{6});
  EXPECT_EQ(random::normal(4).shape(), Shape{4});
  EXPECT_THROW((void)zeros({~0ULL, 2}), Error);  // not -1
}

TEST(Methods, HaveAllNamesOfTheirOps) {
  const Tensor x = grid();
  EXPECT_EQ(x.view({3, 2}).shape(), (Shape{3, 2}));
  EXPECT_EQ(x.unsqueeze(0).permute({2, 1, 0}).shape(), (Shape{3, 2, 1}));
  EXPECT_EQ(x.clamp(1, 2).amax().item<float>(), 2);
  EXPECT_TRUE(x.mul(2).sub(x).eq(x.contiguous()).all().item<bool>());
}

TEST(Shapes, AreComparedWithListsOnly) {
  const Tensor x = grid();
  EXPECT_TRUE(x.shape() == (std::vector<int>{2, 3}));
  EXPECT_FALSE((x.shape() == std::array{2, 4}));
}

template <class S>
concept ComparedWithShapes = requires(const Shape& shape, S other) { shape == other; };
template <class S>
concept IsShape = requires(S shape) { zeros(shape); };
static_assert(ComparedWithShapes<Shape> && !ComparedWithShapes<int> && !ComparedWithShapes<std::size_t>);
static_assert(IsShape<int> && IsShape<std::deque<int>> && IsShape<Shape>);
static_assert(!IsShape<bool> && !IsShape<double> && !IsShape<std::vector<float>> && !IsShape<std::string>);
static_assert(!IsShape<std::nullptr_t> && !IsShape<Tensor> && !IsShape<char>);

// --- numbers in braces ---

TEST(Braces, NestToAnyDepth) {
  EXPECT_EQ(tensor({1, 2}).shape(), Shape{2});
  EXPECT_EQ(tensor({{1, 2}}).shape(), (Shape{1, 2}));
  EXPECT_EQ(tensor({{1}, {2}}).shape(), (Shape{2, 1}));
  const Tensor cube = tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}});
  EXPECT_EQ(cube.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(ints(cube), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(tensor({{{{1.0F}, {2.0F}}}}).shape(), (Shape{1, 1, 2, 1}));
  EXPECT_EQ(tensor({{{{{{{7}}}}}}}).shape(), (Shape{1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(tensor({}).shape(), Shape{0});
  EXPECT_EQ(tensor({}).dtype(), kDefaultFloat);
  EXPECT_EQ(tensor({{}, {}}).shape(), (Shape{2, 0}));
}

TEST(Braces, HaveTheTypeOfTheirNumbers) {
  EXPECT_EQ(tensor({1, 2}).dtype(), DType::int32);
  EXPECT_EQ(tensor({1.0, 2.0}).dtype(), DType::float64);
  EXPECT_EQ(tensor({true, false}).dtype(), DType::bool_);
  EXPECT_EQ(tensor({std::complex<float>(1, 2)}).dtype(), DType::complex64);
  EXPECT_EQ(tensor({float16(1.0F)}).dtype(), DType::float16);
  const Tensor mixed = tensor({{1, 2.5F}, {true, -1}});
  EXPECT_EQ(mixed.dtype(), DType::float32);
  EXPECT_EQ(floats(mixed), (std::vector<float>{1, 2.5F, 1, -1}));
}

TEST(Braces, HaveTheTypeThatIsAskedFor) {
  EXPECT_EQ(floats(tensor<float>({{1, 2}, {3, 4}})), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(tensor<std::int64_t>({}).dtype(), DType::int64);
  EXPECT_EQ(tensor<double>(1).dtype(), DType::float64);
  EXPECT_EQ(tensor<float16>({1, 2}, {2, 1}).dtype(), DType::float16);
  EXPECT_EQ(floats(tensor<float>(std::vector{1, 2}, {1, 2})), (std::vector<float>{1, 2}));
  EXPECT_EQ(floats(tensor<float>(std::vector<bool>{true, false})), (std::vector<float>{1, 0}));
  EXPECT_EQ(tensor<bool>(std::vector{2, 0}).to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(tensor<bfloat16>(std::vector<std::vector<int>>{{1}, {2}}).shape(), (Shape{2, 1}));
}

TEST(Braces, HaveTheDTypeThatIsAskedFor) {
  const Tensor x = tensor({1, 2}, DType::float64);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(tensor({{1.5, 2.5}}, DType::int8, {2}).to_vector<std::int8_t>(), (std::vector<std::int8_t>{1, 2}));
  const std::vector<int> numbers{0, 3};
  EXPECT_EQ(tensor(numbers, DType::bool_).dtype(), DType::bool_);
  EXPECT_EQ(tensor(numbers, DType::float32, {2, 1}).shape(), (Shape{2, 1}));
  EXPECT_THROW((void)tensor({1, 2}, static_cast<DType>(99)), DTypeError);
  EXPECT_THROW((void)tensor(numbers, static_cast<DType>(99)), DTypeError);
}

TEST(Braces, FillAShape) {
  EXPECT_EQ(tensor({1.0F, 2.0F}, {2, 1}).shape(), (Shape{2, 1}));
  EXPECT_EQ(tensor({{1, 2}, {3, 4}}, 4).shape(), Shape{4});
  EXPECT_EQ(tensor({5}, {}).shape(), Shape{});
  EXPECT_EQ(tensor({1, 2}, {2}, Device("reference")).device(), Device("reference"));
  EXPECT_EQ(tensor({1, 2}, Device("reference")).device(), Device("reference"));
}

TEST(Braces, OneNumberIsZeroDimensional) {
  EXPECT_EQ(tensor(3.0F).shape(), Shape{});
  EXPECT_EQ(tensor(3.0F).item<float>(), 3.0F);
  EXPECT_EQ(tensor(true).dtype(), DType::bool_);
}

TEST(Braces, OfDifferentLengthsAreRefused) {
  EXPECT_THROW((void)tensor({{1, 2}, {3}}), ShapeError);
  EXPECT_THROW((void)tensor({{1, 2}, 3}), ShapeError);
  EXPECT_THROW((void)tensor({1, {2, 3}}), ShapeError);
  EXPECT_THROW((void)tensor({{{1}, {2}}, {{3}}}), ShapeError);
  try {
    (void)tensor({1, 2, 3}, {2, 2});
    FAIL();
  } catch (const ShapeError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("tensor: 3 values do not fill the shape (2, 2)"), std::string::npos) << what;
    EXPECT_NE(what.find("first_words_test.cpp"), std::string::npos) << what;
  }
}

// --- containers ---

TEST(Containers, OfNumbersMakeTensors) {
  const std::vector<float> values = {1, 2, 3, 4};
  const double array[] = {1, 2};
  EXPECT_EQ(floats(tensor(values)), values);
  EXPECT_EQ(tensor(values, {2, 2}).shape(), (Shape{2, 2}));
  EXPECT_EQ(tensor(values, {2, -1 + 3}).shape(), (Shape{2, 2}));
  EXPECT_EQ(ints(tensor(std::array{1, 2, 3})), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(floats(tensor(std::span(values))), values);
  EXPECT_EQ(tensor(array).to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(ints(tensor(std::list{3, 4})), (std::vector<int>{3, 4}));
  EXPECT_EQ(ints(tensor(std::views::iota(0, 3))), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(tensor(grid().shape()).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(tensor(values, Device("reference")).device(), Device("reference"));
  EXPECT_THROW((void)tensor(values, {3}), ShapeError);
}

TEST(Containers, OfBools) {
  const std::vector<bool> mask = {true, false, true};
  std::vector<bool> changeable = mask;
  EXPECT_EQ(tensor(mask).dtype(), DType::bool_);
  EXPECT_EQ(tensor(mask).to_vector<bool>(), mask);
  EXPECT_EQ(tensor(changeable).to_vector<bool>(), mask);
  EXPECT_EQ(tensor(std::vector<bool>{true, false}, {2, 1}).shape(), (Shape{2, 1}));
  EXPECT_EQ(tensor(std::array{true, false}).to_vector<bool>(), (std::vector<bool>{true, false}));
}

TEST(Containers, OfContainers) {
  using Rows = std::vector<std::vector<float>>;
  EXPECT_EQ(floats(tensor(Rows{{1, 2}, {3, 4}})), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(tensor(std::vector<std::array<int, 3>>(2)).shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor(std::vector<std::vector<bool>>{{true}, {false}}).shape(), (Shape{2, 1}));
  EXPECT_EQ(tensor(Rows{}).shape(), (Shape{0, 0}));
  const int array[2][3] = {{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(tensor(array).shape(), (Shape{2, 3}));
  EXPECT_THROW((void)tensor(Rows{{1, 2}, {3}}), ShapeError);
}

template <class T>
concept MakesTensor = requires(T value) { tensor(value); };
static_assert(MakesTensor<float> && MakesTensor<std::vector<bool>> && MakesTensor<std::deque<std::array<int, 2>>>);
static_assert(!MakesTensor<char> && !MakesTensor<std::string> && !MakesTensor<const char*> &&
              !MakesTensor<long double>);
static_assert(!MakesTensor<Tensor> && !MakesTensor<Subscript> && !MakesTensor<std::vector<std::string>>);

// --- indices ---

TEST(Indices, FollowEachOther) {
  Tensor x = grid();
  EXPECT_EQ(x[1][0].item<float>(), 4.0F);
  EXPECT_EQ(x[{0}].sum().item<float>(), 6.0F);
  EXPECT_EQ((x + 1)[1][2].item<float>(), 7.0F);
  const Tensor constant = x;
  EXPECT_EQ(constant[1][2].item<float>(), 6.0F);
  EXPECT_THROW((void)x[1][3], IndexError);
}

TEST(Indices, AreContainers) {
  Tensor x = grid();
  const std::vector<int> backwards = {1, 0};
  EXPECT_EQ(floats(x[backwards]), (std::vector<float>{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(floats(x[std::array{1}]), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(floats(x[{0, std::vector<std::size_t>{2, 0}}]), (std::vector<float>{3, 1}));
  EXPECT_EQ(floats(x[{Slice{}, backwards}]), (std::vector<float>{2, 1, 5, 4}));
  EXPECT_EQ(floats(x[std::vector<bool>{false, true}]), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(floats(x[{ellipsis, std::vector<bool>{true, false, true}}]), (std::vector<float>{1, 3, 4, 6}));
  x[backwards] = 0;
  EXPECT_EQ(floats(x), std::vector<float>(6, 0.0F));
  x[std::vector<bool>{false, true}] = 1;
  EXPECT_EQ(floats(x), (std::vector<float>{0, 0, 0, 1, 1, 1}));
  EXPECT_THROW((void)floats(x[std::vector{0, 2}]), IndexError);
  EXPECT_THROW(wait(), IndexError);  // told once; the next test's are its own
}

TEST(Indices, OfContainersGoToTheDeviceOfTheTensor) {
  for (const Device device : devices()) {
    Tensor x = grid().to_device(device);
    EXPECT_EQ(floats(x[std::vector{1}]), (std::vector<float>{4, 5, 6})) << device;
    x[std::vector<bool>{true, false}] = 0;
    EXPECT_EQ(floats(x), (std::vector<float>{0, 0, 0, 4, 5, 6})) << device;
    EXPECT_EQ(x.device(), device);
  }
}

TEST(Indices, OfIndicesAssign) {
  Tensor x = grid();
  const Tensor other = x;
  x[1][0] = 7;
  x[0][1] += 10;
  x[{Slice{}, Slice{1, 3}}][1][-1] %= 4;
  EXPECT_EQ(floats(x), (std::vector<float>{1, 12, 3, 7, 5, 2}));
  x[0][{Slice{0, 2}}] = x[1][0] = 9;
  EXPECT_EQ(floats(x), (std::vector<float>{9, 9, 3, 9, 5, 2}));
  x[std::vector{1, 0}][0] = -1;  // the first of the rows that were taken
  EXPECT_EQ(floats(x), (std::vector<float>{9, 9, 3, -1, -1, -1}));
  x[x > 8][0] = 4;
  EXPECT_EQ(floats(x), (std::vector<float>{4, 9, 3, -1, -1, -1}));
  EXPECT_EQ(floats(other), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const auto row_of = [](Tensor y) { return y[0]; };
  EXPECT_THROW(row_of(x)[1] = 3, ValueError);  // the function's own tensor is gone
}

TEST(Indices, NothingAssignedInBetweenIsLost) {
  Tensor x = grid();
  const auto set_after = [&](Subscript&& part) {
    x[0] = 0;
    std::move(part) = 5;
  };
  set_after(x[0][1]);
  EXPECT_EQ(floats(x), (std::vector<float>{0, 5, 0, 4, 5, 6}));
  const Tensor part = (x[1][0] = 8);
  auto again = (x[1][1] += 1);
  x *= 0;
  EXPECT_EQ(part.item<float>(), 8.0F);
  EXPECT_EQ(again.item<float>(), 6.0F);
}

template <class X>
concept TakesBraces = requires(X& x) { x[0] = {1, 0, 2}; };
template <class X>
concept PartOfPartAssignable = requires(X&& x) { std::forward<X>(x)[0][1] = 3; };
template <class L>
concept Indexes = requires(Tensor& x, L list) { x[list]; };
template <class L>
concept IndexesMoved = requires(Tensor& x, L list) { x[std::move(list)]; };
static_assert(!TakesBraces<Tensor>);  // write tensor({1, 0, 2})
static_assert(PartOfPartAssignable<Tensor&>);
static_assert(!PartOfPartAssignable<Tensor> && !PartOfPartAssignable<const Tensor&>);
static_assert(!PartOfPartAssignable<Subscript&>);  // one with a name is a value
// The list lives no longer than the expression: one with a name would point into braces that are gone.
static_assert(!Indexes<IndexList> && !IndexesMoved<IndexList>);
static_assert(Indexes<std::vector<int>> && Indexes<std::vector<bool>> && Indexes<Index> && Indexes<Slice>);
static_assert(!Indexes<std::vector<float>> && !Indexes<std::string> && !Indexes<double> && !Indexes<const char*>);

// --- rows ---

TEST(Rows, AreLoopedOver) {
  Tensor x = grid();
  std::vector<float> sums;
  for (const Tensor& row : x) sums.push_back(row.sum().item<float>());
  EXPECT_EQ(sums, (std::vector<float>{6, 15}));
  std::vector<float> all;
  for (Tensor row : x * 2) {
    for (auto element : row) all.push_back(element.item<float>());
    row += 100;  // a handle of its own
  }
  EXPECT_EQ(all, (std::vector<float>{2, 4, 6, 8, 10, 12}));
  for (auto element : x[1]) {
    x = zeros({2, 3});  // the loop goes on over the value it began with
    all.push_back(element.item<float>());
  }
  EXPECT_EQ((std::vector<float>(all.begin() + 6, all.end())), (std::vector<float>{4, 5, 6}));
  int rows = 0;
  for ([[maybe_unused]] const Tensor& row : zeros({0, 3})) ++rows;
  EXPECT_EQ(rows, 0);
}

TEST(Rows, OfANumberAreRefused) {
  try {
    for ([[maybe_unused]] const Tensor& row : tensor(1)) FAIL();
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("iteration over a 0-d tensor"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("first_words_test.cpp"), std::string::npos) << error.what();
  }
}

static_assert(std::ranges::input_range<Tensor> && std::ranges::input_range<Subscript>);
// An assignment to a row would be lost.
template <class X>
concept RowsAreReferences = requires(X x, void (*take)(Tensor&)) { take(*x.begin()); };
static_assert(!RowsAreReferences<Tensor&> && !RowsAreReferences<Subscript&>);

// --- printing ---

TEST(Printing, OfWhatDescribesATensor) {
  const Tensor x = grid();
  EXPECT_EQ(printed(x.shape()), "(2, 3)");
  EXPECT_EQ(printed(Shape{2}), "(2,)");
  EXPECT_EQ(printed(Shape{}), "()");
  EXPECT_EQ(printed(x.dtype()), "float32");
  EXPECT_EQ(printed(DType::bool_), "bool");
  EXPECT_EQ(printed(Device("reference")), "reference:0");
  EXPECT_EQ(printed(sum(x).item_scalar()), "21.0");
}

// --- attributes ---

TEST(Attributes, AreThoseOfPython) {
  Tensor x = grid();
  EXPECT_EQ(x.T().shape(), (Shape{3, 2}));
  EXPECT_EQ(floats(x.T()), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(zeros({2, 3, 4}).T().shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(zeros({2, 3, 4}).mT().shape(), (Shape{2, 4, 3}));
  EXPECT_THROW((void)zeros(3).mT(), ShapeError);
  EXPECT_EQ(x.ndim(), 2);
  EXPECT_EQ(x.itemsize(), 4U);
  EXPECT_EQ(x.nbytes(), 24U);
  EXPECT_EQ(x.real().id(), x.id());
  EXPECT_EQ(floats(x.imag()), std::vector<float>(6, 0.0F));
  const Tensor z = tensor({std::complex<float>(1, 2)});
  EXPECT_EQ(z.real().item<float>(), 1.0F);
  EXPECT_EQ(z.imag().item<float>(), 2.0F);
  EXPECT_EQ(z.conjugate().imag().item<float>(), -2.0F);
  EXPECT_EQ(x[{0}].T().shape(), Shape{3});
  EXPECT_EQ(x[0].ndim(), 1);
  EXPECT_EQ(x[0].nbytes(), 12U);
  EXPECT_EQ(floats(grad([](const Tensor& y) { return sum(y * y.detach()); })(x[0])), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(floats(x.fill(2)), std::vector<float>(6, 2.0F));
}

TEST(Attributes, ReshapeAndViewTakeExtentsOneByOne) {
  Tensor x = grid();
  EXPECT_EQ(x.reshape(3, 2).shape(), (Shape{3, 2}));
  EXPECT_EQ(x.view(-1, 3).shape(), (Shape{2, 3}));
  EXPECT_EQ(x.view(1, 2, 1, 3, 1, 1).shape(), (Shape{1, 2, 1, 3, 1, 1}));
  EXPECT_EQ(x[0].reshape(-1, 1).shape(), (Shape{3, 1}));
  EXPECT_EQ(x[0].view(3, 1).shape(), (Shape{3, 1}));
  EXPECT_EQ(x.reshape(6, true).shape(), Shape{6});  // a bool is `copy`
  EXPECT_THROW((void)x.reshape(std::size_t(-1), 3), Error);
}

TEST(Attributes, ATensorIsARangeOfItsRows) {
  static_assert(std::ranges::input_range<Tensor&> && !std::ranges::sized_range<Tensor&>);
  const Tensor x = grid();
  EXPECT_EQ(std::ranges::distance(x), 2);
}

TEST(Attributes, PositionsInAShapeMayCountFromTheEnd) {
  Shape shape = grid().shape();
  EXPECT_EQ(shape[-1], 3);
  EXPECT_EQ(shape[-2], shape[0]);
  shape[-1] = 7;
  EXPECT_EQ(shape, (Shape{2, 7}));
  EXPECT_THROW((void)shape[2], IndexError);
  EXPECT_THROW((void)shape[-3], IndexError);
  EXPECT_THROW((void)Shape{}[0], IndexError);
}

TEST(Attributes, AComplexNumberIsReadWithBothParts) {
  const Tensor z = tensor({std::complex<float>(1, 2)});
  EXPECT_EQ(z.item<std::complex<double>>(), std::complex<double>(1, 2));
  EXPECT_TRUE(z.item<bool>());
  EXPECT_THROW((void)z.item<double>(), DTypeError);
  EXPECT_THROW((void)z.item<float16>(), DTypeError);
}

TEST(Attributes, UnaryPlusGivesTheSame) {
  Tensor x = grid();
  EXPECT_EQ(floats(+x), floats(x));
  EXPECT_EQ(floats(+x[1]), (std::vector<float>{4, 5, 6}));
  EXPECT_THROW((void)+tensor({true}), DTypeError);
}

TEST(Attributes, SubscriptsGoWhereTensorsGo) {
  Tensor x = grid();
  eval(x[{0}]);
  const auto [value, grads] = value_and_grad([](const Tensor& y) { return sum(y * y); })(x[{0}]);
  EXPECT_EQ(value.item<float>(), 14.0F);
  EXPECT_EQ(floats(grads), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(concat({x[0], x[1]}).shape(), Shape{6});
}

}  // namespace
}  // namespace lento
