// The loops over panels: those for shorter vectors give the same bits as those for long ones, and what is packed is
// what lay there, whatever the strides.
#include "backends/cpu/native/panels.h"
#include "against_reference.h"
#include "backends/cpu/processors.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace lento::cpu {
namespace {

constexpr std::int64_t kTerms = 37;

/// Strides of lines and of terms.
struct Lie {
  std::int64_t line;
  std::int64_t term;
};

class BothLengths : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !has_wide_vectors()) GTEST_SKIP() << "this processor has no vectors of 64 bytes";
  }
};
INSTANTIATE_TEST_SUITE_P(Panels, BothLengths, testing::Bool(),
                         [](const auto& info) { return info.param ? "wide" : "narrow"; });

TEST_P(BothLengths, HoldEveryElementTermByTerm) {
  const PanelLoops& loops = panel_loops(GetParam());
  const auto elements = random_elements<float>(40'000, 1);
  for (const bool columns : {false, true}) {
    const std::int64_t width = columns ? kPanelColumns : kPanelRows;
    for (const Lie lie : {Lie{1, 50}, Lie{50, 1}, Lie{1, width}, Lie{3, 200}, Lie{-50, 1}, Lie{1, -60}, Lie{0, 1}}) {
      for (std::int64_t lines = 1; lines <= width; ++lines) {
        const PanelSource from{elements.data() + 20'000, lines, kTerms, lie.line, lie.term};
        std::vector<float> to(static_cast<std::size_t>(width * kTerms));
        (columns ? loops.pack_columns : loops.pack_rows)(from, to.data());
        int wrong = 0;
        for (std::int64_t term = 0; term < kTerms; ++term) {
          for (std::int64_t line = 0; line < lines; ++line)
            wrong += to[static_cast<std::size_t>(term * width + line)] != from.data[line * lie.line + term * lie.term];
        }
        EXPECT_EQ(wrong, 0) << lines << " lines of " << width << ", " << lie.line << " by " << lie.term;
      }
    }
  }
}

TEST_P(BothLengths, AnElementIsTheSumOfItsTermsInOrder) {
  const PanelLoops& loops = panel_loops(GetParam());
  const auto a = random_elements<float>(kPanelRows * kTerms, 2);
  const auto b = random_elements<float>(kPanelColumns * kTerms, 3);
  const auto before = random_elements<float>(kPanelRows * kPanelColumns, 4);
  for (std::int64_t rows = 1; rows <= kPanelRows; ++rows) {
    for (std::int64_t columns = 1; columns <= kPanelColumns; ++columns) {
      for (const bool in_rows : {false, true}) {
        for (const bool added : {false, true}) {
          std::vector<float> c = before;
          loops.multiply({.rows = rows,
                          .columns = columns,
                          .terms = kTerms,
                          .a = a.data(),
                          .a_row = in_rows ? kTerms : 1,
                          .a_term = in_rows ? 1 : kPanelRows,
                          .b = b.data(),
                          .b_term = kPanelColumns,
                          .c = c.data(),
                          .c_row = kPanelColumns,
                          .added = added});
          int wrong = 0;
          for (std::int64_t i = 0; i < kPanelRows; ++i) {
            for (std::int64_t j = 0; j < kPanelColumns; ++j) {
              const auto at = static_cast<std::size_t>(i * kPanelColumns + j);
              float expected = before[at];
              if (i < rows && j < columns) {
                float sum = 0;
                for (std::int64_t term = 0; term < kTerms; ++term) {
                  const std::int64_t left = in_rows ? i * kTerms + term : term * kPanelRows + i;
                  sum = std::fma(a[static_cast<std::size_t>(left)],
                                 b[static_cast<std::size_t>(term * kPanelColumns + j)], sum);
                }
                expected = added ? expected + sum : sum;
              }
              wrong += std::bit_cast<std::uint32_t>(expected) != std::bit_cast<std::uint32_t>(c[at]) ? 1 : 0;
            }
          }
          EXPECT_EQ(wrong, 0) << rows << " rows, " << columns << " columns";
        }
      }
    }
  }
}

}  // namespace
}  // namespace lento::cpu
