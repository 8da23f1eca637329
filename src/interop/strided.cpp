#include "interop/strided.h"

#include <lento/host_data.h>

#include "ir/attrs_index_map.gen.h"
#include "ir/infer_index_map.gen.h"
#include "ir/op_index_map.gen.h"
#include "ir/reach.h"
#include "ir/shape_limit.h"
#include "tensor/record.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace lento {

namespace {

void copy_row(const StridedMemory& memory, const std::byte* source, std::int64_t count, std::int64_t stride,
              std::byte*& to) {
  const std::size_t size = size_of(memory.dtype);
  if (!memory.swapped) {
    if (stride == static_cast<std::int64_t>(size)) {
      std::memcpy(to, source, static_cast<std::size_t>(count) * size);
      to += static_cast<std::size_t>(count) * size;
      return;
    }
    for (std::int64_t i = 0; i < count; ++i, source += stride, to += size) std::memcpy(to, source, size);
    return;
  }
  const std::size_t part = is_complex(memory.dtype) ? size / 2 : size;  // the two parts keep their places
  for (std::int64_t i = 0; i < count; ++i, source += stride, to += size) {
    for (std::size_t offset = 0; offset < size; offset += part) {
      std::reverse_copy(source + offset, source + offset + part, to + offset);
    }
  }
}

void copy_axis(const StridedMemory& memory, std::size_t axis, const std::byte* source, std::byte*& to) {
  if (axis + 1 >= memory.shape.size()) {
    const bool scalar = memory.shape.empty();
    copy_row(memory, source, scalar ? 1 : memory.shape[axis],
             scalar ? static_cast<std::int64_t>(size_of(memory.dtype)) : memory.strides[axis], to);
    return;
  }
  for (std::int64_t i = 0; i < memory.shape[axis]; ++i)
    copy_axis(memory, axis + 1, source + i * memory.strides[axis], to);
}

bool is_aligned(const StridedMemory& memory) {
  return reinterpret_cast<std::uintptr_t>(memory.data) % size_of(real_type(memory.dtype)) == 0;
}

/// The strides in elements, 0 where nothing is stepped along; nothing when one is no whole number of them.
std::optional<Ints> element_strides(const StridedMemory& memory) {
  const auto size = static_cast<std::int64_t>(size_of(memory.dtype));
  Ints strides(memory.shape.size(), 0);
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    if (memory.shape[axis] == 1) continue;
    if (memory.strides[axis] % size != 0) return std::nullopt;
    strides[axis] = memory.strides[axis] / size;
  }
  return strides;
}

/// True for elements that a vector of elements holds.
bool lies_in_vector(const StridedMemory& memory) {
  const std::optional<Ints> strides = element_strides(memory);
  const std::optional<Reach> reach = strides ? reach_of(memory.shape, *strides) : std::nullopt;
  return reach && reach->fits(kMostElements);
}

}  // namespace

Ints contiguous_strides(const Shape& shape, DType dtype) {
  Ints strides(shape.size(), 0);
  auto stride = static_cast<std::int64_t>(size_of(dtype));
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

bool StridedMemory::contiguous() const {
  if (swapped) return false;
  if (element_count(shape) == 0) return true;
  auto stride = static_cast<std::int64_t>(size_of(dtype));
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != stride) return false;
    stride *= shape[axis];
  }
  return is_aligned(*this);
}

bool StridedMemory::shareable() const {
  if (bytes() == 0) return false;
  if (!contiguous()) return dtype != DType::bool_ && !swapped && is_aligned(*this) && lies_in_vector(*this);
  const auto plain = [](std::byte byte) { return byte <= std::byte{1}; };
  return dtype != DType::bool_ || std::all_of(data, data + bytes(), plain);
}

void StridedMemory::copy_to(void* destination) const {
  if (element_count(shape) == 0) return;
  auto* to = static_cast<std::byte*>(destination);
  copy_axis(*this, 0, data, to);
}

Tensor shared_from(const StridedMemory& memory, std::shared_ptr<const void> owner, Device device) {
  if (memory.contiguous()) return from_memory(memory.data, memory.dtype, memory.shape, std::move(owner), device);
  AsStridedAttrs attrs{memory.shape, element_strides(memory).value()};
  const Reach reach = reach_of(attrs.sizes, attrs.strides).value();
  const std::byte* const first = memory.data + reach.low * static_cast<std::int64_t>(size_of(memory.dtype));
  const Tensor all = from_memory(first, memory.dtype, Shape{reach.high - reach.low + 1}, std::move(owner), device);
  const Meta meta = infer_as_strided(meta_of(all), attrs);
  return record(op::as_strided, meta, {all, RecordOperand::number(-reach.low, DType::int64)}, intern(attrs));
}

Tensor copied_from(const StridedMemory& memory, Device device) {
  if (memory.contiguous()) return from_host(memory.data, memory.dtype, memory.shape, device);
  std::vector<std::byte> bytes(memory.bytes());
  memory.copy_to(bytes.data());
  return from_host(bytes.data(), memory.dtype, memory.shape, device);
}

}  // namespace lento
