// Kernels: row values, passes, the verifier's rules, text and hash.
#include "compiler/kernel.h"

#include "compiler/softmax_kernel.h"
#include "ir/op_creation.gen.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_index_map.gen.h"
#include "ir/op_random.gen.h"

#include <lento/error.h>

#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace lento::testing {
namespace {

using Kind = Instruction::Kind;
constexpr DType kFloat = DType::float32;

Kernel softmax() { return softmax_kernel(LoopForm::row); }

TEST(Kernel, TextIsTheExampleOfTheHeader) {
  EXPECT_EQ(to_string(softmax()), R"(kernel row dims=2 ($0: float32 one, $1: out float32 one) {
  %0 = load $0 : float32
  %1 = reduce_max(%0) : float32
  %2 = subtract(%0, %1) : float32
  %3 = exp(%2) : float32
  %4 = reduce_sum(%3) : float32
  %5 = divide(%3, %4) : float32
  store $1, %5
}
)");
}

TEST(Kernel, TextNamesNumbersAndOperandsThatStandStill) {
  Kernel kernel = softmax();
  kernel.numbers = {DType::int8};
  kernel.operands[0].moves = false;
  kernel.operands[0].inner = InnerStride::zero;
  EXPECT_EQ(to_string(kernel).substr(0, 77),
            "kernel row dims=2 ($0: float32 zero still, $1: out float32 one, #0: int8) {\n ");
}

TEST(Kernel, RowValuesAreReductionsAndWhatIsMadeOfThemAlone) {
  EXPECT_EQ(row_values(softmax()), (std::vector<std::uint8_t>{0, 1, 0, 0, 1, 0, 0}));
  Kernel still = softmax();
  still.operands[0].moves = false;
  EXPECT_EQ(row_values(still)[0], 1);
  Kernel map = softmax();
  map.form = LoopForm::map;
  EXPECT_EQ(row_values(map), std::vector<std::uint8_t>(7, 0));
}

TEST(Kernel, AValueIsKnownInThePassBehindItsReductions) {
  EXPECT_EQ(passes(softmax()), (std::vector<std::uint16_t>{0, 0, 1, 1, 1, 2, 2}));
}

TEST(Kernel, ACorrectKernelIsAccepted) { EXPECT_NO_THROW(verify(softmax())); }

/// An operand that picks the rows of the first one.
KernelOperandInfo& add_positions(Kernel& kernel) {
  kernel.operands[0].picked_by = static_cast<std::uint16_t>(kernel.operands.size());
  return kernel.operands.emplace_back(KernelOperandInfo{DType::int64, InnerStride::zero, false, false});
}

TEST(Kernel, RowsMayBePicked) {
  Kernel kernel = softmax();
  add_positions(kernel);
  EXPECT_NO_THROW(verify(kernel));
  EXPECT_NE(to_string(kernel).find("$0: float32 one at $2"), std::string::npos) << to_string(kernel);
}

/// The mask of what comes later, as in the header.
Kernel causal_mask() {
  Kernel kernel;
  kernel.dims = 2;
  kernel.operands = {{DType::uint8, InnerStride::zero, true, false, kNotPicked, true},
                     {DType::uint8, InnerStride::one, true, false, kNotPicked, true},
                     {DType::bool_, InnerStride::one, true, true}};
  kernel.numbers = {DType::uint64, DType::uint64};
  kernel.body = {{Kind::number, {}, DType::uint64, 0, 0, {}},
                 {Kind::number, {}, DType::uint64, 0, 1, {}},
                 {Kind::create, op::iota, DType::int64, 2, 0, {0, 1}},
                 {Kind::create, op::iota, DType::int64, 2, 1, {0, 1}},
                 {Kind::compute, op::less_equal, DType::bool_, 2, 0, {3, 2}},
                 {Kind::store, {}, DType::bool_, 1, 2, {4}}};
  return kernel;
}

