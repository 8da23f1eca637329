// The vector math printed as C: a C compiler takes it, and what it makes of it has the bits of the vector code.
#include "codegen/c_source.h"

#include "codegen/c_function.h"
#include "codegen/math/math.h"
#include "codegen/measure.h"
#include "ir/op.h"
#include "ir/op_elementwise.gen.h"

#include <lento/error.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace lento::testing {
namespace {

using codegen::CFunction;

/// All functions in one library, each with a loop over arrays around it.
class CLibrary {
 public:
  CLibrary() : folder_(std::filesystem::temp_directory_path() / fmt::format("lento-c-{}", ::getpid())) {
    std::filesystem::create_directories(folder_);
    std::string text = codegen::c_source(codegen::c_functions());
    for (const CFunction& function : codegen::c_functions()) {
      const bool two = info(function.op).args.size() == 2;
      text += fmt::format(
          "void run_{0}(const {1}* a, const {1}* b, {1}* out, long count) {{\n"
          "  (void)b;\n  for (long i = 0; i < count; ++i) out[i] = {0}({2});\n}}\n",
          function.name(), function.dtype == DType::float32 ? "float" : "double", two ? "a[i], b[i]" : "a[i]");
    }
    std::ofstream(folder_ / "math.c") << text;
    const std::string library = folder_ / "math.so";
    const std::string command =
        fmt::format("'{}' -std=c99 -Wall -Wextra -Werror -ffp-contract=off -O2 -fPIC -shared -o '{}' '{}' -lm",
                    C_COMPILER, library, (folder_ / "math.c").string());
    status_ = std::system(command.c_str());
    handle_ = ::dlopen(library.c_str(), RTLD_NOW);
  }
  ~CLibrary() {
    if (handle_ != nullptr) ::dlclose(handle_);
    std::filesystem::remove_all(folder_);
  }
  CLibrary(const CLibrary&) = delete;
  CLibrary& operator=(const CLibrary&) = delete;

  int status() const { return status_; }
  template <class T>
  std::vector<T> run(const CFunction& function, const Arguments<T>& arguments) const {
    using Run = void (*)(const T*, const T*, T*, long);
    const auto entry = reinterpret_cast<Run>(::dlsym(handle_, ("run_" + function.name()).c_str()));
    std::vector<T> out(arguments.a.size());
    entry(arguments.a.data(), arguments.b.data(), out.data(), static_cast<long>(out.size()));
    return out;
  }

 private:
  std::filesystem::path folder_;
  int status_ = 0;
  void* handle_ = nullptr;
};

class CSource : public ::testing::TestWithParam<CFunction> {
 protected:
  static void SetUpTestSuite() { library_ = std::make_unique<CLibrary>(); }
  static void TearDownTestSuite() { library_.reset(); }
  static std::unique_ptr<CLibrary> library_;
};
std::unique_ptr<CLibrary> CSource::library_;

/// Every special value with every other, those that suit the function, and of float32 a walk over all bits.
template <class T>
Arguments<T> sample(Op op) {
  constexpr std::uint64_t kStep = 4099;
  constexpr std::uint64_t kEnd = sizeof(T) == 4 ? std::uint64_t{1} << 32 : 0;
  const auto known = std::ranges::find(math_functions(), op, &MathFunction::op);
  Arguments<T> arguments = arguments_for<T>(*known, std::size_t{1} << 17, 70);
  for (const T a : special_values<T>()) {
    for (const T b : special_values<T>()) {
      arguments.a.push_back(a);
      arguments.b.push_back(b);
    }
  }
  for (std::uint64_t bits = 0; bits < kEnd; bits += kStep) {
    arguments.a.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    arguments.b.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits * 2654435761U)));
  }
  while (arguments.a.size() % 8 != 0) {
    arguments.a.push_back(1);
    arguments.b.push_back(1);
  }
  return arguments;
}

template <class T>
void expect_the_bits_of_vectors(const CLibrary& library, const CFunction& function) {
  const Arguments<T> arguments = sample<T>(function.op);
  const int arity = static_cast<int>(info(function.op).args.size());
  const MathCode code = MathCode::compile<T>(function.op, arity, 8, "x86-64-v3");
  std::vector<T> expected(arguments.a.size());
  code.run(std::span<const T>(arguments.a), std::span<const T>(arguments.b), std::span<T>(expected));
  EXPECT_EQ(differing(expected, library.run(function, arguments)), 0U) << function.name();
}

