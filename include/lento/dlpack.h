// DLPack: memory is handed to other array libraries, and taken from them, without a copy where that can be.
//
//     other_library(to_dlpack(x).release());      // reads the memory of x, and calls its deleter some time later
//     Tensor y = from_dlpack(managed);            // takes over what another library gives
//
// The structures are those of dlpack/dlpack.h, which is not needed here: include it, from wherever, to look inside.
#pragma once

#include <lento/device.h>
#include <lento/export.h>
#include <lento/tensor.h>

#include <memory>
#include <optional>
#include <source_location>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace lento {

/// Calls the deleter of what is held, if it has one.
struct LENTO_API DLPackDeleter {
  void operator()(DLManagedTensor* managed) const noexcept;
  void operator()(DLManagedTensorVersioned* managed) const noexcept;
};
/// Memory on its way from one library to another: release() gives it away, otherwise it is given back.
using DLPack = std::unique_ptr<DLManagedTensorVersioned, DLPackDeleter>;
/// The same as DLPack was before 1.0: nothing says that the memory is read-only.
using DLPackUnversioned = std::unique_ptr<DLManagedTensor, DLPackDeleter>;

/// The tensor's memory, computed if it is pending, as DLPack 1.0. It is flagged read-only: a tensor is a value, and
/// whoever has it may only read. With `copy` it is memory of its own, which may be written. The deleter may be called
/// on any thread, or never, also after main. Throws DeviceError for a tensor that is not in host memory, and what
/// computing it throws.
LENTO_API DLPack to_dlpack(const Tensor& x, bool copy = false,
                           std::source_location site = std::source_location::current());
/// The same for a consumer from before DLPack 1.0. It cannot be told that it must not write, so it gets memory of its
/// own, unless the caller knows that it only reads.
LENTO_API DLPackUnversioned to_dlpack_unversioned(const Tensor& x, bool copy = true,
                                                  std::source_location site = std::source_location::current());

/// A tensor with memory that another library hands over. It is taken over in any case, also when this throws: the
/// deleter is called when the memory is no longer needed, on a thread of Lento's. Memory that may still be written is
/// copied, because a tensor is a value; it is shared where its flags say that nobody writes it, and with copy = false
/// always: then changing it while work that reads it is pending is the caller's fault. What to_dlpack gave comes back
/// as the tensor that it was. Throws ValueError for null, for a layout that cannot be (a negative extent, elements
/// without memory, more than 64 axes, DLPack 2), and when copy = false cannot hold: for memory that is not row-major or
/// not aligned. Throws DTypeError for an element type that Lento does not have, DeviceError for memory that is not the
/// host's.
LENTO_API Tensor from_dlpack(DLManagedTensorVersioned* managed, std::optional<bool> copy = {}, Device device = {},
                             std::source_location site = std::source_location::current());
LENTO_API Tensor from_dlpack(DLManagedTensor* managed, std::optional<bool> copy = {}, Device device = {},
                             std::source_location site = std::source_location::current());
inline Tensor from_dlpack(DLPack managed, std::optional<bool> copy = {}, Device device = {},
                          std::source_location site = std::source_location::current()) {
  return from_dlpack(managed.release(), copy, device, site);
}
inline Tensor from_dlpack(DLPackUnversioned managed, std::optional<bool> copy = {}, Device device = {},
                          std::source_location site = std::source_location::current()) {
  return from_dlpack(managed.release(), copy, device, site);
}

}  // namespace lento
