// Joining, padding, replacing slices, and making numbers on the CPU device against the reference backend.
#include "ir/attrs_creation.gen.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/attrs_random.gen.h"
#include "ir/op_creation.gen.h"
#include "ir/op_index_map.gen.h"
#include "ir/op_random.gen.h"
#include "native_support.h"

#include <gtest/gtest.h>

namespace lento::test {
namespace {

class CopiesEveryDType : public testing::TestWithParam<int> {
 protected:
  static DType dtype() { return static_cast<DType>(GetParam()); }
  std::mt19937_64 random_{11};

  void check(Op op, AttrsId attrs, const std::vector<Shape>& shapes, const std::vector<Scalar>& numbers = {}) {
    std::vector<Meta> tensors;
    std::vector<Bytes> inputs;
    for (const Shape& shape : shapes) {
      tensors.push_back({dtype(), shape});
      inputs.push_back(random_elements(tensors.back(), random_));
    }
    std::vector<ScalarArgument> arguments;
    for (const Scalar& number : numbers) {
      arguments.push_back({number, op == op::strided_update ? DType::int64 : dtype()});
    }
    expect_like_reference(graph_of(op, attrs, tensors, arguments), inputs);
  }
};
INSTANTIATE_TEST_SUITE_P(Native, CopiesEveryDType, testing::Range(0, kDTypeCount),
                         [](const auto& info) { return std::string(name(static_cast<DType>(info.param))); });

TEST_P(CopiesEveryDType, JoinedTensorsAreTheReferences) {
  const std::pair<std::vector<Shape>, std::int64_t> cases[] = {
      {{{4}}, 0},
      {{{0}, {3}, {0}}, 0},
      {{{0, 3}, {0, 2}}, 1},
      {{{2, 3}, {2, 1}, {2, 0}, {2, 5}}, 1},
      {{{3000, 1}, {3000, 1}, {3000, 1}}, 1},
      {{{5000, 3}, {5000, 8}, {5000, 1}}, 1},
      {{{70000}, {50001}, {3}}, 0},
      {{{3, 20000}, {3, 1}, {3, 9999}}, 1},
      {{{40, 300, 2}, {40, 500, 2}}, 1},
      {{{700, 70, 3}, {1, 70, 3}}, 0},
  };
  for (const auto& [shapes, axis] : cases) check(op::concatenate, intern(ConcatenateAttrs{axis}), shapes);
}

TEST_P(CopiesEveryDType, ResultsBeyondTheCachesAreTheReferences) {
  const auto count = static_cast<std::int64_t>((std::size_t{17} << 20) / size_of(dtype()));
  if (dtype() != DType::float32 && dtype() != DType::complex128) return;  // only the size of an element matters
  check(op::concatenate, intern(ConcatenateAttrs{0}), {{count}, {count + 5}});
  check(op::concatenate, intern(ConcatenateAttrs{1}), {{1000, count / 1000}, {1000, count / 1000 + 1}});
}

TEST_P(CopiesEveryDType, PaddedAndCroppedTensorsAreTheReferences) {
  struct Case {
    Shape x;
    Ints low, high;
  };
  const Case cases[] = {
      {{}, {}, {}},
      {{3}, {2}, {0}},
      {{0}, {2}, {1}},
      {{5}, {-2}, {-1}},
      {{5}, {-2}, {4}},
      {{5}, {7}, {-6}},
      {{2, 3}, {1, 0}, {0, 2}},
      {{2, 3, 4}, {0, -1, 1}, {0, 2, -2}},
      {{3, 4, 5}, {1, 0, 0}, {-1, 0, 0}},
      {{0, 3}, {1, 1}, {1, 1}},
      {{100000}, {3}, {70000}},
      {{300, 400}, {1, 1}, {1, 1}},
      {{300, 400}, {-7, 130}, {9, -5}},
      {{6, 200, 100}, {0, 3, 0}, {1, 2, 0}},
      {{5000, 3}, {0, 1}, {0, 2}},
  };
  for (const Case& c : cases) check(op::pad_constant, intern(PadConstantAttrs{c.low, c.high}), {c.x}, {Scalar(1)});
}

TEST_P(CopiesEveryDType, ReplacedSlicesAreTheReferences) {
  struct Case {
    Shape x, value;
    Ints starts, axes, steps;
  };
  const Case cases[] = {
      {{}, {}, {}, {}, {}},
      {{7}, {3}, {1}, {0}, {2}},
      {{7}, {7}, {6}, {0}, {-1}},
      {{7}, {1}, {5}, {0}, {1000000}},
      {{3, 5}, {3, 2}, {4}, {1}, {-3}},
      {{3, 5}, {2, 0}, {9, 9}, {0, 1}, {1, 1}},
      {{3, 5}, {2, 2}, {1, 3}, {0, 1}, {1, 1}},
      {{4, 5, 6}, {2, 5, 6}, {1}, {0}, {1}},
      {{200000}, {150000}, {333}, {0}, {1}},
      {{200000}, {90000}, {199999}, {0}, {-2}},
      {{300, 500}, {250, 400}, {20, 77}, {0, 1}, {1, 1}},
      {{300, 500}, {100, 500}, {299}, {0}, {-2}},
      {{30, 40, 50}, {10, 40, 25}, {2, 0}, {0, 2}, {3, 2}},
      // Outside: the reference says what is wrong.
      {{7}, {3}, {5}, {0}, {1}},
      {{7}, {3}, {-1}, {0}, {1}},
      {{7}, {3}, {7}, {0}, {-1}},
      {{3, 5}, {2, 2}, {1, 1}, {0, 1}, {1, 4}},
  };
  for (const Case& c : cases) {
    std::vector<Scalar> starts;
    for (const std::int64_t start : c.starts) starts.emplace_back(start);
    check(op::strided_update, intern(StridedUpdateAttrs{c.axes, c.steps}), {c.x, c.value}, starts);
  }
}

TEST_P(CopiesEveryDType, EvenlySpacedNumbersAreTheReferences) {
  if (dtype() == DType::bool_) return;  // counts nothing
  const std::pair<Scalar, Scalar> spacings[] = {{Scalar(0), Scalar(1)},
                                                {Scalar(-3), Scalar(7)},
                                                {Scalar(0.5), Scalar(0.1)},
                                                {Scalar(std::int64_t{1} << 62), Scalar(std::int64_t{3} << 40)}};
  for (const std::int64_t size : {0, 1, 5, 4097, 100003}) {
    for (const auto& [start, step] : spacings) {
      const Graph graph = graph_of(op::iota, intern(IotaAttrs{size, dtype()}), {}, {{start, dtype()}, {step, dtype()}});
      expect_like_reference(graph, {});
    }
  }
}

TEST(RandomBits, T5_AreTheReferences) {
  for (const DType dtype : {DType::uint32, DType::uint64}) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{64}, Shape{65}, Shape{3, 7}, Shape{100003}}) {
      // The last counter wraps around within the first lanes.
      for (const std::uint64_t counter : {0UL, 1UL, 0xfffffff0UL, 0xffffffffffffffffUL}) {
        const ScalarArgument key{Scalar(std::uint64_t{0x0123456789abcdef}), DType::uint64};
        expect_like_reference(graph_of(op::random_bits, intern(RandomBitsAttrs{shape, dtype}), {},
                                       {key, {Scalar(counter), DType::uint64}}),
                              {});
      }
    }
  }
}

}  // namespace
}  // namespace lento::test
