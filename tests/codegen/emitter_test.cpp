// The emitter on scalars: what one lane gives is what vectors give, for every op, cast and reduction that has code.
#include "codegen/emitter.h"

#include "codegen/compiled_module.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_reduction.gen.h"

#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace lento::testing {
namespace {

using codegen::Emitter;
using llvm::Value;

constexpr DType kAllDTypes[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16,  DType::bool_,
                                DType::int8,    DType::int16,   DType::int32,   DType::int64,     DType::uint8,
                                DType::uint16,  DType::uint32,  DType::uint64,  DType::complex64, DType::complex128};
constexpr std::size_t kCount = 1003;  // not a multiple of any vector

/// One thing to compute from elements `a` and `b` and a bool `c`.
struct Case {
  std::string name;
  DType result;
  std::function<Value*(Emitter& emitter, Value* a, Value* b, Value* c)> emit;
};

std::vector<Case> cases_of(DType dtype) {
  std::vector<Case> cases;
  for (const Op op : all_ops()) {
    if (!info(op).elementwise() || compute_dtype(*info(op).rule, dtype) != dtype) continue;
    const ElementwiseRule& rule = *info(op).rule;
    const DType result = result_dtype(rule, dtype);
    cases.push_back({std::string(info(op).name), result, [=](Emitter& emitter, Value* a, Value* b, Value* c) {
                       Value* const conditional[] = {c, a, b};
                       Value* const plain[] = {a, b, a};
                       const auto args = std::span(rule.leading_condition ? conditional : plain);
                       return emitter.compute(op, dtype, result, args.first(info(op).args.size()), false);
                     }});
  }
  for (const DType to : kAllDTypes) {
    if (is_complex(dtype) && !is_complex(to) && !is_bool(to)) continue;
    cases.push_back({"cast to " + std::string(name(to)), to,
                     [=](Emitter& emitter, Value* a, Value*, Value*) { return emitter.cast(a, dtype, to); }});
  }
  for (const Op op : {op::reduce_sum, op::reduce_prod, op::reduce_max, op::reduce_min}) {
    if (is_half(dtype) || is_complex(dtype)) continue;
    cases.push_back({std::string(info(op).name), dtype, [=](Emitter& emitter, Value* a, Value* b, Value* c) {
                       return emitter.combine(op, dtype, a, emitter.select(dtype, c, b, emitter.identity(op, dtype)));
                     }});
  }
  return cases;
}

/// void entry(const std::byte* a, b, c, std::byte* const* outs, count): masked loads of `a`, gathers of `b`, and a
/// store of each case that has code, whose names go to `emitted`. Every other case scatters.
void build(llvm::Module& module, DType dtype, unsigned lanes, std::vector<std::string>& emitted) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::Type* pointer = b.getPtrTy();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer, pointer, b.getInt64Ty()}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "entry", module);
  auto* start = llvm::BasicBlock::Create(module.getContext(), "start", function);
  auto* loop = llvm::BasicBlock::Create(module.getContext(), "loop", function);
  auto* end = llvm::BasicBlock::Create(module.getContext(), "end", function);
  b.SetInsertPoint(start);
  Emitter emitter(b, lanes);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(b.getInt64(0), start);
  const auto at = [&](Value* memory, DType of) {
    return b.CreatePtrAdd(memory, b.CreateMul(index, b.getInt64(size_of(of))));
  };
  const auto steps = [&](DType of) { return emitter.lane_offsets(b.getInt64(size_of(of))); };
  Value* mask = emitter.mask_of(b.CreateSub(function->getArg(4), index));
  Value* x = emitter.load(dtype, at(function->getArg(0), dtype), mask);
  Value* y = emitter.gather(dtype, at(function->getArg(1), dtype), steps(dtype), mask);
  Value* c = emitter.load(DType::bool_, at(function->getArg(2), DType::bool_), mask);
  for (const Case& tried : cases_of(dtype)) {
    Value* result = tried.emit(emitter, x, y, c);
    if (result == nullptr) continue;
    Value* out = b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, function->getArg(3), emitted.size()));
    if (emitted.size() % 2 == 0) {
      emitter.store(tried.result, result, at(out, tried.result), mask);
    } else {
      emitter.scatter(tried.result, result, at(out, tried.result), steps(tried.result), mask);
    }
    emitted.push_back(tried.name + " of " + std::string(name(dtype)));
  }
  Value* next = b.CreateAdd(index, b.getInt64(lanes));
  index->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, function->getArg(4)), loop, end);
  b.SetInsertPoint(end);
  b.CreateRetVoid();
}

