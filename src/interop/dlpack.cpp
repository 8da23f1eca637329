#include "interop/dlpack.h"

#include <lento/dlpack.h>

#include "backend/background.h"
#include "base/fail.h"
#include "base/source.h"
#include "interop/strided.h"
#include "ir/shape_limit.h"

#include <concepts>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace lento {

namespace {

DLDataType type_of(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  if (is_bool(dtype)) return {dlpack::kBool, bits, 1};
  if (dtype == DType::bfloat16) return {dlpack::kBfloat, bits, 1};
  if (is_signed_integer(dtype)) return {dlpack::kInt, bits, 1};
  if (is_unsigned_integer(dtype)) return {dlpack::kUInt, bits, 1};
  return {is_floating(dtype) ? dlpack::kFloat : dlpack::kComplex, bits, 1};
}

DType dtype_of(const DLDataType& type) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const DLDataType own = type_of(static_cast<DType>(d));
    if (own.code == type.code && own.bits == type.bits && type.lanes == 1) return static_cast<DType>(d);
  }
  fail<DTypeError>("Lento has no dtype for DLPack's type {} of {} bits and {} lanes", int{type.code}, int{type.bits},
                   int{type.lanes});
}

// --- giving: what is managed is a tensor, or a copy of its elements ---

template <class Managed>
struct Given {
  Managed managed{};
  Tensor tensor;  // while it lives, nobody writes its memory; empty when there is a copy
  std::unique_ptr<void, void (*)(void*)> copy{nullptr, std::free};
  Shape shape;
  Ints strides;  // in elements
};

/// Consumers call this, on any thread.
template <class Managed>
void take_back(Managed* managed) {
  delete static_cast<Given<Managed>*>(managed->manager_ctx);
}

void* copy_of(const void* data, std::size_t bytes) {
  void* const copy = std::aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (copy == nullptr) throw std::bad_alloc();
  if (bytes != 0) std::memcpy(copy, data, bytes);
  return copy;
}

template <class Managed>
std::unique_ptr<Managed, DLPackDeleter> give(const Tensor& x, bool copy) {
  if (!in_host_memory(x.device())) {
    fail<DeviceError>("tensors on {} cannot be exported; move them with to_device first", x.device().to_string());
  }
  auto given = std::make_unique<Given<Managed>>();
  const void* data = copy ? x.data_pointer() : export_data(x);
  if (copy) {
    given->copy.reset(copy_of(data, static_cast<std::size_t>(x.size()) * size_of(x.dtype())));
    data = given->copy.get();
  } else {
    given->tensor = x;
  }
  given->shape = x.shape();
  given->strides.resize(given->shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = given->shape.size(); axis-- > 0;) {
    given->strides[axis] = stride;
    stride *= std::max<std::int64_t>(given->shape[axis], 1);
  }
  Managed& managed = given->managed;
  managed.manager_ctx = given.get();
  managed.deleter = take_back<Managed>;
  managed.dl_tensor = {const_cast<void*>(data),
                       {dlpack::kCpu, 0},
                       static_cast<std::int32_t>(given->shape.size()),
                       type_of(x.dtype()),
                       given->shape.data(),
                       given->strides.data(),
                       0};
  if constexpr (std::same_as<Managed, DLManagedTensorVersioned>) {
    managed.version = {dlpack::kMajor, dlpack::kMinor};
    managed.flags = copy ? dlpack::kIsCopied : dlpack::kReadOnly;
  }
  return std::unique_ptr<Managed, DLPackDeleter>(&given.release()->managed);
}

// --- taking ---

/// These are made by hand in many libraries; a wrong one is told from a right one where it can be.
void check_extents(const DLTensor& source) {
  constexpr std::int32_t kMostAxes = 64;  // as many as NumPy, and nested lists, may have
  if (source.ndim < 0 || source.ndim > kMostAxes) {
    fail<ValueError>("the DLPack tensor has {} axes; there may be 0 to {}", source.ndim, kMostAxes);
  }
  if (source.ndim > 0 && source.shape == nullptr) {
    fail<ValueError>("the DLPack tensor has {} axes and no shape", source.ndim);
  }
  bool empty = false;
  for (std::int32_t axis = 0; axis < source.ndim; ++axis) {
    const std::int64_t extent = source.shape[axis];
    if (extent < 0) fail<ValueError>("axis {} of the DLPack tensor has {} elements", axis, extent);
    empty = empty || extent == 0;
  }
  // Also of an empty one: it has strides too.
  const std::span<const std::int64_t> shape(source.shape, static_cast<std::size_t>(source.ndim));
  if (!broken_shape_rule(shape).empty()) fail<ValueError>("the DLPack tensor has more elements than memory can hold");
  if (!empty && source.data == nullptr) fail<ValueError>("the DLPack tensor has elements and no memory");
}

