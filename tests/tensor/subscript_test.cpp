// x[{...}]: a value that stays what it is, or something to assign to in the expression that has the brackets; never a
// reference to what is gone.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace lento {
namespace {

std::vector<float> floats(const Tensor& x) { return x.to_vector<float>(); }

Tensor grid() { return tensor({{1.0F, 2.0F, 3.0F}, {4.0F, 5.0F, 6.0F}}); }

const std::vector<float> kFirstRow = {1, 2, 3};

// --- what does not compile ---

template <class X, class V>
concept Assignable = requires(X&& x, V&& value) { std::forward<X>(x) = std::forward<V>(value); };
template <class X, class V>
concept PartAssignable = requires(X&& x, V&& value) { std::forward<X>(x)[{0}] = std::forward<V>(value); };
template <class X>
concept PartAddable = requires(X&& x) { std::forward<X>(x)[{0}] += 1; };

static_assert(PartAssignable<Tensor&, float> && PartAssignable<Tensor&, Tensor> && PartAssignable<Tensor&, Subscript>);
static_assert(PartAddable<Tensor&>);
// It would be lost: a temporary, a constant.
static_assert(!PartAssignable<Tensor, float> && !PartAssignable<Tensor, Tensor> && !PartAssignable<Tensor, Subscript>);
static_assert(!PartAssignable<const Tensor&, float> && !PartAssignable<const Tensor&, Tensor>);
static_assert(!PartAddable<Tensor> && !PartAddable<const Tensor&>);
static_assert(Assignable<Tensor&, Tensor> && !Assignable<Tensor, Tensor>);
// A subscript with a name is a value that nothing is assigned to.
static_assert(!Assignable<Subscript&, float> && !Assignable<Subscript&, Tensor> && !Assignable<Subscript&, Subscript>);
static_assert(!std::swappable<Subscript>);
static_assert(std::convertible_to<Subscript, Tensor> && std::copy_constructible<Subscript>);
static_assert(std::same_as<decltype(std::declval<Tensor>()[{0}]), Tensor>);

// --- as a value ---

TEST(Subscripts, OfATemporaryIsAValue) {
  Tensor x = grid();
  auto p = (x + 1.0F)[{0}];
  std::ostringstream out;
  out << p << " " << (x * 2.0F)[{1}][{0}];
  EXPECT_EQ(out.str(), "[2. 3. 4.] 8.0");
}

TEST(Subscripts, T6_KeepTheirValueWhenTheTensorChanges) {
  Tensor x = grid();
  auto row = x[{0}];
  const auto& same_row = x[{0}];
  auto&& this_too = x[{0}];
  const Tensor& and_this = x[{0}];
  x += 100.0F;
  x[{0}] = 7.0F;
  EXPECT_EQ(floats(row), kFirstRow);
  EXPECT_EQ(floats(same_row), kFirstRow);
  EXPECT_EQ(floats(this_too), kFirstRow);
  EXPECT_EQ(floats(and_this), kFirstRow);
  EXPECT_EQ(floats(x), (std::vector<float>{7, 7, 7, 104, 105, 106}));
}

TEST(Subscripts, OutliveTheTensorInEveryWay) {
  const auto from_function = [](Tensor x) { return x[{0}]; };
  auto x = std::make_unique<Tensor>(grid());
  auto row = (*x)[{0}];
  auto given = from_function(*x);
  auto by_lambda = [row = (*x)[{0}]] { return row; };
  std::vector<Tensor> tensors{(*x)[{0}], (*x)[{1}]};
  tensors.push_back((*x)[{0}]);
  std::vector subscripts{(*x)[{0}], (*x)[{1}]};
  subscripts.push_back((*x)[{0}]);
  const auto [first, second] = std::tuple{(*x)[{0}], 2};
  const std::optional<Tensor> perhaps = (*x)[{0}];
  const bool yes = second == 2;
  auto either = yes ? (*x)[{0}] : (*x)[{1}];
  auto either_kind = yes ? (*x)[{0}] : tensors[1];
  auto moved = std::move(row);
  const auto copied = moved;
  x.reset();
  for (const Tensor& value :
       {Tensor(given), Tensor(by_lambda()), tensors[0], tensors[2], Tensor(subscripts[0]), Tensor(subscripts[2]),
        Tensor(first), *perhaps, Tensor(either), either_kind, Tensor(moved), Tensor(copied)}) {
    EXPECT_EQ(floats(value), kFirstRow);
  }
  EXPECT_EQ(floats(tensors[1]), (std::vector<float>{4, 5, 6}));
}

TEST(Subscripts, AStoredOneIsRefusedAsATarget) {
  const auto row_of = [](Tensor x) { return x[{0}]; };
  Tensor x = grid();
  EXPECT_THROW(row_of(x) = 3.0F, ValueError);  // the function's own x is gone
  auto row = x[{0}];
  try {
    std::move(row) += 1.0F;
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("assign to x[{...}] itself"), std::string::npos) << error.what();
  }
  EXPECT_EQ(floats(row), kFirstRow);
  EXPECT_EQ(floats(x), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Subscripts, AreReadLikeTensors) {
  Tensor x = grid();
  EXPECT_EQ((x[{1, 2}].item<int>()), 6);
  EXPECT_EQ(x[{1}].to_vector<float>(), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ((x[{Slice{}, 1}].shape()), Shape{2});
  EXPECT_EQ(x[{0}].rank(), 1);
  EXPECT_EQ(x[{0}].size(), 3);
  EXPECT_EQ(x[{0}].dtype(), DType::float32);
  EXPECT_EQ(x[{0}].device(), x.device());
  EXPECT_EQ(x[{0}].to_string(), "[1. 2. 3.]");
  EXPECT_EQ(x[{0}].sum().item<float>(), 6.0F);
  EXPECT_EQ(floats(x[{0}].add(x[{1}]).reshape({3, 1})), (std::vector<float>{5, 7, 9}));
  EXPECT_EQ(floats(x[{1}].slice(0, 1, {})), (std::vector<float>{5, 6}));
  EXPECT_EQ(floats(-x[{0}]), (std::vector<float>{-1, -2, -3}));
  EXPECT_EQ(floats(exp(x[{0}] * 0.0F)), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(floats(grad([](const Tensor& y) { return sum(y * y); })(x[{0}])), (std::vector<float>{2, 4, 6}));
}

TEST(Subscripts, AreEvaluatedTogetherWithTensors) {
  Tensor x = grid();
  const Tensor y = x * 2.0F;
  auto row = x[{0}];
  eval(row, y, x[{1}]);
  eval(y, x[{0}]);
  EXPECT_FALSE(row.is_pending());
  EXPECT_FALSE(y.is_pending());
}

TEST(Subscripts, OfSubscriptsAreValues) {
  Tensor x = grid();
  EXPECT_EQ((x[{1}][{0}].item<float>()), 4.0F);
  auto deep = x[{Slice{}, Slice{0, 2}}][{1}][{-1}];
  x *= 0.0F;
  EXPECT_EQ(deep.item<float>(), 5.0F);
}

TEST(Subscripts, OneIndexNeedsNoBracesAndMayBeASubscript) {
  Tensor x = grid();
  Tensor positions = tensor({1, 0});
  const Index last(-1);
  EXPECT_EQ(floats(x[0]), kFirstRow);
  EXPECT_EQ(floats(x[last]), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ((x[newaxis].shape()), (Shape{1, 2, 3}));
  EXPECT_EQ(floats(x[positions]), (std::vector<float>{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(floats(x[positions[{0}]]), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ((x[{positions[{1}], positions[{0}]}].item<float>()), 2.0F);
  x[1] = 0.0F;
  EXPECT_EQ(floats(x), (std::vector<float>{1, 2, 3, 0, 0, 0}));
}

TEST(Subscripts, E10_AStoredOneIsReadByManyThreads) {
  Tensor x = grid();
  for (int round = 0; round < 50; ++round) {
    const auto row = x[{0}];
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) readers.emplace_back([&row] { EXPECT_EQ(floats(row), kFirstRow); });
    for (std::thread& reader : readers) reader.join();
  }
}

// --- errors ---

TEST(Subscripts, T2_AWrongIndexIsAnErrorOfTheBrackets) {
  Tensor x = grid();
  const auto refused = [&](auto&& subscript, const char* text) {
    try {
      subscript();
      ADD_FAILURE() << text << ": accepted";
    } catch (const IndexError& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find(text), std::string::npos) << what;
      EXPECT_NE(what.find("subscript_test.cpp"), std::string::npos) << what;
    }
  };
  refused([&] { auto part = x[{2}]; }, "index 2 is out of range for axis 0");
  refused([&] { auto part = x[{ellipsis, -4}]; }, "index -4 is out of range for axis 1");
  refused([&] { auto part = x[{0, 0, 0}]; }, "too many indices");
  refused([&] { auto part = x[{ellipsis, ellipsis}]; }, "only one ellipsis");
  refused([&] { auto part = x[{tensor({true, false, true})}]; }, "the mask bool(3,) does not match");
  refused([&] { auto part = x[{tensor({0.5F})}]; }, "must be integer or bool");
  refused([&] { x[{2}] = 1.0F; }, "index 2 is out of range");
  refused([&] { auto part = x[{~0ULL}]; }, "out of range for axis 0");  // not -1
  EXPECT_THROW((void)(x[{Slice{0, 1, 0}}]), ValueError);
  EXPECT_EQ(floats(x), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Subscripts, E7_APartThatCannotBeComputedFailsWhenItIsRead) {
  Tensor x = grid();
  // The mask's value is an error, and the number of its true elements is needed for the part.
  const Tensor mask = take(tensor({true, false}), tensor({0, 7}), 0);
  auto part = x[{mask}];
  for (int i = 0; i < 2; ++i) EXPECT_THROW((void)floats(part), IndexError);
  const auto copied = part;
  EXPECT_THROW((void)floats(copied), IndexError);
  EXPECT_THROW(wait(), IndexError);  // told once; the next test's are its own
}

// --- assignment ---

TEST(Subscripts, T6_EveryAssignmentChangesTheTensor) {
  Tensor x = grid();
  const Tensor other = x;
  x[{0}] = x[{1}] = 2.0F;
  EXPECT_EQ(floats(x), (std::vector<float>{2, 2, 2, 2, 2, 2}));
  x[{0, 0}] += 1.0F;
  x[{0, 1}] -= 1.0F;
  x[{0, 2}] *= 4.0F;
  x[{1, 0}] /= 4.0F;
  x[{1, 1}] %= 2.0F;
  EXPECT_EQ(floats(x), (std::vector<float>{3, 1, 8, 0.5F, 0, 2}));
  EXPECT_EQ(floats(other), (std::vector<float>{1, 2, 3, 4, 5, 6}));

  Tensor bits = tensor({12, 12, 12, 12, 12});
  bits[{0}] &= 4;
  bits[{1}] |= 3;
  bits[{2}] ^= 5;
  bits[{3}] <<= 2;
  bits[{4}] >>= 2;
  EXPECT_EQ(bits.to_vector<int>(), (std::vector<int>{4, 15, 9, 48, 3}));
}

TEST(Subscripts, AnAssignmentGivesTheNewPart) {
  Tensor x = grid();
  const Tensor row = (x[{0}] = 5.0F);
  auto next = (x[{1}] += 1.0F);
  x += 100.0F;
  EXPECT_EQ(floats(row), (std::vector<float>{5, 5, 5}));
  EXPECT_EQ(floats(next), (std::vector<float>{5, 6, 7}));
}

TEST(Subscripts, TheTargetMayBeChosenOrStandAnywhere) {
  Tensor x = grid();
  Tensor y = grid();
  const bool first = x.defined();
  (first ? x : y)[{0, 0}] = 10.0F;
  (first ? x[{0, 1}] : y[{0, 1}]) = 20.0F;
  std::vector<Tensor> tensors{x, y};
  tensors[1][{1}] = 0.0F;
  const auto set = [](Subscript&& part, float value) { std::move(part) = value; };
  set(x[{0, 2}], 30.0F);
  EXPECT_EQ(floats(x), (std::vector<float>{10, 20, 30, 4, 5, 6}));
  EXPECT_EQ(floats(y), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(floats(tensors[1]), (std::vector<float>{1, 2, 3, 0, 0, 0}));
}

TEST(Subscripts, RowsAreSwappedThroughValues) {
  Tensor x = grid();
  const auto first = x[{0}];
  x[{0}] = x[{1}];
  x[{1}] = first;
  EXPECT_EQ(floats(x), (std::vector<float>{4, 5, 6, 1, 2, 3}));
}

TEST(Subscripts, T1_AnAssignmentRecordsNoRead) {
  Tensor x = grid();
  const std::uint64_t read = metrics::counter("op.strided_slice");
  x[{0}] = 1.0F;
  EXPECT_EQ(metrics::counter("op.strided_slice"), read);
  auto row = x[{0}];
  EXPECT_EQ(metrics::counter("op.strided_slice"), read + 1);
}

TEST(Subscripts, T7_KnowTheirLine) {
  Tensor x = grid();
  auto row = x[{0}];  // line of the part
  const int line = __LINE__ - 1;
  const std::string text = dump({row});
  EXPECT_NE(text.find("subscript_test.cpp:" + std::to_string(line)), std::string::npos) << text;
  x[{0}] += 1.0F;
  const std::string changed = dump({x});
  EXPECT_EQ(changed.find("operators.cpp"), std::string::npos) << changed;
}

}  // namespace
}  // namespace lento
