#include "codegen/c_function.h"

#include "base/fail.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/raw_ostream.h>

#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace lento::codegen {
namespace {

using llvm::cast;
using llvm::dyn_cast;

/// `refused` is a value or a type.
template <class Refused>
[[noreturn]] void refuse(const Refused& refused) {
  std::string text;
  llvm::raw_string_ostream(text) << refused;
  fail<BackendError>("c_function: no C for '{}'", text);
}

bool is_float(const llvm::Value& value) { return value.getType()->isFloatTy(); }

/// The type in C; with `is_signed` that of integers is signed.
std::string_view type_name(const llvm::Type& type, bool is_signed = false) {
  if (type.isFloatTy()) return "float";
  if (type.isDoubleTy()) return "double";
  if (type.isIntegerTy(1)) return "int";
  if (type.isIntegerTy(32)) return is_signed ? "lento_s32" : "lento_u32";
  if (type.isIntegerTy(64)) return is_signed ? "lento_s64" : "lento_u64";
  refuse(type);
}

std::string number_text(const llvm::ConstantFP& number) {
  const llvm::APFloat& value = number.getValueAPF();
  const bool single = is_float(number);
  if (!value.isFinite()) {
    return fmt::format("LENTO_FROM_BITS_{}({:#x})", single ? "F32" : "F64", value.bitcastToAPInt().getZExtValue());
  }
  return single ? fmt::format("{:a}f", value.convertToFloat()) : fmt::format("{:a}", value.convertToDouble());
}

std::string integer_text(const llvm::ConstantInt& number) {
  constexpr std::uint64_t kReadable = 2048;  // shifts and biases of exponents
  const std::uint64_t value = number.getZExtValue();
  return value < kReadable ? fmt::format("{}", value) : fmt::format("{:#x}", value);
}

/// An operator of two numbers, or nothing.
std::string_view operator_of(unsigned opcode) {
  switch (opcode) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::Add:
      return "+";
    case llvm::Instruction::FSub:
    case llvm::Instruction::Sub:
      return "-";
    case llvm::Instruction::FMul:
    case llvm::Instruction::Mul:
      return "*";
    case llvm::Instruction::FDiv:
      return "/";
    case llvm::Instruction::And:
      return "&";
    case llvm::Instruction::Or:
      return "|";
    case llvm::Instruction::Xor:
      return "^";
    case llvm::Instruction::Shl:
      return "<<";
    case llvm::Instruction::LShr:
      return ">>";
    default:
      return {};
  }
}

std::string_view macro_of(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::fma:
      return "FMA";
    case llvm::Intrinsic::fabs:
      return "FABS";
    case llvm::Intrinsic::sqrt:
      return "SQRT";
    case llvm::Intrinsic::trunc:
      return "TRUNC";
    case llvm::Intrinsic::rint:
      return "RINT";
    case llvm::Intrinsic::copysign:
      return "COPYSIGN";
    default:
      return {};
  }
}

class Printer {
 public:
  explicit Printer(const llvm::Function& function) : function_(function) {}

  std::string run() {
    text_ = fmt::format("static inline {} {}(", type_name(*function_.getReturnType()), function_.getName().str());
    for (const llvm::Argument& argument : function_.args()) {
      names_[&argument] = argument.getName().str();
      text_ += fmt::format("{}{} {}", argument.getArgNo() == 0 ? "" : ", ", type_name(*argument.getType()),
                           names_[&argument]);
    }
    text_ += ") {\n";
    region(&function_.getEntryBlock(), nullptr);
    return text_ + "}\n";
  }

 private:
  /// Everything from `block` on, up to `end`.
  void region(const llvm::BasicBlock* block, const llvm::BasicBlock* end) {
    while (block != end) {
      if (!done_.insert(block).second) refuse(*block->getTerminator());  // a loop, or two ways here
      for (const llvm::Instruction& i : *block) {
        if (!i.isTerminator() && !llvm::isa<llvm::PHINode, llvm::GetElementPtrInst>(i)) {
          line("{} {} = {};", type_name(*i.getType()), named(i), expression(i));
        }
      }
      block = leave(*block);
    }
  }

