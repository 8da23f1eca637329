// Loads and stores: between the form of values in memory and in registers.
#include "codegen/emitter.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <vector>

namespace lento::codegen {

using llvm::FixedVectorType;
using llvm::Type;
using llvm::Value;

Emitter::Emitter(llvm::IRBuilderBase& builder, unsigned lanes, const TargetHooks& hooks)
    : b_(builder), lanes_(lanes), hooks_(hooks) {}

Type* Emitter::in_lanes(Type* element, unsigned parts) const {
  return lanes_ * parts == 1 ? element : FixedVectorType::get(element, lanes_ * parts);
}

Type* Emitter::memory_type(DType dtype) const {
  switch (dtype) {
    case DType::float32:
    case DType::complex64:
      return b_.getFloatTy();
    case DType::float64:
    case DType::complex128:
      return b_.getDoubleTy();
    default:
      return b_.getIntNTy(static_cast<unsigned>(size_of(dtype)) * 8);
  }
}

Type* Emitter::memory_vector(DType dtype) const { return in_lanes(memory_type(dtype), parts(dtype)); }

Type* Emitter::type(DType dtype) const {
  Type* element = is_bool(dtype) ? b_.getInt1Ty() : is_half(dtype) ? b_.getFloatTy() : memory_type(dtype);
  return in_lanes(element, parts(dtype));
}

Value* Emitter::to_memory(DType dtype, Value* value) {
  Type* target = memory_vector(dtype);
  switch (dtype) {
    case DType::bool_:
      return b_.CreateZExt(value, target);
    case DType::float16:
      return b_.CreateBitCast(b_.CreateFPTrunc(value, in_lanes(b_.getHalfTy())), target);
    case DType::bfloat16: {
      // Already rounded: the lower half is 0.
      Value* bits = b_.CreateBitCast(value, in_lanes(b_.getInt32Ty()));
      return b_.CreateTrunc(b_.CreateLShr(bits, 16), target);
    }
    default:
      return value;
  }
}

Value* Emitter::from_memory(DType dtype, Value* value) {
  switch (dtype) {
    case DType::bool_:
      return b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
    case DType::float16:
      return b_.CreateFPExt(b_.CreateBitCast(value, in_lanes(b_.getHalfTy())), type(dtype));
    case DType::bfloat16: {
      Value* bits = b_.CreateZExt(value, in_lanes(b_.getInt32Ty()));
      return b_.CreateBitCast(b_.CreateShl(bits, 16), type(dtype));
    }
    default:
      return value;
  }
}

Value* Emitter::widened(DType dtype, Value* mask) {
  if (mask == nullptr || !is_complex(dtype) || lanes_ == 1) return mask;
  std::vector<int> twice(2 * lanes_);
  for (unsigned i = 0; i < twice.size(); ++i) twice[i] = static_cast<int>(i / 2);
  return b_.CreateShuffleVector(mask, twice);
}

Value* Emitter::as_vector(Value* value) {
  if (value->getType()->isVectorTy()) return value;
  return b_.CreateInsertElement(llvm::PoisonValue::get(FixedVectorType::get(value->getType(), 1)), value,
                                std::uint64_t{0});
}

Value* Emitter::mask_vector(DType dtype, Value* mask) {
  return lanes_ == 1 ? b_.CreateVectorSplat(parts(dtype), mask) : widened(dtype, mask);
}

Value* Emitter::load(DType dtype, Value* pointer, Value* mask) {
  Type* elements_type = memory_vector(dtype);
  const llvm::Align align(size_of(real_type(dtype)));
  if (mask == nullptr) return from_memory(dtype, b_.CreateAlignedLoad(elements_type, pointer, align));
  Type* vector = FixedVectorType::get(memory_type(dtype), lanes_ * parts(dtype));
  Value* elements =
      b_.CreateMaskedLoad(vector, pointer, align, mask_vector(dtype, mask), llvm::Constant::getNullValue(vector));
  return from_memory(dtype,
                     elements_type->isVectorTy() ? elements : b_.CreateExtractElement(elements, std::uint64_t{0}));
}

void Emitter::store(DType dtype, Value* value, Value* pointer, Value* mask) {
  const llvm::Align align(size_of(real_type(dtype)));
  Value* elements = to_memory(dtype, value);
  if (mask == nullptr) {
    b_.CreateAlignedStore(elements, pointer, align);
  } else {
    b_.CreateMaskedStore(as_vector(elements), pointer, align, mask_vector(dtype, mask));
  }
}

Value* Emitter::gather(DType dtype, Value* pointer, Value* offsets, Value* mask) {
  if (mask != nullptr) {
    offsets = b_.CreateSelect(mask, offsets, llvm::Constant::getNullValue(offsets->getType()));
  }
  if (lanes_ == 1) return load(dtype, b_.CreatePtrAdd(pointer, offsets), nullptr);
  if (size_of(dtype) >= 4 && !is_complex(dtype)) {
    Value* pointers = b_.CreateGEP(b_.getInt8Ty(), pointer, offsets);
    return b_.CreateMaskedGather(memory_vector(dtype), pointers, llvm::Align(size_of(dtype)));
  }
  // Processors gather 32 and 64 bits only.
  Value* elements = llvm::PoisonValue::get(memory_vector(dtype));
  Type* element = memory_type(dtype);
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    Value* at = b_.CreateGEP(b_.getInt8Ty(), pointer, b_.CreateExtractElement(offsets, lane));
    for (unsigned part = 0; part < parts(dtype); ++part) {
      Value* one = b_.CreateAlignedLoad(element, b_.CreateConstGEP1_32(element, at, part),
                                        llvm::Align(size_of(real_type(dtype))));
      elements = b_.CreateInsertElement(elements, one, lane * parts(dtype) + part);
    }
  }
  return from_memory(dtype, elements);
}