TEST(Kernel, TextSaysWhatIsCounted) {
  EXPECT_NO_THROW(verify(causal_mask()));
  EXPECT_EQ(to_string(causal_mask()),
            R"(kernel map dims=2 ($0: counted zero, $1: counted one, $2: out bool one, #0: uint64, #1: uint64) {
  %0 = number #0 : uint64
  %1 = number #1 : uint64
  %2 = iota(%0, %1) at $0 : int64
  %3 = iota(%0, %1) at $1 : int64
  %4 = less_equal(%3, %2) : bool
  store $2, %4
}
)");
}

struct Mistake {
  std::string rule;  // part of the message
  std::function<void(Kernel&)> make;
};

TEST(Kernel, TheVerifierNamesTheInstructionAndTheRule) {
  const Mistake mistakes[] = {
      {"0 dimensions", [](Kernel& k) { k.dims = 0; }},
      {"9 dimensions", [](Kernel& k) { k.dims = 9; }},
      {"1 dimensions", [](Kernel& k) { k.form = LoopForm::column, k.dims = 1; }},
      {"more than 256", [](Kernel& k) { k.body.resize(257, k.body[0]); }},
      {"%2 = subtract(%0, %5) : float32`: an input is not", [](Kernel& k) { k.body[2].inputs[1] = 5; }},
      {"%2 = subtract(%0, %2) : float32`: an input is not", [](Kernel& k) { k.body[2].inputs[1] = 2; }},
      {"instruction 2 has 4 inputs", [](Kernel& k) { k.body[2].input_count = 4; }},
      {"instruction 3 has no such op", [](Kernel& k) { k.body[3].op = static_cast<Op>(kMaxOps - 1); }},
      {"load $7 : float32`: there is no such operand", [](Kernel& k) { k.body[0].index = 7; }},
      {"its dtype is not the operand's", [](Kernel& k) { k.operands[0].dtype = DType::float64; }},
      {"there is no such number", [](Kernel& k) { k.body[0] = {Kind::number, {}, kFloat, 0, 0, {}}; }},
      {"the op is not elementwise", [](Kernel& k) { k.body[3].op = op::reshape; }},
      {"another number of inputs", [](Kernel& k) { k.body[2].op = op::exp; }},
      {"the op's result has another dtype", [](Kernel& k) { k.body[2].op = op::less; }},
      {"does not compute in this dtype", [](Kernel& k) { k.body[2].op = op::bitwise_and; }},
      {"inputs have different dtypes", [](Kernel& k) { k.body[1] = {Kind::cast, {}, DType::float64, 1, 0, {0}}; }},
      {"a map reduces nothing", [](Kernel& k) { k.form = LoopForm::map; }},
      {"the input is a row value", [](Kernel& k) { k.body[4].inputs[0] = 1; }},
      {"the op is not a reduction", [](Kernel& k) { k.body[4].op = op::exp; }},
      {"reduce_sum(%3) : float64`: the result has another dtype", [](Kernel& k) { k.body[4].dtype = DType::float64; }},
      {"the operand is not an output", [](Kernel& k) { k.body[6].index = 0; }},
      {"a row value is stored into an operand that moves", [](Kernel& k) { k.body[6].inputs[0] = 4; }},
      {"an element value is stored into an operand that does not move", [](Kernel& k) { k.operands[1].moves = false; }},
      {"$0: its rows are picked by an operand that does not exist", [](Kernel& k) { k.operands[0].picked_by = 2; }},
      {"$1: rows are picked for an output", [](Kernel& k) { k.operands[1].picked_by = 0; }},
      {"$0: rows are picked for an output, or by one", [](Kernel& k) { k.operands[0].picked_by = 1; }},
      {"$0: positions are not int32 or int64", [](Kernel& k) { add_positions(k).dtype = DType::uint8; }},
      {"$0: positions must be the same all along a row", [](Kernel& k) { add_positions(k).moves = true; }},
      {"$0: positions must be the same all along a row", [](Kernel& k) { add_positions(k).inner = InnerStride::one; }},
      {"exp(%2) : float32`: its value is not used",
       [](Kernel& k) { k.body[4].inputs[0] = 2, k.body[5].inputs[0] = 2; }},
  };
  const auto create = [](Kernel& kernel) -> Instruction& {
    kernel = causal_mask();
    return kernel.body[2];
  };
  const Mistake of_created[] = {
      {"$2: what is counted is uint8", [&](Kernel& k) { create(k), k.operands[2].counted = true; }},
      {"$0: what is counted is uint8", [&](Kernel& k) { create(k), k.operands[0].dtype = DType::int64; }},
      {"where positions are counted, and nowhere else", [&](Kernel& k) { create(k).index = 2; }},
      {"where positions are counted, and nowhere else", [&](Kernel& k) { create(k).kind = Kind::load; }},
      {"it takes two numbers", [&](Kernel& k) { create(k).input_count = 1; }},
      {"a number has another dtype", [&](Kernel& k) { create(k).dtype = DType::float32; }},
      {"an input is not a number", [&](Kernel& k) { create(k), k.body[3].inputs[1] = 2; }},
      {"bools count nothing",
       [&](Kernel& k) {
         create(k).dtype = DType::bool_, k.numbers[0] = k.numbers[1] = DType::float64,
         k.body[0].dtype = k.body[1].dtype = DType::float64;
       }},
      {"makes no elements of positions", [&](Kernel& k) { create(k).op = op::add; }},
      {"random bits are uint32 or uint64", [&](Kernel& k) { create(k).op = op::random_bits; }},
  };
  std::vector<Mistake> all(std::begin(mistakes), std::end(mistakes));
  all.insert(all.end(), std::begin(of_created), std::end(of_created));
  for (const Mistake& mistake : all) {
    Kernel kernel = softmax();
    mistake.make(kernel);
    try {
      verify(kernel);
      ADD_FAILURE() << "not found: " << mistake.rule;
    } catch (const BackendError& error) {
      EXPECT_NE(std::string(error.what()).find(mistake.rule), std::string::npos)
          << mistake.rule << " is not in: " << error.what();
    }
  }
}

