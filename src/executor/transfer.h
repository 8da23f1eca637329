// Values on their way between devices, and between a device and the host. Nothing here waits, except for a read.
#pragma once

#include "base/value.h"

#include <cstdint>

namespace lento {

/// Starts a copy of a value to another device, behind whatever makes it, and returns the value there.
/// `info` says what that value is.
ValueRef copy_to_device(const ValueRef& source, std::size_t bytes, const ValueInfo& info);

/// The host's data as a value on a device. The data has been read when this comes back. Throws MemoryError.
ValueRef upload(const void* data, std::size_t bytes, const ValueInfo& info);

/// Where the host can read a settled value, for as long as the value lives. Of a device with memory of its own it is a
/// copy, which is made once.
const void* host_view(Value& value);

/// The same if that takes no wait and no copy, else null. For checks of values that are known when a function is
/// called.
const void* known_on_host(const Value& value);

}  // namespace lento
