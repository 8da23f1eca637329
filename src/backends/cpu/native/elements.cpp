#include "backends/cpu/native/elements.h"

#include <algorithm>

namespace lento::cpu {

#if defined(__x86_64__)

void stream_bytes(void* to, const void* from, std::size_t bytes) {
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  // Whole lines only: a line written in parts goes to memory more than once.
  const std::size_t head = std::min((64 - reinterpret_cast<std::uintptr_t>(target) % 64) % 64, bytes);
  std::memcpy(target, source, head);
  std::size_t at = head;
  for (; at + 64 <= bytes; at += 64) {
    for (std::size_t part = 0; part < 64; part += 16) {
      const __m128i piece = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + at + part));
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + at + part), piece);
    }
  }
  std::memcpy(target + at, source + at, bytes - at);
}

void finish_streaming() { _mm_sfence(); }

#else

void stream_bytes(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void finish_streaming() {}

#endif

}  // namespace lento::cpu
