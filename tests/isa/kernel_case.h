// Calls of kernels with the results that they must have, as a file: neon_kernels.cpp writes it on this processor,
// neon_driver.cpp reads it on the other one. Both have the same sizes, alignments and order of bytes, so that numbers
// are copied as they are.
#pragma once

#include "backends/cpu/code/kernel_calls.h"
#include "compiler/kernel.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

namespace lento::testing {

using Bytes = std::vector<std::byte>;

/// One call of a part of a reduction (long_reduction.h), and what its partial results are before and after. They are
/// kept without gaps: slot by slot, the element of each column.
struct PartCall {
  cpu::KernelPart part;  // whose `results` points nowhere
  Bytes before;
  Bytes after;
};

struct KernelCase {
  std::string text;  // the kernel, for people
  std::uint32_t first_function = 0;
  Kernel kernel;  // without its body, which is in the functions
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  Bytes numbers;
  std::vector<PickedRows> picked;
  std::vector<std::int64_t> starts;  // as KernelCall::starts
  std::vector<Bytes> memory;         // one an operand, as KernelCall::memory
  std::vector<Bytes> expected;
  std::vector<std::uint8_t> compared;  // one an operand: 0 if the C library had a part in it
  std::vector<DType> slots;            // of partial results
  std::vector<std::uint8_t> compared_slots;
  std::vector<PartCall> parts;
};

/// The functions of a case: one for each tier.
inline constexpr std::uint32_t kTiers = 2;

/// Hands everything of a part or of a case, in the order of the file, to a writer or a reader.
template <class Archive>
void walk(Archive& archive, PartCall& call) {
  archive(call.part);
  archive(call.before);
  archive(call.after);
}
template <class Archive>
void walk(Archive& archive, KernelCase& one) {
  archive(one.text);
  archive(one.first_function);
  archive(one.kernel.form);
  archive(one.kernel.dims);
  archive(one.kernel.operands);
  archive(one.sizes);
  archive(one.strides);
  archive(one.numbers);
  archive(one.picked);
  archive(one.starts);
  archive(one.memory);
  archive(one.expected);
  archive(one.compared);
  archive(one.slots);
  archive(one.compared_slots);
  archive(one.parts);
}

template <class T>
concept Plain = std::is_trivially_copyable_v<T>;

class CaseWriter {
 public:
  explicit CaseWriter(const std::string& file) : out_(file, std::ios::binary) {
    out_.exceptions(std::ios::badbit | std::ios::failbit);
  }

  template <Plain T>
  void operator()(const T& value) {
    out_.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    (*this)(std::uint64_t{values.size()});
    for (T& value : values) (*this)(value);
  }
  void operator()(Bytes& bytes) {
    (*this)(std::uint64_t{bytes.size()});
    out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  void operator()(std::string& text) {
    (*this)(std::uint64_t{text.size()});
    out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  void operator()(PartCall& call) { walk(*this, call); }
  void operator()(KernelCase& one) { walk(*this, one); }

 private:
  std::ofstream out_;
};

class CaseReader {
 public:
  explicit CaseReader(const std::string& file) : in_(file, std::ios::binary) {
    in_.exceptions(std::ios::badbit | std::ios::failbit | std::ios::eofbit);
  }

  template <Plain T>
  void operator()(T& value) {
    in_.read(reinterpret_cast<char*>(&value), sizeof value);
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    values.resize(size());
    for (T& value : values) (*this)(value);
  }
  void operator()(Bytes& bytes) {
    bytes.resize(size());
    in_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  void operator()(std::string& text) {
    text.resize(size());
    in_.read(text.data(), static_cast<std::streamsize>(text.size()));
  }
  void operator()(PartCall& call) { walk(*this, call); }
  void operator()(KernelCase& one) { walk(*this, one); }

 private:
  std::uint64_t size() {
    std::uint64_t count = 0;
    (*this)(count);
    return count;
  }

  std::ifstream in_;
};

/// Calls copy(at, packed, bytes) for each slot of partial results: where it lies when slots are `stride` bytes apart,
/// and where without gaps.
template <class Copy>
void for_each_slot(const std::vector<DType>& slots, std::int64_t columns, std::int64_t stride, Copy copy) {
  std::size_t packed = 0;
  for (std::size_t s = 0; s < slots.size(); ++s) {
    const std::size_t bytes = static_cast<std::size_t>(columns) * size_of(slots[s]);
    copy(s * static_cast<std::size_t>(stride), packed, bytes);
    packed += bytes;
  }
}

}  // namespace lento::testing
