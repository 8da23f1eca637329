#include "files/npy.h"

#include "files/malformed.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace lento::files {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// What version 1.0 can say; NumPy reads no more than 10,000 bytes.
constexpr std::uint32_t kLongestHeader = 65535;

std::string read_header_text(ByteSource& source) {
  unsigned char start[8];
  source.read(start, sizeof start);
  if (std::memcmp(start, kMagic.data(), kMagic.size()) != 0) malformed("it does not begin as a .npy file");
  const int major = start[6];
  if (major < 1 || major > 3 || start[7] != 0)
    malformed("version {}.{} of .npy files is not known; 1.0, 2.0 and 3.0 are", major, start[7]);
  unsigned char sizes[4] = {};
  source.read(sizes, major == 1 ? 2 : 4);
  const std::uint32_t length = sizes[0] | sizes[1] << 8 | sizes[2] << 16 | std::uint32_t{sizes[3]} << 24;
  if (length > kLongestHeader) malformed("a header of {} bytes is longer than the {} allowed", length, kLongestHeader);
  std::string text(length, '\0');
  source.read(text.data(), text.size());
  return text;
}

void swap_bytes(unsigned char* data, std::size_t bytes, std::size_t width) {
  for (std::size_t at = 0; at < bytes; at += width) std::reverse(data + at, data + at + width);
}

/// Copies elements that lie with the first axis fastest to where the last one is.
void to_row_major(const unsigned char* from, unsigned char* to, std::span<const std::int64_t> shape, std::size_t size) {
  const std::size_t rank = shape.size();
  std::vector<std::size_t> strides(rank);
  std::size_t stride = size;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    strides[axis] = stride;
    stride *= static_cast<std::size_t>(shape[axis]);
  }
  const unsigned char* const end = to + stride;
  std::vector<std::int64_t> index(rank, 0);
  while (to != end) {
    const auto row = static_cast<std::size_t>(shape[rank - 1]);
    for (std::size_t i = 0; i < row; ++i, to += size) std::memcpy(to, from + i * strides[rank - 1], size);
    // The next row: as a counter does, from the last axis but one.
    for (std::size_t axis = rank - 1; axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * static_cast<std::size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
}

}  // namespace

Tensor read_npy(ByteSource& source) {
  const NpyHeader header = parse_npy_header(read_header_text(source));
  const std::size_t size = size_of(header.dtype);
  source.expect(static_cast<std::uint64_t>(element_count(header.shape)) * size);
  const auto fill = [&](void* data, std::size_t bytes) {
    auto* elements = static_cast<unsigned char*>(data);
    if (header.fortran_order && header.shape.size() > 1 && bytes > 0) {
      const auto transposed = std::make_unique_for_overwrite<unsigned char[]>(bytes);
      source.read(transposed.get(), bytes);
      to_row_major(transposed.get(), elements, header.shape, size);
    } else {
      source.read(elements, bytes);
    }
    if (header.swapped) swap_bytes(elements, bytes, size_of(real_type(header.dtype)));
    // NumPy takes every byte but 0 for true; here there are only 0 and 1.
    if (is_bool(header.dtype))
      std::transform(elements, elements + bytes, elements, [](auto byte) { return byte != 0; });
  };
  return from_filler(fill, header.dtype, header.shape);
}

}  // namespace lento::files
