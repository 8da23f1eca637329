#include "base/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace lento {

namespace {

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; }

/// The build id among the notes of one segment, as hexadecimal digits.
std::string find_in_notes(const std::byte* notes, std::size_t bytes) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof header);
    const std::size_t name = sizeof header;
    const std::size_t description = name + padded(header.n_namesz);
    const std::size_t next = description + padded(header.n_descsz);
    if (next > bytes) return {};
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0) {
      std::string digits;
      for (std::size_t i = 0; i < header.n_descsz; ++i) {
        const auto byte = std::to_integer<unsigned>(notes[description + i]);
        digits += "0123456789abcdef"[byte >> 4];
        digits += "0123456789abcdef"[byte & 15];
      }
      return digits;
    }
    notes += next;
    bytes -= next;
  }
  return {};
}

struct Search {
  std::uintptr_t inside;  // an address in what is looked for
  std::string id;
};

int look_into(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  const auto address = [&](const ElfW(Phdr) & segment) { return object->dlpi_addr + segment.p_vaddr; };
  bool ours = false;
  for (std::size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    ours = ours || (segment.p_type == PT_LOAD && search.inside - address(segment) < segment.p_memsz);
  }
  if (!ours) return 0;
  for (std::size_t i = 0; i < object->dlpi_phnum && search.id.empty(); ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    search.id = find_in_notes(reinterpret_cast<const std::byte*>(address(segment)), segment.p_memsz);
  }
  return 1;
}

}  // namespace

const std::string& build_id() {
  static const std::string& id = *[] {  // never destroyed: compiles may end while the process does
    Search search{reinterpret_cast<std::uintptr_t>(&look_into), {}};
    dl_iterate_phdr(look_into, &search);
    return std::make_unique<std::string>(search.id).release();
  }();
  return id;
}

}  // namespace lento
