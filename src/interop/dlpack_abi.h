// The C structures of DLPack 1.x, by which array libraries hand memory to each other. They have the names of the
// original header, dlpack/dlpack.h, in whose place this one stands: never include both. A few structures that never
// change are no reason for one more package to install.
#pragma once

#include <cstdint>

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

struct DLDevice {
  std::int32_t device_type;
  std::int32_t device_id;
};

struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};

/// From before 1.0: nothing says that the memory is read-only.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

static_assert(sizeof(DLTensor) == 48 && sizeof(DLManagedTensor) == 64 && sizeof(DLManagedTensorVersioned) == 80);

namespace lento::dlpack {

inline constexpr std::uint32_t kMajor = 1;
inline constexpr std::uint32_t kMinor = 0;

enum DeviceType : std::int32_t { kCpu = 1, kCudaHost = 3 };
enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };
enum Flags : std::uint64_t { kReadOnly = 1, kIsCopied = 2 };

/// Host memory, pinned or not.
inline bool in_host_memory(const DLDevice& device) {
  return device.device_type == kCpu || device.device_type == kCudaHost;
}

}  // namespace lento::dlpack