void Emitter::scatter(DType dtype, Value* value, Value* pointer, Value* offsets, Value* mask) {
  if (lanes_ == 1) return store(dtype, value, b_.CreatePtrAdd(pointer, offsets), mask);
  if (mask == nullptr) mask = llvm::Constant::getAllOnesValue(FixedVectorType::get(b_.getInt1Ty(), lanes_));
  Value* elements = to_memory(dtype, value);
  const llvm::Align align(size_of(real_type(dtype)));
  Value* pointers = b_.CreateGEP(b_.getInt8Ty(), pointer, offsets);
  for (unsigned part = 0; part < parts(dtype); ++part) {
    Value* these = elements;
    if (is_complex(dtype)) {
      std::vector<int> every(lanes_);
      for (unsigned i = 0; i < lanes_; ++i) every[i] = static_cast<int>(2 * i + part);
      these = b_.CreateShuffleVector(elements, every);
    }
    Value* at = part == 0 ? pointers : b_.CreateConstGEP1_32(memory_type(dtype), pointers, part);
    b_.CreateMaskedScatter(these, at, align, mask);
  }
}

Value* Emitter::load_one(DType dtype, Value* pointer) {
  if (lanes_ == 1) return load(dtype, pointer, nullptr);
  Type* element = memory_type(dtype);
  const llvm::Align align(size_of(real_type(dtype)));
  if (!is_complex(dtype)) {
    return from_memory(dtype, b_.CreateVectorSplat(lanes_, b_.CreateAlignedLoad(element, pointer, align)));
  }
  Value* pair = b_.CreateAlignedLoad(FixedVectorType::get(element, 2), pointer, align);
  std::vector<int> alternating(2 * lanes_);
  for (unsigned i = 0; i < alternating.size(); ++i) alternating[i] = static_cast<int>(i % 2);
  return b_.CreateShuffleVector(pair, alternating);
}

void Emitter::store_one(DType dtype, Value* value, Value* pointer) {
  if (lanes_ == 1) return store(dtype, value, pointer, nullptr);
  Value* elements = to_memory(dtype, value);
  for (unsigned part = 0; part < parts(dtype); ++part) {
    b_.CreateAlignedStore(b_.CreateExtractElement(elements, part),
                          b_.CreateConstGEP1_32(memory_type(dtype), pointer, part),
                          llvm::Align(size_of(real_type(dtype))));
  }
}

Value* Emitter::lane_numbers(Type* integer) const {
  std::vector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < lanes_; ++lane) numbers.push_back(llvm::ConstantInt::get(integer, lane));
  return lanes_ == 1 ? numbers[0] : llvm::ConstantVector::get(numbers);
}