StridedMemory memory_of(const DLTensor& source) {
  StridedMemory memory;
  memory.dtype = dtype_of(source.dtype);
  check_extents(source);
  const auto rank = static_cast<std::size_t>(source.ndim);
  if (rank != 0) memory.shape = Shape(source.shape, source.shape + rank);
  if (source.strides == nullptr) {
    memory.strides = contiguous_strides(memory.shape, memory.dtype);
  } else {
    memory.strides = Ints(source.strides, source.strides + rank);
    for (std::int64_t& stride : memory.strides) {
      if (__builtin_mul_overflow(stride, static_cast<std::int64_t>(size_of(memory.dtype)), &stride))
        fail<ValueError>("the DLPack tensor has a stride that bytes cannot be counted by");
    }
  }
  memory.data = static_cast<const std::byte*>(source.data) + (source.data == nullptr ? 0 : source.byte_offset);
  return memory;
}

/// Gives it back when the last tensor that shares the memory is gone. The deleter may call anything, Lento too, and
/// tensors end under locks.
template <class Managed>
std::shared_ptr<const void> owner_of(std::unique_ptr<Managed, DLPackDeleter> managed) {
  const auto give_back = [](const Managed* held) {
    auto* const ended = const_cast<Managed*>(held);
    try {
      finish_later([ended] { DLPackDeleter()(ended); });
    } catch (const std::bad_alloc&) {
      DLPackDeleter()(ended);
    }
  };
  return std::shared_ptr<const Managed>(managed.release(), give_back);
}

template <class Managed>
Tensor take(Managed* given, std::optional<bool> copy, Device device) {
  if (given == nullptr) fail<ValueError>("there is nothing: the pointer is null");
  std::unique_ptr<Managed, DLPackDeleter> managed(given);
  if (managed->deleter == take_back<Managed>) {
    const Tensor own = static_cast<Given<Managed>*>(managed->manager_ctx)->tensor;
    if (own.defined() && own.device() == device) return own;
  }
  if constexpr (std::same_as<Managed, DLManagedTensorVersioned>) dlpack::check_version(*managed);
  return dlpack::receive(managed->dl_tensor, dlpack::is_unchanging(*managed), copy, device,
                         [&] { return owner_of(std::move(managed)); });
}

template <class Managed>
void call_deleter(Managed* managed) noexcept {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace

namespace dlpack {

void check_version(const DLManagedTensorVersioned& managed) {
  if (managed.version.major > kMajor) {
    fail<ValueError>("DLPack {} is newer than {}.x, which Lento knows", managed.version.major, kMajor);
  }
}

Tensor receive(const DLTensor& source, bool unchanging, std::optional<bool> copy, Device device,
               const std::function<std::shared_ptr<const void>()>& make_owner) {
  if (!in_host_memory(source.device)) {
    fail<DeviceError>("the memory is not the host's, but that of DLPack's device type {}", source.device.device_type);
  }
  const StridedMemory memory = memory_of(source);
  const bool can_share = memory.shareable() && lento::in_host_memory(device);
  if (copy == false && !can_share && memory.bytes() != 0) {
    fail<ValueError>(
        "copy=False needs memory that is aligned, strides of whole elements, and a device that uses host memory");
  }
  if (can_share && copy != true && (copy == false || unchanging)) {
    return shared_from(memory, make_owner(), device);
  }
  return copied_from(memory, device);
}

}  // namespace dlpack

void DLPackDeleter::operator()(DLManagedTensor* managed) const noexcept { call_deleter(managed); }
void DLPackDeleter::operator()(DLManagedTensorVersioned* managed) const noexcept { call_deleter(managed); }

DLPack to_dlpack(const Tensor& x, bool copy, std::source_location site) {
  const CallScope scope("to_dlpack", site);
  return give<DLManagedTensorVersioned>(x, copy);
}
DLPackUnversioned to_dlpack_unversioned(const Tensor& x, bool copy, std::source_location site) {
  const CallScope scope("to_dlpack", site);
  return give<DLManagedTensor>(x, copy);
}

Tensor from_dlpack(DLManagedTensorVersioned* managed, std::optional<bool> copy, Device device,
                   std::source_location site) {
  const CallScope scope("from_dlpack", site);
  return take(managed, copy, device);
}
Tensor from_dlpack(DLManagedTensor* managed, std::optional<bool> copy, Device device, std::source_location site) {
  const CallScope scope("from_dlpack", site);
  return take(managed, copy, device);
}

}  // namespace lento
