// The numbers of zip archives that reading and writing share.
#pragma once

#include <cstdint>

namespace lento::files {

inline constexpr std::uint32_t kLocalSignature = 0x04034b50;      // "PK\3\4": before the content of an entry
inline constexpr std::uint32_t kCentralSignature = 0x02014b50;    // "PK\1\2": an entry in the list at the end
inline constexpr std::uint32_t kEndSignature = 0x06054b50;        // "PK\5\6": behind the list
inline constexpr std::uint32_t kEnd64Signature = 0x06064b50;      // "PK\6\6": the same with 64 bits
inline constexpr std::uint32_t kLocator64Signature = 0x07064b50;  // "PK\6\7": where that is
inline constexpr std::uint16_t kExtra64 = 1;                      // the extra field with numbers of 64 bits
inline constexpr std::uint32_t kIn64 = 0xffffffff;                // the number is in the extra field
inline constexpr std::uint16_t kUtf8Flag = 0x800;                 // the name is UTF-8
inline constexpr std::uint16_t kStored = 0;                       // methods of compression
inline constexpr std::uint16_t kDeflated = 8;

}  // namespace lento::files
