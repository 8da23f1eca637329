// What NumPy programs rely on, in C++: numbers alone, 0 and 1 in masks, insert and delete_.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <vector>

namespace lento {
namespace {

TEST(NumpyManners, FunctionsOfTwoOperandsTakeTwoNumbers) {
  EXPECT_EQ(maximum(0, 1).to_vector<std::int64_t>(), std::vector<std::int64_t>{1});
  EXPECT_EQ(fmax(1, 2.5).dtype(), DType::float32);
  EXPECT_EQ(float_power(2, 3).to_vector<double>(), std::vector<double>{8});
  EXPECT_TRUE(isclose(1, 1).item<bool>());
}

TEST(NumpyManners, MasksTakeZeroAndOne) {
  Tensor mask = zeros({3}, DType::bool_);
  mask[1] = 1;
  mask[2] = true;
  mask[2] = 0;
  EXPECT_FALSE(mask[0].item<bool>());
  EXPECT_TRUE(mask[1].item<bool>());
  EXPECT_FALSE(mask[2].item<bool>());
  EXPECT_THROW((mask[0] = 2), DTypeError);
}

TEST(NumpyManners, InsertAndDelete) {
  const Tensor x = tensor({1.0F, 2.0F, 3.0F});
  EXPECT_EQ(insert(x, 1, 9).to_vector<float>(), (std::vector<float>{1, 9, 2, 3}));
  EXPECT_EQ(insert(x, tensor({3, 0}), tensor({8.0F, 9.0F})).to_vector<float>(), (std::vector<float>{9, 1, 2, 3, 8}));
  EXPECT_EQ(delete_(x, -1).to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(delete_(x, tensor({0, 0, 2})).to_vector<float>(), std::vector<float>{2});
  EXPECT_THROW(delete_(x, 3), IndexError);
}

}  // namespace
}  // namespace lento
