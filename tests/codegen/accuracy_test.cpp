// The promises of codegen/math/math.h, function by function.
#include "codegen/math/math.h"

#include "codegen/measure.h"
#include "ir/op_elementwise.gen.h"

#include <gtest/gtest.h>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace lento::testing {
namespace {

constexpr const char* kFloor = "x86-64-v3";
constexpr const char* kWide = "x86-64-v4";

template <class T>
std::vector<T> run(const MathFunction& function, const Arguments<T>& arguments, unsigned lanes, const char* cpu) {
  const MathCode code = MathCode::compile<T>(function.op, function.arity, lanes, cpu);
  std::vector<T> out(arguments.a.size());
  code.run(std::span<const T>(arguments.a), std::span<const T>(arguments.b), std::span<T>(out));
  return out;
}

template <class T>
void expect_two_ulp(const MathFunction& function, std::size_t count) {
  const Arguments<T> arguments = arguments_for<T>(function, count, 20);
  const std::vector<T> got = run(function, arguments, 32 / sizeof(T), kFloor);
  const WorstError worst = worst_error<T>(function, arguments.a, arguments.b, got);
  EXPECT_LE(worst.ulp, 2) << function.name << "(" << arguments.a[worst.index] << ", " << arguments.b[worst.index]
                          << ") = " << got[worst.index];
}

/// Every special value with every other; of these, where they are exact, zeros and infinities have the right sign.
template <class T>
void expect_special_values(const MathFunction& function) {
  Arguments<T> arguments;
  const std::vector<T> values = special_values<T>();
  for (const T a : values) {
    for (const T b : values) {
      arguments.a.push_back(a);
      arguments.b.push_back(b);
    }
  }
  const std::vector<T> got = run(function, arguments, 1, kFloor);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const T a = arguments.a[i];
    const T b = arguments.b[i];
    T want;
    if constexpr (std::is_same_v<T, float>) {
      want = function.float_special(a, b);
    } else {
      want = function.double_special(a, b);
    }
    EXPECT_LE(error_of<T>(function, a, b, got[i]), 2) << function.name << "(" << a << ", " << b << ") = " << got[i];
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got[i])) << function.name << "(" << a << ", " << b << ") = " << got[i];
      continue;
    }
    EXPECT_EQ(std::signbit(got[i]), std::signbit(want)) << function.name << "(" << a << ", " << b << ") = " << got[i];
    if (want == 0 || std::isinf(want)) {
      EXPECT_EQ(got[i], want) << function.name << "(" << a << ", " << b << ")";
    }
  }
}

template <class T>
void expect_equal_bits(const MathFunction& function) {
  constexpr std::size_t kCount = std::size_t{1} << 16;  // not a multiple of 3 lanes, so the last are left out there
  Arguments<T> arguments = arguments_for<T>(function, kCount, 40);
  const std::vector<T> expected = run(function, arguments, 32 / sizeof(T), kFloor);
  EXPECT_EQ(differing(expected, run(function, arguments, 1, kFloor)), 0U) << function.name;
  EXPECT_EQ(differing(expected, run(function, arguments, 16, kFloor)), 0U) << function.name;
  if (has_avx512()) {
    EXPECT_EQ(differing(expected, run(function, arguments, 64 / sizeof(T), kWide)), 0U) << function.name;
  }
  arguments.a.resize(kCount / 3 * 3);
  arguments.b.resize(kCount / 3 * 3);
  std::vector<T> head(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(arguments.a.size()));
  EXPECT_EQ(differing(head, run(function, arguments, 3, kFloor)), 0U) << function.name;
}

class VectorMath : public ::testing::TestWithParam<MathFunction> {};

