// What front ends need that receive DLPack in wrappings of their own.
#pragma once

#include <lento/device.h>
#include <lento/export.h>
#include <lento/tensor.h>

#include "interop/dlpack_abi.h"

#include <functional>
#include <memory>
#include <optional>

namespace lento::dlpack {

/// Throws ValueError for a version whose layout is not known. Of such a one only the deleter may be used.
void check_version(const DLManagedTensorVersioned& managed);

/// Whether the producer says that nobody writes the memory.
inline bool is_unchanging(const DLManagedTensorVersioned& managed) {
  return (managed.flags & (kReadOnly | kIsCopied)) != 0;
}
inline bool is_unchanging(const DLManagedTensor& /*managed*/) { return false; }

/// A tensor with these elements, as from_dlpack: shared, then `make_owner` gives what keeps them, or copied.
Tensor receive(const DLTensor& source, bool unchanging, std::optional<bool> copy, Device device,
               const std::function<std::shared_ptr<const void>()>& make_owner);

}  // namespace lento::dlpack
