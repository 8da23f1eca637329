// The C structures of DLPack 1.x, by which array libraries hand memory to each other inside PyCapsules.
#pragma once

#include <cstdint>

namespace lento::python::dlpack {

enum DeviceType : std::int32_t { kCpu = 1, kCudaHost = 3 };
enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };
enum Flags : std::uint64_t { kReadOnly = 1, kIsCopied = 2 };

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Array {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};

/// Inside a capsule "dltensor": nothing says that the memory is read-only.
struct Managed {
  Array array;
  void* context;
  void (*deleter)(Managed* self);
};

/// Inside a capsule "dltensor_versioned".
struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned* self);
  std::uint64_t flags;
  Array array;
};

static_assert(sizeof(Array) == 48 && sizeof(Managed) == 64 && sizeof(ManagedVersioned) == 80);

}  // namespace lento::python::dlpack