  /// Where code goes on behind `block`.
  const llvm::BasicBlock* leave(const llvm::BasicBlock& block) {
    const llvm::Instruction& end = *block.getTerminator();
    if (const auto* result = dyn_cast<llvm::ReturnInst>(&end)) {
      line("return {};", operand(*result->getReturnValue()));
      return nullptr;
    }
    const auto* branch = dyn_cast<llvm::BranchInst>(&end);
    if (branch == nullptr) refuse(end);
    if (branch->isUnconditional()) {
      const llvm::BasicBlock* next = branch->getSuccessor(0);
      for (const llvm::PHINode& phi : next->phis()) {
        line("{} = {};", names_.at(&phi), operand(*phi.getIncomingValueForBlock(&block)));
      }
      return next;
    }
    // Something that is only done if: what comes afterwards has its values from before unless they are changed there.
    const llvm::BasicBlock* after = branch->getSuccessor(1);
    for (const llvm::PHINode& phi : after->phis()) {
      line("{} {} = {};", type_name(*phi.getType()), named(phi), operand(*phi.getIncomingValueForBlock(&block)));
    }
    line("if ({}) {{", operand(*branch->getCondition()));
    indent_ += 2;
    region(branch->getSuccessor(0), after);
    indent_ -= 2;
    line("}}");
    return after;
  }

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += std::string(indent_, ' ') + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  /// A new name: c3 is a condition, n3 an integer, v3 a float.
  std::string named(const llvm::Value& value) {
    const llvm::Type* type = value.getType();
    const char kind = type->isIntegerTy(1) ? 'c' : type->isIntegerTy() ? 'n' : 'v';
    return names_[&value] = fmt::format("{}{}", kind, ++count_);
  }

  /// A name or a number.
  std::string operand(const llvm::Value& value) const {
    if (const auto* number = dyn_cast<llvm::ConstantFP>(&value)) return number_text(*number);
    if (const auto* number = dyn_cast<llvm::ConstantInt>(&value)) return integer_text(*number);
    const auto found = names_.find(&value);
    if (found == names_.end()) refuse(value);
    return found->second;
  }

  std::string expression(const llvm::Instruction& i) const {
    const auto arg = [&](unsigned j) { return operand(*i.getOperand(j)); };
    const auto as_signed = [&](unsigned j) {
      return fmt::format("({}){}", type_name(*i.getOperand(j)->getType(), true), operand(*i.getOperand(j)));
    };
    if (const std::string_view sign = operator_of(i.getOpcode()); !sign.empty()) {
      return fmt::format("{} {} {}", arg(0), sign, arg(1));
    }
    switch (i.getOpcode()) {
      case llvm::Instruction::FNeg:
        return "-" + arg(0);
      case llvm::Instruction::AShr:  // C leaves it to the compiler what becomes of the sign; all keep it
        return fmt::format("({})({} >> {})", type_name(*i.getType()), as_signed(0), arg(1));
      case llvm::Instruction::Select:
        return fmt::format("{} ? {} : {}", arg(0), arg(1), arg(2));
      case llvm::Instruction::FPExt:
      case llvm::Instruction::FPTrunc:
      case llvm::Instruction::Trunc:
      case llvm::Instruction::ZExt:
        return fmt::format("({}){}", type_name(*i.getType()), arg(0));
      case llvm::Instruction::SIToFP:
        return fmt::format("({}){}", type_name(*i.getType()), as_signed(0));
      case llvm::Instruction::BitCast:
        return fmt::format("LENTO_{}_{}({})", i.getType()->isIntegerTy() ? "TO_BITS" : "FROM_BITS",
                           i.getType()->getScalarSizeInBits() == 32 ? "F32" : "F64", arg(0));
      case llvm::Instruction::FCmp:
      case llvm::Instruction::ICmp:
        return comparison(cast<llvm::CmpInst>(i));
      case llvm::Instruction::Load:
        return element(cast<llvm::LoadInst>(i));
      case llvm::Instruction::Call:
        return call(cast<llvm::CallInst>(i));
      default:
        refuse(i);
    }
  }

