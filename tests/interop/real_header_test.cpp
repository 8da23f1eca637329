// <lento/dlpack.h> beside the original header of DLPack: the same names, in either order.
#include <lento/dlpack.h>

#include "device_under_test.h"

#include <gtest/gtest.h>

#include <cstdint>

// As dlpack/dlpack.h writes it.
extern "C" {
typedef struct {
  uint32_t major;
  uint32_t minor;
} RealVersion;
typedef enum : int32_t { kRealCPU = 1 } RealDeviceType;
typedef struct {
  RealDeviceType device_type;
  int32_t device_id;
} RealDevice;
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} RealDataType;
typedef struct {
  void* data;
  RealDevice device;
  int32_t ndim;
  RealDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} RealTensor;
typedef struct DLManagedTensorVersioned {
  RealVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;
  RealTensor dl_tensor;
} DLManagedTensorVersioned;
}

// A second time, as for whoever includes the original header first.
struct DLManagedTensor;

namespace {

TEST(DLPackHeader, TheOriginalStructuresFit) {
  if (lento::on_another_device()) GTEST_SKIP() << "the host's memory is shared";
  DLManagedTensorVersioned* const given = lento::to_dlpack(lento::tensor({{1, 2, 3}, {4, 5, 6}})).release();
  EXPECT_EQ(given->dl_tensor.ndim, 2);
  EXPECT_EQ(given->dl_tensor.shape[1], 3);
  EXPECT_EQ(given->dl_tensor.device.device_type, kRealCPU);
  EXPECT_EQ(static_cast<const int32_t*>(given->dl_tensor.data)[5], 6);
  EXPECT_EQ(lento::from_dlpack(given).to_vector<std::int32_t>().back(), 6);
}

}  // namespace
