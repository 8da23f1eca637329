// What the native kernels share: elements as bit patterns, and how memory is cut into parts and copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

// A function with this attribute is compiled for several instruction sets, and the best one is chosen when the library
// is loaded: before the sanitizers are ready for it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define LENTO_FOR_EVERY_PROCESSOR [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#else
#define LENTO_FOR_EVERY_PROCESSOR
#endif

namespace lento::cpu {

/// An element of 16 bytes that is only moved.
struct Bits128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// Calls f.operator()<T>() with a type of this many bytes, for what only moves elements.
template <class F>
void dispatch_size(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return std::forward<F>(f).template operator()<std::uint8_t>();
    case 2:
      return std::forward<F>(f).template operator()<std::uint16_t>();
    case 4:
      return std::forward<F>(f).template operator()<std::uint32_t>();
    case 8:
      return std::forward<F>(f).template operator()<std::uint64_t>();
    default:
      return std::forward<F>(f).template operator()<Bits128>();
  }
}

/// What is worth handing to another thread, in bytes that are copied: some 10 µs.
inline constexpr std::int64_t kGrainBytes = std::int64_t{1} << 17;

/// A guess at the time one thread takes to copy.
inline constexpr double kNanosecondsPerByte = 0.1;

/// Results of this size are written past the caches: they would not stay there, and what is not written whole lines at
/// a time would be read from memory first.
inline constexpr std::int64_t kStreamBytes = std::int64_t{32} << 20;

/// How copies are written.
enum class Stores : std::uint8_t { cached, streamed };

inline Stores stores_for(std::int64_t result_bytes) {
  return result_bytes >= kStreamBytes ? Stores::streamed : Stores::cached;
}

/// Copies past the caches. Another thread sees the bytes once `finish_streaming` has been called.
void stream_bytes(void* to, const void* from, std::size_t bytes);
void finish_streaming();
/// The same for one line of 64 bytes, both of them aligned.
inline void stream_line(void* to, const void* from) {
#if defined(__x86_64__)
  for (int part = 0; part < 4; ++part) {
    _mm_stream_si128(static_cast<__m128i*>(to) + part, _mm_load_si128(static_cast<const __m128i*>(from) + part));
  }
#else
  std::memcpy(to, from, 64);
#endif
}

/// Copies of which many are short.
inline void copy_bytes(void* to, const void* from, std::size_t bytes, Stores stores) {
  if (stores == Stores::streamed && bytes >= 256) {
    stream_bytes(to, from, bytes);
  } else if (bytes >= 16 && bytes <= 64) {
    // Pieces of 16 from the front, and one that ends where the copy ends; they may overlap.
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    for (std::size_t at = 0; at + 16 < bytes; at += 16) std::memcpy(target + at, source + at, 16);
    std::memcpy(target + bytes - 16, source + bytes - 16, 16);
  } else {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace lento::cpu