  std::string comparison(const llvm::CmpInst& i) const {
    const std::string a = operand(*i.getOperand(0));
    const std::string b = operand(*i.getOperand(1));
    const auto compared = [&](const char* sign) { return fmt::format("{} {} {}", a, sign, b); };
    switch (i.getPredicate()) {
      case llvm::CmpInst::FCMP_OLT:
      case llvm::CmpInst::ICMP_ULT:
        return compared("<");
      case llvm::CmpInst::FCMP_OGT:
      case llvm::CmpInst::ICMP_UGT:
        return compared(">");
      case llvm::CmpInst::FCMP_OEQ:
      case llvm::CmpInst::ICMP_EQ:
        return compared("==");
      case llvm::CmpInst::FCMP_UNE:
      case llvm::CmpInst::ICMP_NE:
        return compared("!=");
      case llvm::CmpInst::FCMP_UNO:
        return fmt::format("({0} != {0}) | ({1} != {1})", a, b);
      case llvm::CmpInst::ICMP_SLT: {
        const std::string_view type = type_name(*i.getOperand(0)->getType(), true);
        return fmt::format("({0}){1} < ({0}){2}", type, a, b);
      }
      default:
        refuse(i);
    }
  }

  /// What is read from a table.
  std::string element(const llvm::LoadInst& i) const {
    const auto* address = dyn_cast<llvm::GetElementPtrInst>(i.getPointerOperand());
    if (address == nullptr || address->getNumIndices() != 1 || address->getSourceElementType() != i.getType() ||
        !llvm::isa<llvm::GlobalVariable>(address->getPointerOperand())) {
      refuse(i);
    }
    return fmt::format("{}[{}]", address->getPointerOperand()->getName().str(), operand(*address->getOperand(1)));
  }

  std::string call(const llvm::CallInst& i) const {
    const llvm::Intrinsic::ID id = i.getIntrinsicID();
    if (id == llvm::Intrinsic::umax) {
      return fmt::format("{0} > {1} ? {0} : {1}", operand(*i.getArgOperand(0)), operand(*i.getArgOperand(1)));
    }
    const std::string_view macro = macro_of(id);
    if (macro.empty()) refuse(i);
    std::string args;
    for (const llvm::Use& arg : i.args()) args += (args.empty() ? "" : ", ") + operand(*arg);
    return fmt::format("LENTO_{}_{}({})", macro, is_float(i) ? "F32" : "F64", args);
  }

  const llvm::Function& function_;
  std::unordered_map<const llvm::Value*, std::string> names_;
  std::unordered_set<const llvm::BasicBlock*> done_;
  std::string text_;
  std::size_t indent_ = 2;
  unsigned count_ = 0;
};

}  // namespace

std::string c_function(const llvm::Function& function) { return Printer(function).run(); }

std::string c_table(const llvm::GlobalVariable& table) {
  const auto* values = dyn_cast<llvm::ConstantDataArray>(table.getInitializer());
  if (values == nullptr || !values->getElementType()->isDoubleTy()) refuse(table);
  std::string text = fmt::format("LENTO_TABLE double {}[{}] = {{", table.getName().str(), values->getNumElements());
  for (unsigned i = 0; i < values->getNumElements(); ++i) {
    text += fmt::format("{}{:a},", i % 4 == 0 ? "\n    " : " ", values->getElementAsDouble(i));
  }
  return text + "\n};\n";
}

}  // namespace lento::codegen
