// Memory for machine code. The code of many kernels lies in one slab, a mapping of some MiB, each in whole pages of its
// own: a process may have 65,530 mappings, and a mapping or more for every kernel would use them up.
//
// No page is ever writable and executable at once. A slab is executable, and pages become writable while code is put
// there, which splits the mapping for that time. Mapping a slab twice, once to write and once to run, would spare that
// and let kernels share pages, but such mappings are shared by parent and child after a fork: either would overwrite
// code that the other one runs. A slab is private, so that a child may compile and free what it likes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace lento::cpu {

/// Room for the code of one kernel. Thread-safe, as everything here.
class CodeMemory {
 public:
  /// At least this many bytes. Throws BackendError when the system has none.
  explicit CodeMemory(std::size_t bytes);
  /// Nothing may run in it any more; the next code may lie there.
  ~CodeMemory();
  CodeMemory(const CodeMemory&) = delete;
  CodeMemory& operator=(const CodeMemory&) = delete;

  const std::byte* data() const { return pages_.data(); }
  /// Whole pages.
  std::size_t bytes() const { return pages_.size(); }
  /// Puts code at the beginning; from then on it can be run and read, not written. Throws BackendError when the system
  /// cannot split the mapping.
  void write(std::span<const std::byte> code);

 private:
  std::span<std::byte> pages_;
};

/// How many slabs there are: mappings at rest.
std::size_t code_slabs();

}  // namespace lento::cpu
