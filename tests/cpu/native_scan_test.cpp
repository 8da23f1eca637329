// Scans on the CPU device against the reference backend: every dtype and axis, lines of one block and of many.
#include "ir/attrs_scan.gen.h"
#include "ir/op_scan.gen.h"
#include "native_support.h"

#include <gtest/gtest.h>

namespace lento::test {
namespace {

const std::pair<Shape, std::int64_t> kLines[] = {
    {{0}, 0},        {{1}, 0},          {{5}, 0},        {{1024}, 0},       {{1025}, 0},
    {{4, 0}, 0},     {{0, 4}, 0},       {{7, 30}, 1},    {{7, 30}, 0},      {{3, 2500, 5}, 1},
    {{9, 1024}, 1},  {{6, 2049}, 1},    {{50000}, 0},    {{150001}, 0},     {{40, 3000}, 1},
    {{2100, 70}, 0}, {{1100, 1300}, 0}, {{3, 40000}, 1}, {{2, 5000, 2}, 1}, {{600, 90}, 1},
};

class ScansEveryDType : public testing::TestWithParam<int> {
 protected:
  static DType dtype() { return static_cast<DType>(GetParam()); }

  static void check(Op op, AttrsId (*attrs)(std::int64_t), Bytes (*make)(const Meta&, std::mt19937_64&)) {
    std::mt19937_64 random(1);
    for (const auto& [shape, axis] : kLines) {
      const Meta x{dtype(), shape};
      expect_like_reference(graph_of(op, attrs(axis), {x}), {make(x, random)});
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Native, ScansEveryDType, testing::Range(0, kDTypeCount),
                         [](const auto& info) { return std::string(name(static_cast<DType>(info.param))); });

TEST_P(ScansEveryDType, SumsAreTheReferences) {
  if (dtype() == DType::bool_) return;  // has no sum of its own
  check(op::scan_sum, [](std::int64_t axis) { return intern(ScanSumAttrs{axis}); }, plain_elements);
}

TEST_P(ScansEveryDType, ProductsAreTheReferences) {
  if (dtype() == DType::bool_) return;
  check(op::scan_prod, [](std::int64_t axis) { return intern(ScanProdAttrs{axis}); }, plain_elements);
}

TEST_P(ScansEveryDType, MaximaAreTheReferences) {
  if (is_complex(dtype())) return;  // have no order
  check(op::scan_max, [](std::int64_t axis) { return intern(ScanMaxAttrs{axis}); }, random_elements);
  check(op::scan_max, [](std::int64_t axis) { return intern(ScanMaxAttrs{axis}); }, plain_elements);
}

TEST_P(ScansEveryDType, MinimaAreTheReferences) {
  if (is_complex(dtype())) return;
  check(op::scan_min, [](std::int64_t axis) { return intern(ScanMinAttrs{axis}); }, random_elements);
  check(op::scan_min, [](std::int64_t axis) { return intern(ScanMinAttrs{axis}); }, plain_elements);
}

}  // namespace
}  // namespace lento::test
