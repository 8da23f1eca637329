// Where the bytes of a .npy file come from: a file, or an entry of an archive.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lento::files {

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// The next bytes, all that are asked for. Throws Malformed when there are fewer.
  virtual void read(void* data, std::size_t bytes) = 0;
  /// So many bytes of elements must follow now and may be made room for. Throws Malformed when they cannot.
  virtual void expect(std::uint64_t bytes) = 0;
};

}  // namespace lento::files