Value* Emitter::mask_of(Value* count) {
  // The count may be larger than the lanes, but not than what 32 bits hold once it is cut off.
  Value* lanes = b_.getInt64(lanes_);
  Value* cut = b_.CreateSelect(b_.CreateICmpULT(count, lanes), count, lanes);
  return b_.CreateICmpULT(lane_numbers(b_.getInt32Ty()), splat(b_.CreateTrunc(cut, b_.getInt32Ty())));
}

Value* Emitter::lane_offsets(Value* stride) { return b_.CreateMul(lane_numbers(b_.getInt64Ty()), splat(stride)); }

Value* Emitter::splat(Value* value) { return lanes_ == 1 ? value : b_.CreateVectorSplat(lanes_, value); }

Value* Emitter::positions(Value* first) { return b_.CreateAdd(splat(first), lane_numbers(b_.getInt64Ty())); }

void Emitter::stream(DType dtype, Value* value, Value* pointer) {
  const std::uint64_t bytes = size_of(dtype) * lanes_;
  llvm::StoreInst* store =
      b_.CreateAlignedStore(to_memory(dtype, value), pointer, llvm::Align(std::min<std::uint64_t>(bytes, 64)));
  auto* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(b_.getContext(), one));
}

void Emitter::turn_tile(DType dtype, const Lines& from, const Lines& to) {
  // Elements are moved whole, whatever they hold.
  const std::size_t size = size_of(dtype);
  const llvm::Align align(size_of(real_type(dtype)));
  Type* vector = in_lanes(b_.getIntNTy(static_cast<unsigned>(size) * 8));
  std::vector<Value*> lines;
  Value* at = from.first;
  for (unsigned i = 0; i < lanes_; ++i) {
    if (from.mask == nullptr) {
      lines.push_back(b_.CreateAlignedLoad(vector, at, align));
    } else {
      Value* nothing = llvm::Constant::getNullValue(vector);
      lines.push_back(b_.CreateMaskedLoad(vector, at, align, from.mask, nothing));
    }
    at = b_.CreatePtrAdd(at, from.stride);
  }
  // Each round exchanges the off-diagonal halves of squares of twice the distance.
  for (unsigned distance = lanes_ / 2; distance > 0; distance /= 2) {
    std::vector<int> low(lanes_), high(lanes_);
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      const bool second = (lane & distance) != 0;
      low[lane] = static_cast<int>(second ? lanes_ + lane - distance : lane);
      high[lane] = static_cast<int>(second ? lanes_ + lane : lane + distance);
    }
    for (unsigned i = 0; i < lanes_; ++i) {
      if ((i & distance) != 0) continue;
      Value* a = lines[i];
      Value* b = lines[i + distance];
      lines[i] = b_.CreateShuffleVector(a, b, low);
      lines[i + distance] = b_.CreateShuffleVector(a, b, high);
    }
  }
  at = to.first;
  for (unsigned i = 0; i < lanes_; ++i) {
    if (to.mask == nullptr) {
      b_.CreateAlignedStore(lines[i], at, align);
    } else {
      b_.CreateMaskedStore(lines[i], at, align, to.mask);
    }
    at = b_.CreatePtrAdd(at, to.stride);
  }
}

Value* Emitter::local(std::uint64_t bytes) {
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* memory = at_entry.CreateAlloca(at_entry.getInt8Ty(), at_entry.getInt64(bytes));
  memory->setAlignment(llvm::Align(64));
  return memory;
}

Value* Emitter::local_value(DType dtype) {
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type(dtype));
}

Value* Emitter::load_local(DType dtype, Value* local) { return b_.CreateLoad(type(dtype), local); }

Value* Emitter::shift_down(DType dtype, Value* value, unsigned distance) {
  std::vector<int> order(lanes_ * parts(dtype), llvm::PoisonMaskElem);
  for (unsigned i = 0; i < distance * parts(dtype); ++i) order[i] = static_cast<int>(i + distance * parts(dtype));
  return b_.CreateShuffleVector(value, order);
}

Value* Emitter::select(DType dtype, Value* mask, Value* a, Value* b) {
  return b_.CreateSelect(widened(dtype, mask), a, b);
}

Value* Emitter::number(DType dtype, double value) {
  if (is_inexact(dtype)) return llvm::ConstantFP::get(type(dtype), value);
  return llvm::ConstantInt::get(type(dtype), static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
}

}  // namespace lento::codegen