/// Elements of any bits, and some that ops treat in their own ways.
std::vector<std::byte> elements(DType dtype, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(kCount * size_of(dtype));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool plain = i / size_of(dtype) % 7 == 0;  // 0, 1, -1 of integers, and zeros and tiny numbers of floats
    bytes[i] = static_cast<std::byte>(is_bool(dtype) ? random() % 2 : plain ? random() % 3 - 1 : random());
  }
  return bytes;
}

/// Whether the number in these bytes is a nan.
bool is_nan(DType dtype, const std::byte* bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, size_of(dtype));
  switch (dtype) {
    case DType::float16:
      return (bits & 0x7fff) > 0x7c00;
    case DType::bfloat16:
      return (bits & 0x7fff) > 0x7f80;
    case DType::float32:
      return (bits & 0x7fffffff) > 0x7f800000;
    case DType::float64:
      return (bits & ~(std::uint64_t{1} << 63)) > 0x7ff0000000000000;
    default:
      return false;
  }
}

struct Results {
  std::vector<std::string> names;
  std::vector<std::vector<std::byte>> outs;
};

Results run(DType dtype, unsigned lanes) {
  Results results;
  const CompiledModule module =
      CompiledModule::compile([&](llvm::Module& to) { build(to, dtype, lanes, results.names); }, "x86-64-v3");
  const std::vector<std::byte> a = elements(dtype, 1), b = elements(dtype, 2), c = elements(DType::bool_, 3);
  std::vector<std::byte*> pointers;
  for (std::size_t i = 0; i < results.names.size(); ++i) {
    results.outs.emplace_back(kCount * sizeof(double) * 2, std::byte{0x55});
    pointers.push_back(results.outs.back().data());
  }
  using Entry = void(const std::byte*, const std::byte*, const std::byte*, std::byte* const*, std::int64_t);
  module.find<Entry>("entry")(a.data(), b.data(), c.data(), pointers.data(), kCount);
  return results;
}

class EmitterOn : public ::testing::TestWithParam<DType> {};

TEST_P(EmitterOn, OneLaneGivesTheBitsOfVectors) {
  const Results vectors = run(GetParam(), 8);
  const Results scalars = run(GetParam(), 1);
  ASSERT_EQ(vectors.names, scalars.names);
  std::vector<DType> dtypes;  // of those that have code, in order
  for (const Case& tried : cases_of(GetParam())) {
    const std::string name = tried.name + " of " + std::string(lento::name(GetParam()));
    if (std::ranges::find(scalars.names, name) != scalars.names.end()) dtypes.push_back(real_type(tried.result));
  }
  ASSERT_EQ(dtypes.size(), scalars.names.size());
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    std::size_t differing = 0;
    const std::size_t size = size_of(dtypes[i]);
    for (std::size_t at = 0; at < scalars.outs[i].size(); at += size) {
      const std::byte* one = scalars.outs[i].data() + at;
      const std::byte* other = vectors.outs[i].data() + at;
      if (std::memcmp(one, other, size) != 0 && !(is_nan(dtypes[i], one) && is_nan(dtypes[i], other))) ++differing;
    }
    EXPECT_EQ(differing, 0U) << scalars.names[i];
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, EmitterOn, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(TargetHooks, WithoutThemAnOpThatHasNoCodeGivesNothing) {
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  llvm::IRBuilder<> b(context);
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getFloatTy()}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "start", function));
  Value* const args[] = {function->getArg(0)};
  EXPECT_EQ(Emitter(b, 1).compute(op::lgamma, DType::float32, DType::float32, args, false), nullptr);
  EXPECT_TRUE(b.GetInsertBlock()->empty());

  codegen::TargetHooks hooks;
  hooks.loop_symbol = [](Op op, DType) { return "our_" + std::string(info(op).name); };
  EXPECT_NE(Emitter(b, 1, hooks).compute(op::lgamma, DType::float32, DType::float32, args, false), nullptr);
  EXPECT_NE(module.getFunction("our_lgamma"), nullptr);
}

TEST(TargetHooks, AreUsedForVectorsAndNotForScalars) {
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  llvm::IRBuilder<> b(context);
  auto* vector = llvm::FixedVectorType::get(b.getFloatTy(), 4);
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getFloatTy(), vector}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "start", function));
  codegen::TargetHooks hooks;
  hooks.extreme = [](llvm::IRBuilderBase&, bool larger, Value* x, Value* y) { return larger ? x : y; };
  Value* other = llvm::Constant::getNullValue(vector);
  EXPECT_EQ(Emitter(b, 4, hooks).combine_numbers(op::reduce_max, function->getArg(1), other), function->getArg(1));
  EXPECT_EQ(Emitter(b, 4, hooks).combine_numbers(op::reduce_min, function->getArg(1), other), other);
  EXPECT_NE(Emitter(b, 1, hooks).combine_numbers(op::reduce_max, function->getArg(0), function->getArg(0)),
            function->getArg(0));
}

}  // namespace
}  // namespace lento::testing