#ifndef LENTO_CONSTANT_HASH
TEST(Kernel, WhatDecidesTheCodeIsInTheHash) {
  const std::function<void(Kernel&)> changes[] = {
      [](Kernel&) {},
      [](Kernel& k) { k.form = LoopForm::column; },
      [](Kernel& k) { k.dims = 3; },
      [](Kernel& k) { k.operands[0].dtype = DType::float64; },
      [](Kernel& k) { k.operands[0].inner = InnerStride::any; },
      [](Kernel& k) { k.operands[0].moves = false; },
      [](Kernel& k) { k.operands[0].output = true; },
      [](Kernel& k) { k.operands[0].picked_by = 1; },
      [](Kernel& k) { k.operands[0].counted = true; },
      [](Kernel& k) { k.numbers.push_back(kFloat); },
      [](Kernel& k) { k.body[3].op = op::log; },
      [](Kernel& k) { k.body[3].kind = Kind::cast; },
      [](Kernel& k) { k.body[3].dtype = DType::float64; },
      [](Kernel& k) { k.body[3].inputs[0] = 1; },
      [](Kernel& k) { k.body[6].index = 0; },
      [](Kernel& k) { k.body.pop_back(); },
  };
  std::set<std::uint64_t> hashes;
  for (const auto& change : changes) {
    Kernel kernel = softmax();
    change(kernel);
    EXPECT_TRUE(hashes.insert(hash(kernel)).second) << to_string(kernel);
  }
  EXPECT_EQ(hash(softmax()), hash(softmax()));
}
#endif

}  // namespace
}  // namespace lento::testing
