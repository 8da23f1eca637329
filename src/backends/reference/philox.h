// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1,
// 2, 3" (2011).
#pragma once

#include <array>
#include <cstdint>

namespace lento::reference {

/// Four random words that depend on the counter and the key alone: ten rounds, each of two multiplications whose high
/// and low halves are mixed with the other words and the key; the key is raised by constants (the golden ratio and
/// sqrt(3) - 1) between rounds.
inline std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// Block number `block` of the stream `key`: the counter is (low half of block, high half of block, 0, 0), the key (low
/// half, high half).
inline std::array<std::uint32_t, 4> philox_block(std::uint64_t key, std::uint64_t block) {
  return philox4x32_10({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
                       {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
}

}  // namespace lento::reference
