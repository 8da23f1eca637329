// Sorting, top-k, searching and finding on the CPU device against the reference backend: every dtype, both directions,
// every axis, lines short enough to be compared and long enough for several threads.
#include "ir/attrs_sort.gen.h"
#include "ir/op_sort.gen.h"
#include "native_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace lento::test {
namespace {

const std::pair<Shape, std::int64_t> kLines[] = {
    {{0}, 0},         {{1}, 0},      {{7}, 0},        {{160}, 0},        {{161}, 0},
    {{3000}, 0},      {{3, 0}, 0},   {{0, 3}, 0},     {{5, 33}, 1},      {{33, 5}, 0},
    {{4, 200, 3}, 1}, {{70, 40}, 1}, {{40, 70}, 0},   {{2, 300, 37}, 1}, {{400, 64}, 1},
    {{64, 400}, 0},   {{140000}, 0}, {{3, 66000}, 1}, {{66000, 3}, 0},   {{20, 2000}, 1},
};

class SortsEveryDType : public testing::TestWithParam<int> {
 protected:
  static DType dtype() { return static_cast<DType>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Native, SortsEveryDType, testing::Range(0, kDTypeCount),
                         [](const auto& info) { return std::string(name(static_cast<DType>(info.param))); });

TEST_P(SortsEveryDType, ValuesAndPositionsAreTheReferences) {
  std::mt19937_64 random(1);
  for (const auto& [shape, axis] : kLines) {
    if (is_complex(dtype()) && element_count(shape) > 10000) continue;  // left to the reference kernel
    const Meta x{dtype(), shape};
    const Bytes elements = random_elements(x, random);
    for (const bool descending : {false, true}) {
      expect_like_reference(graph_of(op::sort_values, intern(SortValuesAttrs{axis, descending}), {x}), {elements});
      expect_like_reference(graph_of(op::sort_indices, intern(SortIndicesAttrs{axis, descending}), {x}), {elements});
    }
  }
}

TEST_P(SortsEveryDType, LinesSideBySideAreTheReferences) {
  if (is_complex(dtype())) return;  // has no lanes
  std::mt19937_64 random(6);
  for (const std::int64_t extent : {1, 2, 3, 31, 100, 512, 1024}) {
    for (const std::int64_t lines : {8, 19}) {
      for (const auto& [shape, axis] : {std::pair<Shape, std::int64_t>{{lines, extent}, 1}, {{2, extent, lines}, 1}}) {
        const Meta x{dtype(), shape};
        // Special elements in all tiles, and in none.
        for (const bool special : {false, true}) {
          const Bytes elements = special ? random_elements(x, random) : plain_elements(x, random);
          const bool descending = random() % 2 == 0;
          expect_like_reference(graph_of(op::sort_values, intern(SortValuesAttrs{axis, descending}), {x}), {elements});
          expect_like_reference(graph_of(op::sort_indices, intern(SortIndicesAttrs{axis, descending}), {x}),
                                {elements});
        }
      }
    }
  }
}

TEST_P(SortsEveryDType, BytesThatAllElementsShareAreLeftOut) {
  // Constant lines, and lines whose elements differ in one byte of their keys only.
  const Meta x{dtype(), {70000}};
  const std::size_t size = size_of(dtype());
  if (is_complex(dtype()) || dtype() == DType::bool_) return;  // complex: no bytes; bool: only two values
  std::mt19937_64 random(2);
  for (std::size_t byte = 0; byte <= size; ++byte) {
    Bytes elements(70000 * size, std::byte{0x21});
    for (std::size_t i = 0; i < 70000 && byte < size; ++i) {
      elements[i * size + byte] = static_cast<std::byte>(random() % 96);
    }
    expect_like_reference(graph_of(op::sort_values, intern(SortValuesAttrs{0, false}), {x}), {elements});
    expect_like_reference(graph_of(op::sort_indices, intern(SortIndicesAttrs{0, true}), {x}), {elements});
  }
}

TEST_P(SortsEveryDType, TopKIsTheReferences) {
  if (is_complex(dtype())) return;  // has no top_k
  std::mt19937_64 random(3);
  const std::pair<Shape, std::int64_t> lines[] = {{{1}, 0},       {{100}, 0},      {{40, 300}, 1},
                                                  {{300, 40}, 0}, {{3, 50, 4}, 1}, {{600000}, 0}};
  for (const auto& [shape, axis] : lines) {
    const Meta x{dtype(), shape};
    const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
    // The reference sorts whole lines, which takes seconds for all dtypes.
    if (extent > 1000 && dtype() != DType::float32 && dtype() != DType::int16) continue;
    const Bytes elements = random_elements(x, random);
    for (const std::int64_t k :
         {std::int64_t{0}, std::int64_t{1}, std::min<std::int64_t>(17, extent), std::min<std::int64_t>(extent, 2000)}) {
      for (const bool largest : {false, true}) {
        expect_like_reference(graph_of(op::top_k, intern(TopKAttrs{k, axis, largest}), {x}), {elements});
      }
    }
  }
}

TEST_P(SortsEveryDType, PositionsInASortedTensorAreTheReferences) {
  if (is_complex(dtype())) return;  // has no search_sorted
  std::mt19937_64 random(4);
  for (const std::int64_t size : {0, 1, 2, 3, 100, 1023, 1024, 1025}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{5000}, Shape{0}, Shape{3, 7}}) {
      // Also what is not sorted gives the same answers: the steps of the search are the same.
      const Meta sorted{dtype(), {size}}, values{dtype(), shape};
      for (const bool right : {false, true}) {
        expect_like_reference(graph_of(op::search_sorted, intern(SearchSortedAttrs{right}), {sorted, values}),
                              {random_elements(sorted, random), random_elements(values, random)});
      }
    }
  }
}

TEST_P(SortsEveryDType, NonzeroElementsAreFound) {
  std::mt19937_64 random(5);
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{100}, Shape{300, 301}}) {
    const Meta x{dtype(), shape};
    Bytes elements = random_elements(x, random);
    const auto count = static_cast<std::size_t>(element_count(shape));
    std::int64_t nonzero = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::byte* at = elements.data() + i * size_of(dtype());
      if (random() % 2 == 0) Scalar(0).write(dtype(), elements.data() + i * size_of(dtype()));
      const Scalar element = Scalar::read(dtype(), at);
      nonzero += element.to<bool>() ? 1 : 0;
    }
    expect_like_reference(graph_of(op::flat_nonzero, intern(FlatNonzeroAttrs{nonzero}), {x}), {elements});
    const std::int64_t wrong = nonzero == 0 ? element_count(shape) : nonzero - 1;
    expect_like_reference(graph_of(op::flat_nonzero, intern(FlatNonzeroAttrs{wrong}), {x}), {elements});
  }
}

}  // namespace
}  // namespace lento::test
