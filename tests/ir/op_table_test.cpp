// The table of ops: the numbers of the catalogue's, and ops that are added while the program runs.
#include "ir/graph.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"

#include "base/counters.h"
#include "ir/op_counters.h"

#include <lento/error.h>

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace lento::test {
namespace {

constexpr ArgInfo kOneTensor[] = {{.name = "x", .kind = ArgKind::tensor}};
constexpr ElementwiseRule kFloats{.allowed = kFloating};

/// Joins two vectors end to end: an op with a shape rule of its own.
AttrsId infer_joined(std::span<const Meta> operands, AttrsId attrs, std::span<Meta> results) {
  if (operands.size() != 1 || operands[0].shape.size() != 1) throw ShapeError("doubled: x is no vector");
  results[0] = {operands[0].dtype, {operands[0].shape[0] * 2}};
  return attrs;
}

OpInfo elementwise_op(std::string_view name) {
  return {.name = name, .family = Family::elementwise, .args = kOneTensor, .rule = &kFloats};
}

std::string error_of_adding(const OpInfo& op) {
  try {
    add_op(op);
  } catch (const ValueError& error) {
    return error.what();
  }
  return "no error";
}

TEST(OpTable, EveryFamilyHasNumbersOfItsOwn) {
  for (const Op op : all_ops()) {
    const auto number = static_cast<std::uint16_t>(op);
    if (number >= kFirstAddedOp) continue;
    const Family family = info(op).family;
    const auto first = static_cast<std::uint16_t>(op_number(family, 0));
    const std::uint16_t room = family == Family::elementwise ? kElementwiseOps : kFamilyOps;
    EXPECT_GE(number, first) << info(op).name;
    EXPECT_LT(number, first + room) << info(op).name;
  }
}

TEST(OpTable, FindsEveryOpByItsName) {
  std::set<std::string_view> names;
  for (const Op op : all_ops()) {
    EXPECT_EQ(find_op(info(op).name), op);
    EXPECT_TRUE(names.insert(info(op).name).second) << info(op).name;
  }
  EXPECT_GT(names.size(), 100U);
  EXPECT_FALSE(find_op("no_such_op"));
  EXPECT_FALSE(is_op(static_cast<Op>(kMaxOps)));
  EXPECT_FALSE(is_op(static_cast<Op>(0xffff)));
}

TEST(OpTable, AnAddedOpIsPrintedParsedAndVerified) {
  const Op wave = add_op(elementwise_op("vendor_wave"));
  const Op doubled =
      add_op({.name = "vendor_doubled", .family = Family::index_map, .args = kOneTensor, .infer = infer_joined});
  EXPECT_NE(wave, doubled);
  EXPECT_EQ(find_op("vendor_wave"), wave);
  EXPECT_TRUE(info(wave).elementwise());
  const std::string text =
      "graph(%in0: float32(3,)) {\n"
      "  %0 = vendor_wave(%in0) : float32(3,)\n"
      "  %1 = vendor_doubled(%0) : float32(6,)\n"
      "  return %1\n"
      "}\n";
  const Graph graph = parse_graph(text);
  EXPECT_EQ(graph.nodes[0].op, wave);
  EXPECT_EQ(graph.nodes[1].op, doubled);
  EXPECT_EQ(to_string(graph), text);
  verify(graph);
  try {
    parse_graph("graph(%in0: float32(3,)) {\n  %0 = vendor_doubled(%in0) : float32(5,)\n  return %0\n}\n");
    FAIL() << "a wrong shape was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("float32(6,)"), std::string::npos) << error.what();
  }
}

TEST(OpTable, AnAddedOpHasCounters) {
  const CounterId first = make_op_counters("test_of_op_counters.");
  const Op op = add_op(elementwise_op("vendor_counted"));
  count(first + static_cast<CounterId>(op), 3);
  EXPECT_EQ(counter_value("test_of_op_counters.vendor_counted"), 3U);
}

TEST(OpTable, CountersOfOnePrefixAreMadeOnce) {
  EXPECT_EQ(make_op_counters("op_table_test."), make_op_counters("op_table_test."));
}

TEST(OpTable, RefusesAnOpThatCannotBe) {
  add_op(elementwise_op("vendor_once"));
  EXPECT_NE(error_of_adding(elementwise_op("vendor_once")).find("there is an op 'vendor_once' already"),
            std::string::npos);
  EXPECT_NE(error_of_adding(elementwise_op("exp")).find("already"), std::string::npos);
  EXPECT_NE(error_of_adding(elementwise_op("")).find("needs a name"), std::string::npos);
  EXPECT_NE(error_of_adding({.name = "vendor_bare", .family = Family::sort}).find("infers its results"),
            std::string::npos);
  OpInfo other = elementwise_op("vendor_other");
  other.family = Family::sort;
  EXPECT_NE(error_of_adding(other).find("family sort"), std::string::npos);
  EXPECT_FALSE(find_op("vendor_bare") || find_op("vendor_other"));
}

TEST(OpTable, GrowsWhileOtherThreadsRead) {
  static std::vector<std::string> names;  // what a descriptor refers to lives as long as the process
  for (int i = 0; i < 20; ++i) names.push_back("vendor_growing_" + std::to_string(i));
  std::atomic<bool> stop = false;
  std::atomic<std::size_t> seen = 0;
  std::thread reader([&] {
    while (!stop) {
      for (const Op op : all_ops()) seen += info(op).name.empty() ? 0 : 1;
    }
  });
  for (const std::string& name : names) EXPECT_EQ(info(add_op(elementwise_op(name))).name, name);
  stop = true;
  reader.join();
  for (const std::string& name : names) EXPECT_TRUE(find_op(name)) << name;
}

}  // namespace
}  // namespace lento::test
