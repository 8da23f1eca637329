// Random bits: the published known answers of Philox4x32-10, and which word of which block an element is.
#include "backends/reference/philox.h"
#include "ir/attrs_random.gen.h"
#include "ir/infer_random.gen.h"
#include "reference/kernels_random.gen.h"
#include "reference/owned.h"

#include <gtest/gtest.h>

namespace lento::testing {
namespace {

using Words = std::array<std::uint32_t, 4>;
using reference::philox4x32_10;
using reference::philox_block;

Owned random_bits(const Shape& shape, std::uint64_t key, std::uint64_t counter, DType dtype) {
  RandomBitsAttrs attrs{shape, dtype};
  Owned out(infer_random_bits(attrs));
  reference::random_bits(out.array(), Scalar(key), Scalar(counter), attrs);
  return out;
}

TEST(Philox, KnownAnswersOfRandom123) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomBits, Uint32TakesWordAfterWord) {
  const std::uint64_t key = 0x0123456789abcdef;
  const Owned bits = random_bits({3, 5}, key, 7, DType::uint32);
  for (std::int64_t i = 0; i < 15; ++i) {
    const Words block = philox_block(key, 7 + static_cast<std::uint64_t>(i / 4));
    EXPECT_EQ(bits.at<std::uint32_t>(i), block[static_cast<std::size_t>(i % 4)]);
  }
}

TEST(RandomBits, Uint64TakesTwoWordsLowHalfFirst) {
  EXPECT_EQ(random_bits({3}, 0, 0, DType::uint64).values<std::uint64_t>()[0], 0xe169c58d6627e8d5U);
  EXPECT_EQ(random_bits({3}, 0, 0, DType::uint64).values<std::uint64_t>()[1], 0x9b00dbd8bc57ac4cU);
  const Words second = philox_block(0, 1);
  EXPECT_EQ(random_bits({3}, 0, 0, DType::uint64).values<std::uint64_t>()[2],
            std::uint64_t{second[1]} << 32 | second[0]);
}

TEST(RandomBits, BlockNumbersUseAllBitsAndWrap) {
  const std::uint64_t last = ~std::uint64_t{0};
  const auto bits = random_bits({8}, 5, last, DType::uint32).values<std::uint32_t>();
  EXPECT_EQ((Words{bits[0], bits[1], bits[2], bits[3]}), philox4x32_10({0xffffffff, 0xffffffff, 0, 0}, {5, 0}));
  EXPECT_EQ((Words{bits[4], bits[5], bits[6], bits[7]}), philox4x32_10({0, 0, 0, 0}, {5, 0}));
}

TEST(RandomBits, RefusesOtherDtypesAndShapes) {
  EXPECT_EQ((message_of<DTypeError>([] { random_bits({2}, 0, 0, DType::int32); })),
            "random bits are uint32 or uint64, not int32");
  EXPECT_NE((message_of<ShapeError>([] { random_bits({-2}, 0, 0, DType::uint32); })), "");
  EXPECT_EQ(random_bits({0, 3}, 0, 0, DType::uint32).array().size(), 0);
}

}  // namespace
}  // namespace lento::testing
