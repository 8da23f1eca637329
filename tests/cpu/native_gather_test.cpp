// Gathers and scatters on the CPU device against the reference backend: every dtype, index dtype and mode, indices that
// occur many times, and indices that are out of range.
#include "ir/attrs_gather.gen.h"
#include "ir/attrs_scatter.gen.h"
#include "ir/op_gather.gen.h"
#include "ir/op_scatter.gen.h"
#include "native_support.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lento::test {
namespace {

constexpr DType kIndexDTypes[] = {DType::int8,  DType::int16,  DType::int32,  DType::int64,
                                  DType::uint8, DType::uint16, DType::uint32, DType::uint64};

bool is_signed(DType dtype) {
  return dtype == DType::int8 || dtype == DType::int16 || dtype == DType::int32 || dtype == DType::int64;
}

/// An index dtype that can count the extent, another one each time.
DType index_dtype(std::int64_t extent, std::mt19937_64& random) {
  while (true) {
    const DType dtype = kIndexDTypes[random() % std::size(kIndexDTypes)];
    if (size_of(dtype) > 2 || extent < 100) return dtype;
  }
}

Bytes indices_for(const Meta& meta, std::int64_t extent, std::mt19937_64& random) {
  return random_indices(meta, is_signed(meta.dtype) ? -extent : 0, extent - 1, random);
}

class MovesEveryDType : public testing::TestWithParam<int> {
 protected:
  static DType dtype() { return static_cast<DType>(GetParam()); }
  std::mt19937_64 random_{7};
};
INSTANTIATE_TEST_SUITE_P(Native, MovesEveryDType, testing::Range(0, kDTypeCount),
                         [](const auto& info) { return std::string(name(static_cast<DType>(info.param))); });

struct AxisCase {
  Shape x;
  Shape indices;
  std::int64_t axis;
};

TEST_P(MovesEveryDType, SlicesAlongAnAxisAreTheReferences) {
  const AxisCase cases[] = {
      {{5}, {}, 0},          {{5}, {0}, 0},         {{5}, {7, 3}, 0},       {{4, 5, 6}, {3}, 1},
      {{0, 5}, {3}, 1},      {{5, 0}, {3}, 0},      {{90, 33}, {500}, 0},   {{90, 33}, {500}, 1},
      {{20000}, {60000}, 0}, {{300, 7}, {9000}, 0}, {{3, 80, 1}, {900}, 1}, {{30, 40}, {2, 3}, -1},
      {{2, 90000}, {3}, 0},  {{50, 200}, {999}, 0},
  };
  for (AxisCase c : cases) {
    if (c.axis < 0) c.axis += static_cast<std::int64_t>(c.x.size());
    const Meta x{dtype(), c.x};
    const std::int64_t extent = c.x[static_cast<std::size_t>(c.axis)];
    const Meta indices{index_dtype(extent, random_), c.indices};
    expect_like_reference(graph_of(op::take_axis, intern(TakeAxisAttrs{c.axis}), {x, indices}),
                          {random_elements(x, random_), indices_for(indices, extent, random_)});
  }
}

const AxisCase kAlongCases[] = {
    {{5}, {9}, 0},
    {{5}, {0}, 0},
    {{4, 5}, {4, 9}, 1},
    {{4, 5}, {9, 5}, 0},
    {{4, 5, 6}, {3, 9, 2}, 1},
    {{40, 500}, {40, 700}, 1},
    {{90, 600}, {70, 600}, 0},
    {{9000}, {70000}, 0},
    {{8, 9, 70}, {8, 5, 61}, 1},
    {{3000, 10}, {3000, 1}, 1},
    {{3000, 1}, {9, 1}, 0},
};

TEST_P(MovesEveryDType, ElementsAlongAnAxisAreTheReferences) {
  for (const AxisCase& c : kAlongCases) {
    const Meta x{dtype(), c.x};
    const std::int64_t extent = c.x[static_cast<std::size_t>(c.axis)];
    const Meta indices{index_dtype(extent, random_), c.indices};
    expect_like_reference(graph_of(op::take_along_axis, intern(TakeAlongAxisAttrs{c.axis}), {x, indices}),
                          {random_elements(x, random_), indices_for(indices, extent, random_)});
  }
}

struct RowsCase {
  Shape x;
  std::vector<Shape> indices;
  Shape result;
};

const RowsCase kRowsCases[] = {
    {{5, 3}, {{4}, {4}}, {4}},
    {{5, 3, 2}, {{4, 1}, {2}}, {4, 2, 2}},
    {{5, 3}, {{0}}, {0, 3}},
    {{5, 0}, {{4}}, {4, 0}},
    {{5}, {{}}, {}},
    {{60, 50, 9}, {{300, 1}, {1, 40}}, {300, 40, 9}},
    {{70, 80, 6}, {{5000}, {5000}, {}}, {5000}},
    {{900, 64}, {{4000}}, {4000, 64}},
    {{20, 20000}, {{9}}, {9, 20000}},
    {{3, 150000}, {{2}}, {2, 150000}},
    {{50000}, {{30000}}, {30000}},
};

TEST_P(MovesEveryDType, RowsAreTheReferences) {
  for (const RowsCase& c : kRowsCases) {
    std::vector<Meta> tensors{{dtype(), c.x}};
    std::vector<Bytes> inputs{random_elements(tensors[0], random_)};
    for (std::size_t i = 0; i < c.indices.size(); ++i) {
      tensors.push_back({index_dtype(c.x[i], random_), c.indices[i]});
      inputs.push_back(indices_for(tensors.back(), c.x[i], random_));
    }
    expect_like_reference(graph_of(op::gather_nd, AttrsId{}, tensors), inputs);
  }
}

bool has_mode(DType dtype, ScatterAxisAttrs::Mode mode) {
  using Mode = ScatterAxisAttrs::Mode;
  if (mode == Mode::minimum || mode == Mode::maximum) return !is_complex(dtype) && dtype != DType::bool_;
  return mode != Mode::multiply || dtype != DType::bool_;
}

TEST_P(MovesEveryDType, UpdatesAlongAnAxisComeInOrder) {
  for (const AxisCase& c : kAlongCases) {
    const Meta x{dtype(), c.x};
    const std::int64_t extent = c.x[static_cast<std::size_t>(c.axis)];
    const Meta indices{index_dtype(extent, random_), c.indices}, value{dtype(), c.indices};
    for (const auto mode : {0, 1, 2, 3, 4}) {
      const auto how = static_cast<ScatterAxisAttrs::Mode>(mode);
      if (!has_mode(dtype(), how)) continue;
      // A few positions get most of the updates, so that their order matters.
      const bool crowded = random_() % 2 == 0;
      expect_like_reference(graph_of(op::scatter_axis, intern(ScatterAxisAttrs{c.axis, how}), {x, indices, value}),
                            {plain_elements(x, random_),
                             indices_for(indices, crowded ? std::min<std::int64_t>(extent, 3) : extent, random_),
                             plain_elements(value, random_)});
    }
  }
}

TEST_P(MovesEveryDType, UpdatesOfRowsComeInOrder) {
  for (const RowsCase& c : kRowsCases) {
    for (const auto mode : {0, 1, 2, 3, 4}) {
      const auto how = static_cast<ScatterNdAttrs::Mode>(mode);
      if (!has_mode(dtype(), static_cast<ScatterAxisAttrs::Mode>(mode))) continue;
      std::vector<Meta> tensors{{dtype(), c.x}, {dtype(), c.result}};
      std::vector<Bytes> inputs{plain_elements(tensors[0], random_), plain_elements(tensors[1], random_)};
      for (std::size_t i = 0; i < c.indices.size(); ++i) {
        tensors.push_back({index_dtype(c.x[i], random_), c.indices[i]});
        inputs.push_back(indices_for(tensors.back(), c.x[i], random_));
      }
      expect_like_reference(graph_of(op::scatter_nd, intern(ScatterNdAttrs{how}), tensors), inputs);
    }
  }
}

TEST(NativeIndices, OutOfRangeFailsWithTheReferencesWords) {
  std::mt19937_64 random(9);
  for (const DType dtype : kIndexDTypes) {
    for (const std::int64_t count : {3, 40000}) {
      const Meta x{DType::float32, {100, 2}}, indices{dtype, {count}}, along{dtype, {count, 2}};
      const Meta value{DType::float32, {count, 2}};
      const Bytes elements = random_elements(x, random), values = random_elements(value, random);
      const auto size = size_of(dtype);
      for (const std::int64_t wrong : {std::int64_t{100}, std::int64_t{-101}, std::int64_t{127}, std::int64_t{-1}}) {
        if (wrong < 0 && !is_signed(dtype) && wrong != -1) continue;
        const auto spoil = [&](Bytes bytes) {
          // -1 as unsigned is the largest number there is. Two wrong ones: the first is named.
          const std::int64_t written[] = {wrong, 100};
          std::memcpy(bytes.data() + (bytes.size() / size - 1) * size, &written[1], size);
          std::memcpy(bytes.data() + bytes.size() / size / 2 * size, &written[0], size);
          return bytes;
        };
        const Bytes bad = spoil(indices_for(indices, 100, random));
        const Bytes bad_along = spoil(indices_for(along, 100, random));
        expect_like_reference(graph_of(op::take_axis, intern(TakeAxisAttrs{0}), {x, indices}), {elements, bad});
        expect_like_reference(graph_of(op::gather_nd, AttrsId{}, {x, indices}), {elements, bad});
        expect_like_reference(graph_of(op::take_along_axis, intern(TakeAlongAxisAttrs{0}), {x, along}),
                              {elements, bad_along});
        using Mode = ScatterNdAttrs::Mode;
        expect_like_reference(graph_of(op::scatter_nd, intern(ScatterNdAttrs{Mode::add}), {x, value, indices}),
                              {elements, values, bad});
        expect_like_reference(
            graph_of(op::scatter_axis, intern(ScatterAxisAttrs{0, ScatterAxisAttrs::Mode::set}), {x, along, value}),
            {elements, bad_along, values});
      }
    }
  }
}

TEST(NativeIndices, AreCheckedWhenThereIsNothingToTake) {
  const Meta x{DType::float32, {0, 5}}, indices{DType::int64, {1}};
  Bytes bad(8);
  const std::int64_t index = 5;
  std::memcpy(bad.data(), &index, 8);
  expect_like_reference(graph_of(op::take_axis, intern(TakeAxisAttrs{1}), {x, indices}), {Bytes(), bad});
}

}  // namespace
}  // namespace lento::test