TEST_P(CSource, HasTheBitsOfVectors) {
  ASSERT_EQ(library_->status(), 0);
  if (GetParam().dtype == DType::float32) {
    expect_the_bits_of_vectors<float>(*library_, GetParam());
  } else {
    expect_the_bits_of_vectors<double>(*library_, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, CSource, ::testing::ValuesIn(codegen::c_functions()),
                         [](const auto& info) { return info.param.name(); });

TEST(CSources, HaveEveryFunctionOfTheVectorMathInBothDTypes) {
  const std::vector<CFunction> functions = codegen::c_functions();
  EXPECT_EQ(functions.size(), 2 * math_functions().size());
  const std::string text = codegen::c_source(functions);
  for (const CFunction& function : functions) {
    EXPECT_NE(text.find(" " + function.name() + "("), std::string::npos) << function.name();
  }
}

TEST(CSources, AreOpenClCToo) {
  const std::string compiler = OPENCL_COMPILER;
  if (compiler.empty()) GTEST_SKIP() << "clang is not installed";
  const std::filesystem::path file = std::filesystem::temp_directory_path() / fmt::format("lento-{}.cl", ::getpid());
  std::ofstream(file) << codegen::c_source(codegen::c_functions());
  const std::string command = fmt::format(
      "'{}' -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only -Wall -Wextra -Werror "
      "-Wno-unused-function '{}'",
      compiler, file.string());
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove(file);
}

TEST(CSources, HoldOnlyWhatIsAskedFor) {
  const CFunction log{op::log, DType::float64};
  const std::string text = codegen::c_source({&log, 1});
  EXPECT_NE(text.find("static inline double lento_log_f64(double x) {"), std::string::npos);
  EXPECT_EQ(text.find("lento_exp"), std::string::npos);
  EXPECT_EQ(text.find("LENTO_TABLE double"), std::string::npos);
}

TEST(CSources, AreRefusedForWhatTheVectorMathLacks) {
  for (const CFunction& wrong : {CFunction{op::add, DType::float32}, CFunction{op::exp, DType::float16}}) {
    EXPECT_THROW(codegen::c_source({&wrong, 1}), ValueError);
  }
}

/// A function of one float to which `body` gives the result.
template <class Body>
std::string printed(const Body& body) {
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  llvm::IRBuilder<> builder(context);
  auto* type = llvm::FunctionType::get(builder.getFloatTy(), {builder.getFloatTy()}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", module);
  function->getArg(0)->setName("x");
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "start", function));
  builder.CreateRet(body(builder, *function));
  return codegen::c_function(*function);
}

TEST(CFunctions, NumbersKeepTheirBits) {
  const auto number = [](float value) {
    return printed([&](llvm::IRBuilder<>& b, llvm::Function&) {
      return llvm::ConstantFP::get(b.getContext(), llvm::APFloat(value));
    });
  };
  EXPECT_EQ(number(1.5F), "static inline float f(float x) {\n  return 0x1.8p+0f;\n}\n");
  EXPECT_NE(number(-0.0F).find("return -0x0p+0f;"), std::string::npos);
  EXPECT_NE(number(-HUGE_VALF).find("return LENTO_FROM_BITS_F32(0xff800000);"), std::string::npos);
  EXPECT_NE(number(std::bit_cast<float>(0x7fc00123U)).find("return LENTO_FROM_BITS_F32(0x7fc00123);"),
            std::string::npos);
  const std::string smallest = number(std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(std::strtof(smallest.c_str() + smallest.find("0x"), nullptr), std::numeric_limits<float>::denorm_min());
}

TEST(CFunctions, WhatHasNoCIsRefusedByName) {
  try {
    printed([](llvm::IRBuilder<>& b, llvm::Function& f) { return b.CreateFRem(f.getArg(0), f.getArg(0)); });
    FAIL() << "frem has no operator in C";
  } catch (const BackendError& error) {
    EXPECT_NE(std::string(error.what()).find("frem"), std::string::npos) << error.what();
  }
}

TEST(CFunctions, LoopsAreRefused) {
  const auto loop = [](llvm::IRBuilder<>& b, llvm::Function& f) {
    auto* around = llvm::BasicBlock::Create(b.getContext(), "around", &f);
    auto* after = llvm::BasicBlock::Create(b.getContext(), "after", &f);
    b.CreateBr(around);
    b.SetInsertPoint(around);
    b.CreateCondBr(b.CreateFCmpOLT(f.getArg(0), f.getArg(0)), around, after);
    b.SetInsertPoint(after);
    return f.getArg(0);
  };
  EXPECT_THROW(printed(loop), BackendError);
}

}  // namespace
}  // namespace lento::testing
