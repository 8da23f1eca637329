// The print options of the process, and tensors as Python's str() and repr() show them.
#include <lento/eval.h>
#include <lento/print.h>
#include <lento/tensor.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace lento {
namespace {

class PrintOptionsTest : public testing::Test {
 protected:
  void TearDown() override { set_printoptions({}); }
};

std::string printed(const Tensor& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

Tensor counting(std::int64_t count) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return tensor(values);
}

TEST_F(PrintOptionsTest, StreamsObeyThem) {
  const Tensor x = tensor({1.0F / 3, 2.0F / 3});
  EXPECT_EQ(printed(x), "[0.33333334 0.6666667 ]");
  set_printoptions({.precision = 2});
  EXPECT_EQ(printed(x), "[0.33 0.67]");
  EXPECT_EQ(x.to_string(), "[0.33 0.67]");
  EXPECT_EQ(array_repr(x), "tensor([0.33, 0.67], dtype=float32)");
}

TEST_F(PrintOptionsTest, OneIsChangedByWayOfWhatThereIs) {
  PrintOptions options = get_printoptions();
  options.threshold = 5;
  set_printoptions(options);
  options = get_printoptions();
  options.edgeitems = 1;
  set_printoptions(options);
  EXPECT_EQ(get_printoptions().threshold, 5);
  EXPECT_EQ(get_printoptions().precision, PrintOptions{}.precision);
  EXPECT_EQ(printed(counting(9)), "[0 ... 8]");
}

TEST_F(PrintOptionsTest, TheyAreThoseOfAllThreads) {
  std::thread([] { set_printoptions({.linewidth = 10}); }).join();
  EXPECT_EQ(printed(counting(6)), "[0 1 2 3\n 4 5]");
}

TEST_F(PrintOptionsTest, WhatBelongsToOneCallIsNotKept) {
  {
    const std::string separator = "; ";
    set_printoptions({.separator = separator, .prefix_width = 7});
  }
  EXPECT_EQ(get_printoptions().separator, " ");
  EXPECT_EQ(get_printoptions().prefix_width, 0);
}

TEST_F(PrintOptionsTest, NonsenseIsRefusedAndChangesNothing) {
  for (const PrintOptions& options :
       {PrintOptions{.precision = -1}, PrintOptions{.threshold = -1}, PrintOptions{.edgeitems = 0},
        PrintOptions{.linewidth = 0}, PrintOptions{.precision = 3, .linewidth = -1}}) {
    EXPECT_THROW(set_printoptions(options), ValueError);
  }
  EXPECT_EQ(get_printoptions().precision, PrintOptions{}.precision);
  try {
    set_printoptions({.precision = -1});
  } catch (const ValueError& error) {
    EXPECT_NE(
        std::string(error.what()).find("set_printoptions: precision must be at least 0, not -1, at print_options"),
        std::string::npos)
        << error.what();
  }
}

TEST_F(PrintOptionsTest, ReprNamesWhatTheElementsDoNotTell) {
  EXPECT_EQ(array_repr(tensor({1, 2})), "tensor([1, 2], dtype=int32)");
  EXPECT_EQ(array_repr(counting(2)), "tensor([0, 1])");
  EXPECT_EQ(array_repr(scalar_tensor(0.5)), "tensor(0.5, dtype=float64)");
  EXPECT_EQ(array_str(counting(2)), "[0 1]");
}

TEST_F(PrintOptionsTest, ANumberHasAllDigits) {
  EXPECT_EQ(printed(scalar_tensor(3.141592653589793)), "3.141592653589793");
  EXPECT_EQ(array_str(scalar_tensor(3.141592653589793)), "3.141592653589793");
}

TEST_F(PrintOptionsTest, AValueThatMayNotBeComputedIsPending) {
  const Tensor x = counting(2) + 1;
  const Options before = options();
  Options strict = before;
  strict.sync = SyncMode::error;
  set_options(strict);
  EXPECT_EQ(array_str(x), "<pending>");
  EXPECT_EQ(array_repr(x), "tensor(<pending>, shape=(2,), dtype=int64)");
  set_options(before);
  EXPECT_EQ(array_str(x), "[1 2]");
}

TEST_F(PrintOptionsTest, AValueThatFailedSaysWhy) {
  const Tensor x = counting(3)[{tensor({7})}];
  EXPECT_THROW(x.to_string(), IndexError);
  EXPECT_TRUE(array_str(x).starts_with("<failed: ")) << array_str(x);
  EXPECT_TRUE(array_repr(x).ends_with(">, shape=(1,), dtype=int64)")) << array_repr(x);
}

}  // namespace
}  // namespace lento