TEST_P(VectorMath, Float32IsWithinTwoUlp) { expect_two_ulp<float>(GetParam(), std::size_t{1} << 21); }
TEST_P(VectorMath, Float64IsWithinTwoUlp) { expect_two_ulp<double>(GetParam(), std::size_t{1} << 17); }
TEST_P(VectorMath, Float32HasTheSpecialValuesOfC) { expect_special_values<float>(GetParam()); }
TEST_P(VectorMath, Float64HasTheSpecialValuesOfC) { expect_special_values<double>(GetParam()); }
TEST_P(VectorMath, Float32BitsDependOnNeitherWidthNorProcessor) { expect_equal_bits<float>(GetParam()); }
TEST_P(VectorMath, Float64BitsDependOnNeitherWidthNorProcessor) { expect_equal_bits<double>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Functions, VectorMath, ::testing::ValuesIn(math_functions().begin(), math_functions().end()),
                         [](const auto& info) { return info.param.name; });

/// Around multiples of pi/2, where all but the last bits cancel, and for every exponent.
template <class T>
Arguments<T> angles_near_quadrants() {
  Arguments<T> arguments;
  std::mt19937_64 random(60);
  const Wide half_pi = 2 * atanf128(1);
  for (int exponent = 0; exponent < std::numeric_limits<T>::max_exponent; ++exponent) {
    for (int i = 0; i < 64; ++i) {
      const Wide start = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52, exponent);
      arguments.a.push_back(static_cast<T>(roundf128(start / half_pi) * half_pi));
    }
  }
  // The double that comes closest to a multiple of pi/2.
  if constexpr (std::is_same_v<T, double>) arguments.a.back() = 6381956970095103.0 * 0x1p797;
  arguments.b = arguments.a;
  return arguments;
}

template <class T>
void expect_exact_quadrants() {
  const Arguments<T> arguments = angles_near_quadrants<T>();
  for (const MathFunction& function : math_functions()) {
    if (function.op != op::sin && function.op != op::cos && function.op != op::tan) continue;
    const std::vector<T> got = run(function, arguments, 8, kFloor);
    const WorstError worst = worst_error<T>(function, arguments.a, arguments.b, got);
    EXPECT_LE(worst.ulp, 2) << function.name << "(" << arguments.a[worst.index] << ") = " << got[worst.index];
  }
}

TEST(LargeAngles, Float32AreExactNearMultiplesOfAQuarterTurn) { expect_exact_quadrants<float>(); }
TEST(LargeAngles, Float64AreExactNearMultiplesOfAQuarterTurn) { expect_exact_quadrants<double>(); }

TEST(EmitMath, HasNothingForOtherOpsAndTypes) {
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  llvm::IRBuilder<> builder(context);
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getFloatTy(), builder.getHalfTy()}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "start", function));
  EXPECT_EQ(codegen::emit_math(builder, op::lgamma, {function->getArg(0)}), nullptr);
  EXPECT_EQ(codegen::emit_math(builder, op::exp, {function->getArg(1)}), nullptr);
  EXPECT_TRUE(builder.GetInsertBlock()->empty());
  EXPECT_FALSE(codegen::has_math(op::add));
  EXPECT_TRUE(codegen::has_math(op::exp));
}

TEST(EmitMath, MayBeUsedInTheMiddleOfABlock) {
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  llvm::IRBuilder<> builder(context);
  auto* type = llvm::FunctionType::get(builder.getFloatTy(), {builder.getFloatTy()}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", module);
  llvm::BasicBlock* start = llvm::BasicBlock::Create(context, "start", function);
  builder.SetInsertPoint(start);
  llvm::ReturnInst* end = builder.CreateRet(function->getArg(0));
  builder.SetInsertPoint(end);
  llvm::Value* result = codegen::emit_math(builder, op::sin, {function->getArg(0)});
  end->setOperand(0, result);
  EXPECT_EQ(builder.GetInsertBlock(), end->getParent());
  EXPECT_NE(end->getParent(), start);
  EXPECT_TRUE(builder.getFastMathFlags().none());
}

}  // namespace
}  // namespace lento::testing
